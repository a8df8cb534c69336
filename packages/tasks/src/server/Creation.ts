/**
 * When a call becomes a task, and how its handler runs then.
 *
 * Lies inside of all middleware of the server, which is around the creation: the principal that middleware gives owns the task. The handler
 * runs in the scope of the server, with the services of a request that was answered.
 */
import * as CancelReason from "@effect-mcp/core/CancelReason"
import { ClientInput, type Recorded } from "@effect-mcp/core/ClientInput"
import { EncodedResult } from "@effect-mcp/core/EncodedResult"
import * as Extension from "@effect-mcp/core/Extension"
import { Principal } from "@effect-mcp/core/Principal"
import { factsOf, RequestContext, type RequestFacts, type RequestServices } from "@effect-mcp/core/RequestContext"
import type { ToolEntry, ToolRegistry } from "@effect-mcp/core/Tools"
import * as TraceContext from "@effect-mcp/core/TraceContext"
import * as Codecs from "@effect-mcp/protocol/Codecs"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import { type JsonObject, verbatim } from "@effect-mcp/protocol/model/Shape"
import type { CallToolParams } from "@effect-mcp/protocol/model/Tool"
import * as Replay from "@effect-mcp/server/internal/Replay"
import type * as Middleware from "@effect-mcp/server/Middleware"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { CoreTasks } from "../extension/CoreTasks.ts"
import { resultType, TasksExtension } from "../extension/TasksExtension.ts"
import type { NewTask, Task } from "../model/Task.ts"
import * as Wire2025 from "../model/Wire2025.ts"
import * as Wire2026 from "../model/Wire2026.ts"
import * as ClientFacts from "../run/ClientFacts.ts"
import type { Waits } from "../run/Waits.ts"
import type { LimitReached, StoreFull } from "../store/TaskStore.ts"
import * as Attempts from "./Attempts.ts"
import { onBegin } from "./Begin.ts"
import * as Outlet from "./Outlet.ts"
import { callerOf, ownerOf } from "./Owner.ts"
import type { Service } from "./Service.ts"
import { endedWithin } from "./Shortcut.ts"

type Next = Middleware.Next
type Answer = Effect.Success<Next>

export const nothing: Recorded = { answers: {}, steps: {} }

const refused = (message: string) => new McpError.McpError({ code: McpError.MethodNotFound, message })

/** The error for a tool that runs only as a task, to a client that can have none. */
export const taskRequired = (name: string, { revision }: RequestContext["Service"]): McpError.McpError => {
  if (Extension.isIn(TasksExtension, revision)) {
    return McpError.missingClientCapability(Extension.declarationOf(TasksExtension, revision, {}))
  }
  return refused(
    `The tool ${name} runs only as a task, which this server does not offer in revision ${revision.version}`
  )
}

/** The error for a call that asks for a task of a tool that runs within its request (2025-11-25). */
export const asksInVain = (name: string): McpError.McpError =>
  refused(`The tool ${name} does not run as a task: call it without \`task\` in the params`)

/** How the client of a generation has its task. */
export interface TaskForm {
  /** How long the task is kept, in milliseconds. */
  readonly ttl: number
  readonly answer: (task: Task) => EncodedResult
  /** The session of the request, in which messages of the task leave; undefined where it has none. */
  readonly session: (request: RequestFacts) => Outlet.Outlet | undefined
}

/** Lets messages of the task leave in the session of its request. Called right before its effect runs. */
export const joining = (
  { routes }: Service,
  task: Task,
  owner: string,
  session: Outlet.Outlet,
  { meta: { progressToken } }: RequestFacts
): Effect.Effect<void> => routes.join(task, owner, session, JsonRpc.isId(progressToken) ? progressToken : undefined)

/** What the task runs, called when it does; `caller`: a handler may be called at once, as this caller. */
type Handler = (caller?: Principal["Service"]) => Next

/** Cancels a task that no client knows, unless it has ended. */
export const abandoned = ({ store }: Service, id: string, owner: string): Effect.Effect<void> =>
  Effect.flatMap(store.get(id, owner), (task) =>
    Option.isSome(task) && task.value.outcome === undefined
      ? Effect.asVoid(store.cancel(id, owner, "The call was not answered by its task"))
      : Effect.void
  )

/**
 * Makes a task and starts its handler. The two are one: an interrupted request leaves no task that never runs. Where the request is not
 * answered, by its cancel or by middleware, the task is cancelled: its client does not know its id. `waits`: other ones than those of the
 * questions decide when the run is parked.
 */
