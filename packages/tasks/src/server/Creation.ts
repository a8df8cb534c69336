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
import { RequestContext, type RequestServices } from "@effect-mcp/core/RequestContext"
import type { ToolEntry, ToolRegistry } from "@effect-mcp/core/Tools"
import * as TraceContext from "@effect-mcp/core/TraceContext"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { CallToolParams } from "@effect-mcp/protocol/model/Tool"
import * as Detached from "@effect-mcp/server/Detached"
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
import type { Task } from "../model/Task.ts"
import * as Wire2025 from "../model/Wire2025.ts"
import * as Wire2026 from "../model/Wire2026.ts"
import * as ClientFacts from "../run/ClientFacts.ts"
import type { Waits } from "../run/Waits.ts"
import * as Attempts from "./Attempts.ts"
import { onBegin } from "./Begin.ts"
import * as Outlet from "./Outlet.ts"
import { ownerOf } from "./Owner.ts"
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
interface Generation {
  /** How long the task is kept, in milliseconds. */
  readonly ttl: number
  readonly answer: (task: Task) => EncodedResult
  /** Lets messages of the task leave in the session of its request, called when that runs; undefined where it has none. */
  readonly join: (task: Task, owner: string, request: RequestContext["Service"]) => Effect.Effect<void> | undefined
}

/** What the task runs, called when it does; `caller`: a handler may be called at once, as this caller. */
type Handler = (caller?: Principal["Service"]) => Next

/** Cancels a task that no client knows, unless it has ended. */
const abandoned = ({ store }: Service, id: string, owner: string): Effect.Effect<void> =>
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
  { arguments: input = {}, name }: CallToolParams,
  handler: Handler,
  before: Recorded,
  { join, ttl }: Generation,
  waits?: Waits
): Effect.Effect<Begun, McpError.McpError, RequestServices> =>
  Effect.uninterruptible(
    Effect.contextWith((context: Context.Context<RequestServices>) => {
      const { pollInterval, routes, store, supervisor } = service
      const facts = ClientFacts.kept(Detached.factsOf(context), service.claims)
      const owner = ownerOf(store, context)
      const { traceparent: trace } = TraceContext.entries(context) ?? {}
      const client = { facts, before, trace: typeof trace === "string" ? trace : undefined }
      const row = ClientFacts.write(client)
      const asked = { owner, tool: name, input: { name, arguments: input }, client: row, ttl, pollInterval }
      const started = ({ lease, task }: Effect.Success<ReturnType<typeof store.create>>) => {
        const about = { tool: name, owner, createdAt: task.createdAt, attempt: 1, client }
        const joined = join(task, owner, Context.get(context, RequestContext))
        // The task may not speak before its client knows it.
        const known = joined === undefined ? Effect.void : routes.beginSoon(task.id)
        const answered = Scope.addFinalizerExit(Context.get(context, Scope.Scope), ({ _tag }) =>
          _tag === "Success" ? known : Effect.andThen(known, abandoned(service, task.id, owner))
        )
        const run = Effect.suspend(() =>
          Attempts.begin(service, lease, about, handler(supervisor.isPlain ? facts.principal : undefined), waits)
        )
        const ready = Effect.flatMapEager(joined ?? Effect.void, () => answered)
        return Effect.as(Effect.andThen(ready, run), { task, owner })
      }
      const created = Effect.mapError(store.create(asked, supervisor.node), ({ message }) =>
        McpError.limitExceeded(message)
      )
      return Effect.flatMap(created, started)
    })
  )

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
export const extension = ({ ttl }: Service): Generation => ({
  ttl,
  answer: (task) => EncodedResult.of(TasksExtension, resultType, Wire2026.created(task)),
  join: () => undefined
})

/** The shortest time to live that a client gets, in milliseconds. */
const minTtl = 1000

/** A task of 2025-11-25. The time that its client asked for is kept within bounds; null asks for the longest. */
export const core = ({ maxTtl, routes, ttl }: Service, asked: number | null | undefined): Generation => ({
  ttl: asked === undefined ? ttl : Math.min(Math.max(asked ?? maxTtl, minTtl), maxTtl),
  answer: (task) => EncodedResult.core("complete", { task: Wire2025.write(task) }),
  join: (task, owner, request) => {
    const session = Outlet.ofSession(request)
    if (session === undefined) return undefined
    const { progressToken } = request.meta
    const token = JsonRpc.isId(progressToken) ? progressToken : undefined
    return routes.join(task, owner, session, token)
  }
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
    ? Effect.mapErrorEager(decodeRequested(params.task), ({ message }) =>
        McpError.invalidParams(`Invalid task: ${message}`)
      )
    : Effect.undefined

const Requested = Schema.Struct({ ttl: Schema.optionalKey(Schema.NullOr(Schema.Finite)) })
type Requested = typeof Requested.Type
const decodeRequested = Schema.decodeUnknownEffect(Requested)

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
