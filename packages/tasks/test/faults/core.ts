/** Faults in tasks of 2025-11-25 at a server. */
import type { Fault } from "@effect-mcp/spec/Fault"

const methods = "packages/tasks/test/server/CoreMethods.test.ts"
const routes = "packages/tasks/test/server/Routes.test.ts"
const source = (name: string): string => `packages/tasks/src/${name}.ts`

const row = (
  name: string,
  file: string,
  from: string,
  to: string,
  test: string,
  ...ids: NonNullable<Fault["ids"]>
): Fault => ({ name: `core tasks: ${name}`, file, from, to, test, ids })

const wire = source("model/Wire2025")
const core = source("server/CoreMethods")
const decision = source("server/Decision")
const ofTask = source("server/TaskRoutes")
const service = source("server/Service")
const memory = source("store/memory")

export const coreFaults: ReadonlyArray<Fault> = [
  // ---- a task and its creation
  row(
    "refusals have another code",
    decision,
    "code: McpError.MethodNotFound, message })",
    "code: McpError.InvalidParams, message })",
    methods,
    "tasks.tool.forbidden-error",
    "tasks.tool.required-error"
  ),
  row(
    "`task` is checked where tasks are not declared",
    "packages/protocol/src/model/Tool.ts",
    "  arguments: Schema.optionalKey(JsonObject)\n})\nexport type CallToolParams",
    "  arguments: Schema.optionalKey(JsonObject), task: Schema.optionalKey(JsonObject)\n})\nexport type CallToolParams",
    methods,
    "tasks.undeclared.ignored",
    "tasks.capability.undeclared-no-tasks"
  ),
  // ---- results
  row(
    "a result does not say which task it is of",
    core,
    ", ...Wire2025.related(taskId) }",
    " }",
    methods,
    "tasks.related.in-result",
    "tasks.related.key"
  ),
  row(
    "a defect is the fault of the caller",
    source("run/TaskSupervisor"),
    ": McpErrors.internalError())",
    ': McpErrors.invalidParams("It died"))',
    methods,
    "tasks.error.internal"
  ),
  // ---- ids and callers
  row(
    "an unknown task is an error without a reason",
    service,
    'McpError.invalidParams("Unknown task")',
    'McpError.invalidParams("")',
    methods,
    "tasks.error.informative"
  ),
  row(
    "a task is shown to another caller",
    memory,
    "ended === undefined || ended.owner !== owner ||",
    "ended === undefined ||",
    methods,
    "tasks.security.bound",
    "tasks.security.foreign-rejected"
  ),
  row(
    "a list has tasks of all callers",
    memory,
    "row.input.owner === owner && row.order > after",
    "row.order > after",
    methods,
    "tasks.security.list-own-only"
  ),
  // ---- capabilities and lists
  row(
    "lists are declared to callers without a name",
    core,
    "principal.subject !== undefined || (duplex && !store.outlives) ? listed",
    "duplex || !store.outlives ? listed",
    methods,
    "tasks.security.list-undeclared"
  ),
  // ---- bounds
  row(
    "any number of requests may wait for results",
    source("server/ResultWaiters"),
    "exceededBy(caller, 1) !== undefined",
    "exceededBy(undefined, 1) !== undefined",
    methods
  ),
  // ---- messages of a task
  row(
    "a question does not say of which task it is",
    ofTask,
    ", ...Wire2025.related(taskId) }",
    " }",
    routes,
    "tasks.input.related-task",
    "tasks.related.key"
  ),
  row(
    "a question names another task",
    ofTask,
    "...Wire2025.related(taskId) }",
    '...Wire2025.related("other") }',
    routes,
    "tasks.related.same-id"
  ),
  row(
    "a task that asks is working",
    wire,
    'stateOf(task) === "input_required" ? "input_required" : "working"',
    '"working"',
    routes,
    "tasks.input.status"
  ),
  row(
    "a task that was answered waits for input",
    memory,
    "        questions.delete(key)\n",
    "",
    routes,
    "tasks.input.leaves",
    "tasks.status.transitions"
  ),
  row(
    "a handler that ends late goes on to report",
    ofTask,
    "if (this.ended || this.silent || clock",
    "if (this.ended || clock",
    routes,
    "tasks.progress.stops"
  ),
  row(
    "a status has the metadata of its task",
    ofTask,
    "destination.notify(CoreTasks.notifications.status.method, wire)",
    "destination.notify(CoreTasks.notifications.status.method, relatedTo(wire.taskId, { ...wire }))",
    routes,
    "tasks.related.not-in-status"
  ),
  row(
    "tasks/get is answered by a stream",
    core,
    "const session = Destination.ofSession(yield* RequestContext)",
    'const session = Destination.ofSession(yield* RequestContext)\n    ;(yield* RequestContext).outbound.notify("notifications/progress", {})',
    routes,
    "tasks.http.get-not-streamed",
    "tasks.http.transport-rules"
  ),
  row(
    "a task speaks before its client knows it",
    ofTask,
    "this.beginAfter(microtask)",
    "this.beginAfter(microtask === Effect.void ? microtask : Effect.void)",
    routes
  ),
  row(
    "a question stays on a stream that its client has left",
    ofTask,
    "Effect.raceFirst(Deferred.await(route.closed), this.lost(route, question))",
    "Deferred.await(route.closed)",
    routes
  ),
  row(
    "a question is sent to a session that reads nothing",
    ofTask,
    "session?.isRead === true && can(session)",
    "session !== undefined && can(session)",
    routes
  ),
  row(
    "a tool that only runs as a task is listed for all",
    source("server/ListedTools"),
    "isRequired(tool) && !mayHaveTasks",
    "isRequired(tool) && !tool",
    "packages/tasks/test/server/ListedTools.test.ts"
  ),
  row(
    "a list that depends on a declaration is public",
    source("server/ListedTools"),
    'cacheScope: "private" as const',
    'cacheScope: "public" as const',
    "packages/tasks/test/server/ListedTools.test.ts"
  )
]