const begun = (
  service: Service,
  params: CallToolParams,
  handler: Handler,
  before: Recorded,
  { session: sessionOf, ttl }: TaskForm,
  waits?: Waits
): Effect.Effect<Begun, McpError.McpError, RequestServices> =>
  Effect.uninterruptible(
    Effect.contextWith((context: Context.Context<RequestServices>) => {
      const { routes, store, supervisor } = service
      const request = factsOf(context)
      const { client, owner, row } = askedBy(service, params, before, ttl, request, TraceContext.entries(context))
      const started = ({ lease, task }: Effect.Success<ReturnType<typeof store.create>>) => {
        const about = { tool: params.name, owner, createdAt: task.createdAt, attempt: 1, client }
        const session = sessionOf(request)
        const joined = session === undefined ? Effect.void : joining(service, task, owner, session, request)
        // The task may not speak before its client knows it.
        const known = session === undefined ? Effect.void : routes.beginSoon(task.id)
        const answered = Scope.addFinalizerExit(Context.get(context, Scope.Scope), ({ _tag }) =>
          _tag === "Success" ? known : Effect.andThen(known, abandoned(service, task.id, owner))
        )
        const caller = supervisor.isPlain ? client.facts.principal : undefined
        const run = Effect.suspend(() => Attempts.begin(service, lease, about, handler(caller), waits))
        const ready = Effect.flatMapEager(joined, () => answered)
        return Effect.as(Effect.andThen(ready, run), { task, owner })
      }
      return Effect.flatMap(Effect.mapError(store.create(row, supervisor.node), refusalOf), started)
    })
  )

/** The error for a caller that has as many tasks as it may, or for a store without room. */
export const refusalOf = ({ _tag, message }: LimitReached | StoreFull): McpError.McpError =>
  _tag === "StoreFull" ? McpError.interrupted(message) : McpError.limitExceeded(message)

/** What the row of a task has of its call. `traced`: the trace context of the span that the call runs in. */
export const askedBy = (
  { claims, pollInterval, store }: Service,
  { arguments: input = {}, name }: CallToolParams,
  before: Recorded,
  ttl: number,
  request: RequestFacts,
  traced?: JsonObject
) => {
  const facts = ClientFacts.kept(request, claims)
  const owner = ownerOf(store, request)
  const trace = traced?.["traceparent"]
  const client = { facts, before, trace: typeof trace === "string" ? trace : undefined }
  const wire = ClientFacts.write(client)
  const caller = callerOf(owner, request)
  const row: NewTask = { owner, caller, tool: name, input: { name, arguments: input }, client: wire, ttl, pollInterval }
  return { client, owner, row }
}

interface Begun {
  readonly task: Task
  readonly owner: string
}

/** Makes a task and starts its handler; the answer is the task. */
export const created = (
  ...given: Parameters<typeof begun>
): Effect.Effect<EncodedResult, McpError.McpError, RequestServices> => {
  const [, , , , { answer }] = given
  return Effect.map(begun(...given), ({ task }) => answer(task))
}

/** A task of 2026-07-28: its client reads and answers it by requests of its own. */
export const extension = ({ ttl }: Service): TaskForm => ({
  ttl,
  answer: (task) => EncodedResult.of(TasksExtension, resultType, Wire2026.created(task)),
  session: () => undefined
})

/** The shortest time to live that a client gets, in milliseconds. */
const minTtl = 1000

/** A task of 2025-11-25. The time that its client asked for is kept within bounds; null asks for the longest. */
export const core = ({ maxTtl, ttl }: Service, asked: number | null | undefined): TaskForm => ({
  ttl: asked === undefined ? ttl : Math.min(Math.max(asked ?? maxTtl, minTtl), maxTtl),
  answer: (task) => EncodedResult.core("complete", { task: Wire2025.write(task) }),
  session: Outlet.ofSession
})

/** The request until its handler begins the task: undefined then, after its finalizers have run. */
const untilBegun = (next: Next): Effect.Effect<Answer | undefined, McpError.McpError, RequestServices> =>
  Effect.gen(function* () {
    const begun = yield* Deferred.make<void>()
    onBegin(yield* ClientInput, Effect.andThen(Deferred.succeed(begun, undefined), Effect.never))
    const handler = yield* Effect.forkChild(next, { startImmediately: true })
    const ended = Effect.raceFirst(Fiber.await(handler), Effect.as(Deferred.await(begun), undefined))
    const exit = yield* Effect.onExit(ended, (exit) => Replay.passOn(exit, handler))
    if (exit !== undefined) return yield* exit
    handler.interruptUnsafe(undefined, CancelReason.annotation("The call continues as a task"))
    yield* Fiber.await(handler)
    return undefined
  })

