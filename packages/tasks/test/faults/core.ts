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
const creation = source("server/Creation")
const routing = source("server/Routes")
const ofTask = source("server/TaskRoutes")
const service = source("server/Service")
const memory = source("store/memory")

export const coreFaults: ReadonlyArray<Fault> = [
  // ---- a task and its creation
  row(
    "the answer to the call has content",
    creation,
    "{ task: Wire2025.write(task) }",
    "{ task: Wire2025.write(task), content: [] }",
    methods,
    "tasks.create.result"
  ),
  row(
    "the answer to the call waits for its handler",
    creation,
    "Effect.as(Effect.andThen(ready, run), {",
    'Effect.as(Effect.andThen(ready, Effect.flatMap(run, (fiber) => name === "slow" ? Effect.interruptible(Fiber.await(fiber)) : Effect.void)), {',
    methods,
    "tasks.create.at-once"
  ),
  row("a new task is completed", wire, ': "working"', ': "completed"', methods, "tasks.status.starts-working"),
  row(
    "the time of creation is a number",
    wire,
    "createdAt: time(task.createdAt)",
    "createdAt: `${task.createdAt}`",
    methods,
    "tasks.fields.created-at"
  ),
  row(
    "the time of the last update is a number",
    wire,
    "lastUpdatedAt: time(task.updatedAt)",
    "lastUpdatedAt: `${task.updatedAt}`",
    methods,
    "tasks.fields.last-updated-at"
  ),
  row("the time to live is not said", wire, "ttl: task.ttl,", "ttl: null,", methods, "tasks.fields.ttl"),
  row(
    "the id of a task is chosen by its client",
    wire,
    "taskId: task.id,",
    'taskId: "mine",',
    methods,
    "tasks.id.by-receiver"
  ),
  row("the id of a task is a number", wire, "taskId: task.id,", "taskId: 1 as never,", methods, "tasks.id.string"),
  row(
    "all tasks have one id",
    source("store/Row"),
    "texts.slice(size * used, size * ++used)",
    "texts.slice(0, size + 0 * used++)",
    methods,
    "tasks.id.unique"
  ),
  row(
    "an id has 64 random bits",
    source("store/Row"),
    "texts.slice(size * used, size * ++used)",
    "texts.slice(size * used, size * used++ + 12)",
    methods,
    "tasks.security.id-entropy"
  ),
  row(
    "a task in a result has metadata of the task",
    core,
    'EncodedResult.core("complete", wire)',
    'EncodedResult.core("complete", { _meta: { related: "" }, ...wire })',
    methods,
    "tasks.related.not-in-results"
  ),
  row(
    "refusals have another code",
    creation,
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
    "a result has no content",
    core,
    "      ...result,\n",
    "      ...result,\n      content: [],\n",
    methods,
    "tasks.result.exact",
    "tasks.result.terminal",
    "tasks.result.same-response"
  ),
  row(
    "a result does not say which task it is of",
    core,
    ", ...Wire2025.related(id) }",
    " }",
    methods,
    "tasks.related.in-result",
    "tasks.related.key"
  ),
  row(
    "an error of a task is an internal one",
    core,
    "new McpError.McpError({ code,",
    "new McpError.McpError({ code: McpError.InternalError + 0 * code,",
    methods,
    "tasks.failed.same-error"
  ),
  row(
    "tasks/result answers while the task runs",
    core,
    "isEnded(task)\n      ? answerOf(task, request)",
    "task.id !== owner\n      ? answerOf(task, request)",
    methods,
    "tasks.result.blocks"
  ),
  row(
    "a failed task says not why",
    wire,
    'if (outcome?._tag === "Error") return outcome.message',
    'if (outcome?._tag === "Error") return undefined',
    methods,
    "tasks.failed.status-message"
  ),
  row(
    "a defect is the fault of the caller",
    source("run/TaskSupervisor"),
    ": McpErrors.internalError())",
    ': McpErrors.invalidParams("It died"))',
    methods,
    "tasks.error.internal"
  ),
  // ---- cancels
  row(
    "tasks/cancel is answered before the task is cancelled",
    core,
    "const after = yield* found(store.cancel(taskId, caller))",
    "const after = before\n    yield* Effect.forkDetach(store.cancel(taskId, caller))",
    methods,
    "tasks.cancel.status-first"
  ),
  row(
    "a cancelled task runs on",
    source("run/TaskSupervisor"),
    'Effect.map(journal.lost(lease), ({ reason }) => ({ _tag: "Stopped", reason: reasons[reason] })),',
    "Effect.never,",
    methods,
    "tasks.cancel.stops"
  ),
  row(
    "a task that was cancelled is completed later",
    memory,
    'this.end(row, { _tag: "Cancelled" }, message)',
    '{ ...row.task, outcome: { _tag: "Cancelled" } }',
    methods,
    "tasks.cancel.stays",
    "tasks.status.terminal"
  ),
  row(
    "a task that has ended is cancelled",
    core,
    "if (isEnded(before)) return yield* refuse(before)",
    "if (isEnded(before)) return Wire2025.write(before)",
    methods,
    "tasks.cancel.terminal-rejected"
  ),
  // ---- ids and callers
  row(
    "an unknown task is an internal error",
    service,
    'McpError.invalidParams("Unknown task")',
    'McpError.internalError("Unknown task")',
    methods,
    "tasks.error.unknown-id"
  ),
  row(
    "an unknown task is an error without a reason",
    service,
    'McpError.invalidParams("Unknown task")',
    'McpError.invalidParams("")',
    methods,
    "tasks.error.informative"
  ),
  row(
    "the metadata of a request says which task is meant",
    "packages/server/src/dispatch/OwnMethods.ts",
    "  const { _meta, ...own } = params\n",
    '  const { _meta, ...others } = params\n  const own = { ...others, ...(_meta as any)?.["io.modelcontextprotocol/related-task"] }\n',
    methods,
    "tasks.related.param-is-truth",
    "tasks.related.ignored-in-requests"
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
    "calls of tools are not declared",
    core,
    "requests: { tools: { call: {} } }",
    "requests: {}",
    methods,
    "tasks.capability.declared"
  ),
  row(
    "lists are declared to callers without a name",
    core,
    "principal.subject !== undefined || (duplex && !store.outlives) ? listed",
    "duplex || !store.outlives ? listed",
    methods,
    "tasks.security.list-undeclared"
  ),
  row("a list has one page", core, "const pageSize = 50", "const pageSize = 5000", methods, "tasks.list.paginated"),
  row("a list does not say how it goes on", core, "{ nextCursor: next }", "{}", methods, "tasks.list.next-cursor"),
  row(
    "a list leaves out the last task of a page",
    memory,
    "const page = rows.slice(0, size)",
    "const page = rows.slice(0, size - 1)",
    methods,
    "tasks.list.complete"
  ),
  row(
    "an unknown cursor is an internal error",
    core,
    'McpError.invalidParams("Unknown cursor")',
    'McpError.internalError("Unknown cursor")',
    methods,
    "tasks.error.invalid-cursor"
  ),
  // ---- bounds
  row(
    "a client gets any time to live",
    creation,
    "Math.min(Math.max(asked ?? maxTtl, minTtl), maxTtl)",
    "Math.max(asked ?? maxTtl, minTtl)",
    methods,
    "tasks.limits.ttl"
  ),
  row(
    "tasks are kept for ever",
    memory,
    "return this.now >= Math.max(",
    "return this.now >= 2 ** 60 + Math.max(",
    methods,
    "tasks.limits.expired-removed"
  ),
  row(
    "one more task is let in",
    memory,
    "exceededBy(caller, 1)",
    "exceededBy(caller, 0)",
    methods,
    "tasks.limits.concurrent"
  ),
  row(
    "any number of requests may wait for results",
    source("server/ResultWaits"),
    "exceededBy(caller, 1) !== undefined",
    "exceededBy(undefined, 1) !== undefined",
    methods
  ),
  // ---- what a task sends
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
    "progress has another token",
    ofTask,
    "      token,\n",
    '      token: "other",\n',
    routes,
    "tasks.progress.token-lives-on"
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
    "progress goes on after the time to live",
    ofTask,
    "clock.currentTimeMillisUnsafe() >= this.expiresAt",
    "clock.currentTimeMillisUnsafe() < 0",
    routes,
    "tasks.progress.stops"
  ),
  row(
    "a status has the metadata of its task",
    ofTask,
    "outlet.notify(CoreTasks.notifications.status.method, wire)",
    "outlet.notify(CoreTasks.notifications.status.method, relatedTo(wire.taskId, { ...wire }))",
    routes,
    "tasks.related.not-in-status"
  ),
  row(
    "tasks/get is answered by a stream",
    core,
    "const wire = encoded(Wire2025.write(task))",
    'const wire = encoded(Wire2025.write(task))\n      Context.get(context, RequestContext).outbound.notify("notifications/progress", {})',
    routes,
    "tasks.http.get-not-streamed",
    "tasks.http.transport-rules"
  ),
  row(
    "a task speaks before its client knows it",
    routing,
    "Effect.map(Effect.yieldNow, () => {",
    "Effect.map(Effect.void, () => {",
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
    "a tool that runs only as a task is listed for all",
    source("server/Visible"),
    "list.tools.filter((tool) => !isRequired(tool))",
    "list.tools",
    "packages/tasks/test/server/Visible.test.ts"
  ),
  row(
    "a list that depends on a declaration is public",
    source("server/Visible"),
    'cacheScope: "private" as const',
    'cacheScope: "public" as const',
    "packages/tasks/test/server/Visible.test.ts"
  )
]
