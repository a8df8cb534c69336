/**
 * When a call becomes a task, and how its handler runs then.
 *
 * Lies inside of all middleware of the server, which is around the creation: the principal that middleware gives owns the task. The handler
 * runs in the scope of the server, with the services of a request that was answered.
 */
import * as CancelReason from "@effect-mcp/core/CancelReason"
import { ClientInput, type Recorded } from "@effect-mcp/core/ClientInput"
import { EncodedResult } from "@effect-mcp/core/EncodedResult"
import { Principal } from "@effect-mcp/core/Principal"
import { RequestContext, type RequestServices } from "@effect-mcp/core/RequestContext"
import type { ToolRegistry } from "@effect-mcp/core/Tools"
import * as TraceContext from "@effect-mcp/core/TraceContext"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { CallToolParams, CallToolResult } from "@effect-mcp/protocol/model/Tool"
import * as Detached from "@effect-mcp/server/Detached"
import * as Replay from "@effect-mcp/server/internal/Replay"
import type * as Middleware from "@effect-mcp/server/Middleware"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { resultType, TasksExtension } from "../extension/TasksExtension.ts"
import { type NewTask, stateOf, type Task } from "../model/Task.ts"
import * as Wire2025 from "../model/Wire2025.ts"
import * as Wire2026 from "../model/Wire2026.ts"
import * as ClientFacts from "../run/ClientFacts.ts"
import type { LimitReached, StoreFull } from "../store/TaskStore.ts"
import * as Attempts from "./Attempts.ts"
import { onBegin } from "./Begin.ts"
import * as Decision from "./Decision.ts"
import * as Destination from "./Destination.ts"
import { callerOf, ownerOf } from "./Owner.ts"
import { canonicalResult, found, resultOf, type Service } from "./Service.ts"

type Next = Middleware.Next
type Answer = Effect.Success<Next>

/** How the client of a generation has its task. */
export interface TaskForm {
  /** How long the task is kept, in milliseconds. */
  readonly ttl: number
  readonly answer: (task: Task) => EncodedResult
  /** The session in which messages of the task are sent, or `undefined` if there is none. */
  readonly session: (request: RequestContext["Service"]) => Destination.Destination | undefined
}

/** The call that a task runs. */
export interface TaskCall {
  readonly params: CallToolParams
  readonly handler: Next
  /** What the request recorded before it became a task. */
  readonly before?: Recorded | undefined
  /** Whether a run that only waits may be parked. Default: true. */
  readonly canPark?: boolean | undefined
}

const nothing: Recorded = { answers: {}, steps: {} }

/** Cancels a task that no client knows, unless it has ended. */
const abandoned = ({ store }: Service, id: string, owner: string): Effect.Effect<void> =>
  Effect.flatMap(store.get(id, owner), (task) =>
    Option.isSome(task) && task.value.outcome === undefined
      ? Effect.asVoid(store.cancel(id, owner, "The call was not answered by its task"))
      : Effect.void
  )

/**
 * Makes a task and starts its handler. The two are one: an interrupted request leaves no task that never runs. If the request is not
 * answered, because it was cancelled or middleware failed, the task is cancelled: its client does not know its id.
 */
const begun = (
  service: Service,
  { before = nothing, canPark = true, handler, params }: TaskCall,
  { session: sessionOf, ttl }: TaskForm
): Effect.Effect<Begun, McpError.McpError, RequestServices> =>
  Effect.uninterruptible(
    Effect.gen(function* () {
      const { claims, pollInterval, routes, store, supervisor } = service
      const { name, arguments: input = {} } = params
      const context = yield* Effect.context<RequestServices>()
      const facts = ClientFacts.kept(Detached.factsOf(context), claims)
      const owner = ownerOf(store, context)
      const trace = TraceContext.entries(context)?.["traceparent"]
      const client = { facts, before, trace: typeof trace === "string" ? trace : undefined }
      const row: NewTask = {
        owner,
        caller: callerOf(owner, context),
        tool: name,
        input: { name, arguments: input },
        client: ClientFacts.write(client),
        ttl,
        pollInterval
      }
      const { lease, task } = yield* Effect.mapError(store.create(row, supervisor.node), refusalOf)
      const request = Context.get(context, RequestContext)
      const session = sessionOf(request)
      if (session !== undefined) {
        const { progressToken } = request.meta
        yield* routes.join(task, owner, session, JsonRpc.isId(progressToken) ? progressToken : undefined)
      }
      // The task may not speak before its client knows it.
      const known = session === undefined ? Effect.void : routes.beginSoon(task.id)
      yield* Scope.addFinalizerExit(Context.get(context, Scope.Scope), ({ _tag }) =>
        _tag === "Success" ? known : Effect.andThen(known, abandoned(service, task.id, owner))
      )
      const about = { tool: name, owner, createdAt: task.createdAt, attempt: 1, client }
      const attempt = Attempts.attemptOf(service, lease, about, [], handler)
      yield* supervisor.run(lease, { ...attempt, canPark })
      return { task, owner }
    })
  )