/** What a call of 2025-11-25 asks for with `task`. */
export const taskOf = (params: object): Effect.Effect<Requested | undefined, McpError.McpError> =>
  "task" in params
    ? Effect.mapErrorEager(requested.decode(params.task), (message) =>
        McpError.invalidParams(`Invalid task: ${message}`)
      )
    : Effect.undefined

const Requested = Schema.Struct({ ttl: Schema.optionalKey(Schema.NullOr(Schema.Finite)) })
type Requested = typeof Requested.Type
const requested = Codecs.coder(verbatim(Requested))

type Support = "forbidden" | "optional" | "required"

/** Calls of 2025-11-25: the client decides, within what the tool allows. */
const coreCall = (
  service: Service,
  params: CallToolParams,
  support: Support,
  next: Next,
  handler: Handler
): Effect.Effect<Answer, McpError.McpError, RequestServices> =>
  Effect.flatMapEager(taskOf(params), (task) => {
    if (task === undefined) {
      return support === "required"
        ? refused(`The tool ${params.name} runs only as a task: call it with \`task\` in the params`)
        : next
    }
    return support === "forbidden"
      ? asksInVain(params.name)
      : created(service, params, handler, nothing, core(service, task.ttl))
  })

/** When a call that may be a task becomes one: by its handler, or after this time. */
type When = Pick<ToolEntry, "beginsTask" | "taskAfter">

/** Calls of 2026-07-28: the server decides, for clients that declared the extension in the request. */
const extensionCall = Effect.fnUntraced(function* (
  service: Service,
  params: CallToolParams,
  { beginsTask, taskAfter }: When,
  next: Next,
  handler: Handler
): Effect.fn.Return<Answer, McpError.McpError, RequestServices> {
  const generation = extension(service)
  if (beginsTask !== true) {
    const { owner, task } = yield* begun(service, params, handler, nothing, generation)
    if (taskAfter === undefined) return generation.answer(task)
    const end = yield* endedWithin(service, task, owner, taskAfter)
    return end._tag === "Result" ? end.result : generation.answer(end.task)
  }
  const answer = yield* untilBegun(next)
  if (answer !== undefined) return answer
  const input = yield* ClientInput
  return yield* created(service, params, handler, input.recorded?.() ?? nothing, generation)
})

/** Whether a call may become a task, or asks for one: no other call passes through `middleware`. */
export const mayBeTask =
  (tools: ToolRegistry["Service"]) =>
  (request: Middleware.Request): boolean =>
    request.method === "tools/call" && ("task" in request.params || tools.mayBeTask(request.params.name))

const call = (
  service: Service,
  executing: Attempts.Executing,
  params: CallToolParams,
  next: Next
): Effect.Effect<Answer, McpError.McpError, RequestServices> =>
  Effect.contextWith((services: Context.Context<RequestServices>) => {
    const entry = executing.tools.find(params.name, Context.get(services, Principal))
    // The server of a mounted tool decides.
    if (entry === undefined) return next
    const support = entry.tool.execution?.taskSupport ?? "forbidden"
    // Not `next`: it keeps the request for as long as the task runs.
    const handler: Handler = (caller) => Attempts.execution(executing, params, caller)
    const context = Context.get(services, RequestContext)
    const { clientCapabilities, revision } = context
    if (Extension.isIn(CoreTasks, revision)) return coreCall(service, params, support, next, handler)
    if (support === "forbidden") return next
    if (Extension.settingsIn(TasksExtension, revision, clientCapabilities) === undefined) {
      return support === "optional" ? next : taskRequired(params.name, context)
    }
    const when = support === "required" ? { ...entry, taskAfter: undefined } : entry
    if (when.beginsTask !== true && when.taskAfter === undefined) {
      return created(service, params, handler, nothing, extension(service))
    }
    return extensionCall(service, params, when, next, handler)
  })

/** The middleware around calls of tools. */
export const middleware =
  (service: Service, executing: Attempts.Executing): Middleware.Middleware =>
  (request, next) =>
    request.method === "tools/call" ? call(service, executing, request.params, next) : next
