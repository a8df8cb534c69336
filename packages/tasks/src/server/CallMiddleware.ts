/**
 * Middleware around tool calls that decides when a call becomes a task.
 *
 * Runs inside all server middleware, so the principal that middleware provides owns the task.
 */
import * as CancelReason from "@effect-mcp/core/CancelReason"
import { ClientInput } from "@effect-mcp/core/ClientInput"
import { Principal } from "@effect-mcp/core/Principal"
import { RequestContext, type RequestServices } from "@effect-mcp/core/RequestContext"
import type { ToolRegistry } from "@effect-mcp/core/Tools"
import type * as McpError from "@effect-mcp/protocol/McpError"
import type { CallToolParams } from "@effect-mcp/protocol/model/Tool"
import * as Replay from "@effect-mcp/server/internal/Replay"
import type * as Middleware from "@effect-mcp/server/Middleware"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Attempts from "./Attempts.ts"
import { onBegin } from "./Begin.ts"
import { created, createdAfter, formOf } from "./Creation.ts"
import * as Decision from "./Decision.ts"
import * as HandledCall from "./HandledCall.ts"
import type { Handles } from "./Handles.ts"
import type { Service } from "./Service.ts"

type Next = Middleware.Next
type Answer = Effect.Success<Next>

/** Runs the request until its handler begins the task, then returns `undefined` once its finalizers have run. */
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

/** True if a call may become a task, or requests one. Other calls don't go through `middleware`. */
export const mayBeTask =
  (tools: ToolRegistry["Service"]) =>
  (request: Middleware.Request): boolean =>
    request.method === "tools/call" && ("task" in request.params || tools.mayBeTask(request.params.name))

/** The server side of tasks, as calls need it. */
interface Parts {
  readonly service: Service
  readonly executing: Attempts.Executing
  /** Settings for clients that don't support tasks, or `undefined` if they receive no handles. */
  readonly handles: Handles | undefined
}

const call = (
  { executing, handles, service }: Parts,
  params: CallToolParams,
  next: Next
): Effect.Effect<Answer, McpError.McpError, RequestServices> =>
  Effect.gen(function* () {
    const entry = executing.tools.find(params.name, yield* Principal)
    // The server of a mounted tool decides.
    if (entry === undefined) return yield* next
    const decision = yield* Decision.decide(entry, params, yield* RequestContext, handles)
    if (decision._tag === "Request") return yield* next
    // Not `next`, which would keep the request alive while the task runs.
    const call = { params, handler: Attempts.execution(executing, params) }
    if (decision._tag === "Handle") return yield* HandledCall.answered(service, decision.handles, call)
    if (decision._tag === "WhenBegun") {
      const { as } = decision
      const answer = yield* untilBegun(next)
      if (answer !== undefined) return answer
      const before = (yield* ClientInput).recorded?.()
      return yield* "handles" in as
        ? HandledCall.answered(service, as.handles, { ...call, before })
        : created(service, { ...call, before }, formOf(service, as.methods))
    }
    const form = formOf(service, decision.methods, decision.ttl)
    const { after } = decision
    return yield* after === undefined ? created(service, call, form) : createdAfter(service, call, form, after)
  })

/** Middleware around tool calls. */
export const middleware =
  (parts: Parts): Middleware.Middleware =>
  (request, next) =>
    request.method === "tools/call" ? call(parts, request.params, next) : next