/** The error for a caller that has as many tasks as it may, or for a store without room. */
const refusalOf = ({ _tag, message }: LimitReached | StoreFull): McpError.McpError =>
  _tag === "StoreFull" ? McpError.interrupted(message) : McpError.limitExceeded(message)

interface Begun {
  readonly task: Task
  readonly owner: string
}

/** Makes a task and starts its handler; the answer is the task. */
export const created = (
  service: Service,
  call: TaskCall,
  form: TaskForm
): Effect.Effect<EncodedResult, McpError.McpError, RequestServices> =>
  Effect.map(begun(service, call, form), ({ task }) => form.answer(task))

/**
 * Runs the handler as a task, once. Answers with its result if it ends within this time without a question, else with the task. A task whose
 * result was the answer has been read: its store may forget it first.
 */
const createdAfter = (
  service: Service,
  call: TaskCall,
  form: TaskForm,
  patience: Duration.Input
): Effect.Effect<EncodedResult | CallToolResult, McpError.McpError, RequestServices> =>
  Effect.gen(function* () {
    const { store } = service
    const { owner, task: begunTask } = yield* begun(service, call, form)
    const { id } = begunTask
    const settled = Stream.runHead(Stream.filter(store.changes(id, owner), (task) => stateOf(task) !== "working"))
    const last = Option.flatten(yield* Effect.timeoutOption(settled, patience))
    const read = yield* store.get(id, owner)
    // The store may have forgotten the task since then, for another one.
    const task = yield* found(Effect.succeed(Option.orElse(read, () => last)))
    return task.outcome === undefined
      ? form.answer(task)
      : yield* Effect.flatMap(resultOf(task.outcome), canonicalResult)
  })

/** A task of 2026-07-28: its client reads and answers it by requests of its own. */
const extension = ({ ttl }: Service): TaskForm => ({
  ttl,
  answer: (task) => EncodedResult.of(TasksExtension, resultType, Wire2026.created(task)),
  session: () => undefined
})

/** The shortest time to live that a client gets, in milliseconds. */
const minTtl = 1000

/** A task of 2025-11-25. The time that its client asked for is kept within bounds; null asks for the longest. */
const core = ({ maxTtl, ttl }: Service, asked: number | null | undefined): TaskForm => ({
  ttl: asked === undefined ? ttl : Math.min(Math.max(asked ?? maxTtl, minTtl), maxTtl),
  answer: (task) => EncodedResult.core("complete", { task: Wire2025.write(task) }),
  session: Destination.ofSession
})

/** The form of a task for the client of a generation. `ttl`: the time that the client asks for. */
export const formOf = (service: Service, methods: Decision.TaskMethods, ttl?: number | null): TaskForm =>
  methods === "core" ? core(service, ttl) : extension(service)

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
  Effect.gen(function* () {
    const entry = executing.tools.find(params.name, yield* Principal)
    // The server of a mounted tool decides.
    if (entry === undefined) return yield* next
    const decision = yield* Decision.decide(entry, params, yield* RequestContext)
    if (decision._tag === "Request") return yield* next
    // Not `next`: it keeps the request for as long as the task runs.
    const call = { params, handler: Attempts.execution(executing, params) }
    if (decision._tag === "WhenBegun") {
      const answer = yield* untilBegun(next)
      if (answer !== undefined) return answer
      const before = (yield* ClientInput).recorded?.()
      return yield* created(service, { ...call, before }, formOf(service, decision.methods))
    }
    const form = formOf(service, decision.methods, decision.ttl)
    const { after } = decision
    return yield* after === undefined ? created(service, call, form) : createdAfter(service, call, form, after)
  })

/** The middleware around calls of tools. */
export const middleware =
  (service: Service, executing: Attempts.Executing): Middleware.Middleware =>
  (request, next) =>
    request.method === "tools/call" ? call(service, executing, request.params, next) : next
