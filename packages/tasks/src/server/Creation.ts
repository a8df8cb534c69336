/**
 * Creates a task for a call. The handler runs in the server's scope, with the services of a request that has already been answered.
 */
import type { Recorded } from "@effect-mcp/core/ClientInput"
import { EncodedResult } from "@effect-mcp/core/EncodedResult"
import { RequestContext, type RequestServices } from "@effect-mcp/core/RequestContext"
import * as TraceContext from "@effect-mcp/core/TraceContext"
import type { ClientCapabilities } from "@effect-mcp/protocol/Capabilities"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { CallToolParams, CallToolResult } from "@effect-mcp/protocol/model/Tool"
import * as Detached from "@effect-mcp/server/Detached"
import type * as Middleware from "@effect-mcp/server/Middleware"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
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
import type * as Decision from "./Decision.ts"
import * as Destination from "./Destination.ts"
import { callerOf, ownerOf } from "./Owner.ts"
import { canonicalResult, found, resultOf, type Service } from "./Service.ts"
import type { ReportProgress } from "./TaskRoutes.ts"

/** How to start a task. */
export interface TaskStart {
  /** How long to keep the task, in milliseconds. */
  readonly ttl: number
  /** Returns the session on which to send the task's messages, or `undefined` if there is none. */
  readonly session: (request: RequestContext["Service"]) => Destination.Destination | undefined
  /** Returns the questions that the task may ask, given the client's declaration. Default: the declaration. */
  readonly asks?: ((declared: ClientCapabilities) => ClientCapabilities) | undefined
  /** Receives the handler's progress. Default: the task's routes. */
  readonly report?: ReportProgress | undefined
}

/** How to create a task for clients of one generation. */
export interface TaskForm extends TaskStart {
  readonly answer: (task: Task) => EncodedResult
}

/** The call that a task runs. */
export interface TaskCall {
  readonly params: CallToolParams
  readonly handler: Middleware.Next
  /** Entries that the request recorded before becoming a task. */
  readonly before?: Recorded | undefined
  /** Whether to allow parking a run that is only waiting. Default true. */
  readonly canPark?: boolean | undefined
}

const nothing: Recorded = { answers: {}, steps: {} }

/** Cancels a task that no client knows about, unless it has ended. */
const abandoned = ({ store }: Service, id: string, owner: string): Effect.Effect<void> =>
  Effect.flatMap(store.get(id, owner), (task) =>
    Option.isSome(task) && task.value.outcome === undefined
      ? Effect.asVoid(store.cancel(id, owner, "The client never received the task"))
      : Effect.void
  )

/**
 * Creates a task and starts its handler in a single step, so that an interrupted request doesn't leave behind a task that never runs. If
 * the request receives no response, because it was cancelled or middleware failed, the task is cancelled, since its client doesn't know its
 * ID.
 */
export const begun = (
  service: Service,
  { before = nothing, canPark = true, handler, params }: TaskCall,
  { asks, report, session: sessionOf, ttl }: TaskStart
): Effect.Effect<Begun, McpError.McpError, RequestServices> =>
  Effect.uninterruptible(
    Effect.gen(function* () {
      const { claims, pollInterval, routes, store, supervisor } = service
      const { name, arguments: input = {} } = params
      const context = yield* Effect.context<RequestServices>()
      const kept = ClientFacts.kept(Detached.factsOf(context), claims)
      const facts = asks === undefined ? kept : { ...kept, clientCapabilities: asks(kept.clientCapabilities) }
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
      // The task must not send anything before its client knows it.
      const known = session === undefined ? Effect.void : routes.beginSoon(task.id)
      yield* Scope.addFinalizerExit(Context.get(context, Scope.Scope), ({ _tag }) =>
        _tag === "Success" ? known : Effect.andThen(known, abandoned(service, task.id, owner))
      )
      const about = { tool: name, owner, createdAt: task.createdAt, attempt: 1, client }
      const attempt = Attempts.attemptOf(service, lease, about, [], handler, report)
      yield* supervisor.run(lease, { ...attempt, canPark })
      return { task, owner }
    })
  )

/** Returns the error for a caller with too many tasks, or for a full store. */
const refusalOf = ({ _tag, message }: LimitReached | StoreFull): McpError.McpError =>
  _tag === "StoreFull" ? McpError.interrupted(message) : McpError.limitExceeded(message)

export interface Begun {
  readonly task: Task
  readonly owner: string
}

/** Creates a task, starts its handler, and responds with the task. */
export const created = (
  service: Service,
  call: TaskCall,
  form: TaskForm
): Effect.Effect<EncodedResult, McpError.McpError, RequestServices> =>
  Effect.map(begun(service, call, form), ({ task }) => form.answer(task))

/**
 * Runs the handler as a task. Responds with its result if it finishes within this time without asking a question, and with the task
 * otherwise. A task whose result was sent this way counts as read, so the store forgets it first.
 */
export const createdAfter = (
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
    // The store may have dropped the task in the meantime to make room.
    const task = yield* found(Effect.succeed(Option.orElse(read, () => last)))
    return task.outcome === undefined
      ? form.answer(task)
      : yield* Effect.flatMap(resultOf(task.outcome), canonicalResult)
  })

/** The 2026-07-28 form: the client reads and answers the task in separate requests. */
const extension = ({ ttl }: Service): TaskForm => ({
  ttl,
  answer: (task) => EncodedResult.of(TasksExtension, resultType, Wire2026.created(task)),
  session: () => undefined
})

/** Minimum TTL to grant to a client, in milliseconds. */
const minTtl = 1000

/** The 2025-11-25 form. The requested TTL is clamped; null requests the maximum. */
const core = ({ maxTtl, ttl }: Service, asked: number | null | undefined): TaskForm => ({
  ttl: asked === undefined ? ttl : Math.min(Math.max(asked ?? maxTtl, minTtl), maxTtl),
  answer: (task) => EncodedResult.core("complete", { task: Wire2025.write(task) }),
  session: Destination.ofSession
})

/** Returns the form of task for the client's generation. `ttl` is the time that the client requests. */
export const formOf = (service: Service, methods: Decision.TaskMethods, ttl?: number | null): TaskForm =>
  methods === "core" ? core(service, ttl) : extension(service)
