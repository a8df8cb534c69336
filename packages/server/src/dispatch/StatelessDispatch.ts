/** Handles stateless requests outside a session. An HTTP endpoint calls this for each POST. */
import type { BusySet } from "@effect-mcp/core/internal/inFlight"
import { attempt, exitOf } from "@effect-mcp/core/internal/calling"
import * as Peer from "@effect-mcp/core/Peer"
import * as Principal from "@effect-mcp/core/Principal"
import * as TraceContext from "@effect-mcp/core/TraceContext"
import type { Envelope, Sink } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as McpError from "@effect-mcp/protocol/McpError"
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type { InboundHooks } from "../features/InboundHooks.ts"
import type * as RateLimit from "../features/RateLimit.ts"
import type { Observer } from "../view/Observer.ts"
import { statelessEnd } from "../view/SessionObserver.ts"
import { StatelessRequest } from "../view/StatelessRequest.ts"
import { observed, surroundingsOfStateless } from "./observed.ts"
import type { StatelessEra } from "./StatelessEra.ts"

export interface DispatchOptions {
  /** The client's network address, which distinguishes anonymous callers. */
  readonly address?: string | undefined
  /** Transport kind, for views. Unknown by default. */
  readonly kind?: string | undefined
  /**
   * Returns true if the caller of `dispatch` has interrupted the request. Views need this, because the handler may mask
   * the interruption. By default, returns false.
   */
  readonly isGivenUp?: (() => boolean) | undefined
  /** Completes when the endpoint is about to stop. Subscriptions then end with their result. By default it never completes. */
  readonly closing?: Effect.Effect<void> | undefined
  /** Called once the request has passed every check, right before its handler runs. */
  readonly admitted?: (() => void) | undefined
  /** Context of the fiber that will run the effect immediately. A request that does not wait is then answered within the call. */
  readonly base?: Context.Context<never> | undefined
}

/**
 * Handles a single stateless request outside a session. Interrupting the effect ends the request. The sink receives
 * notifications and then the response, which is always sent.
 */
export type Dispatch = (
  request: JsonRpc.Request,
  envelope: Envelope,
  sink: Sink,
  options?: DispatchOptions
) => Effect.Effect<void>

export interface Options {
  readonly era: StatelessEra
  readonly hooks: InboundHooks
  readonly clock: Clock.Clock
  /** Returns monotonic milliseconds. */
  readonly now: () => number
  /** Waiting requests. */
  readonly requests: BusySet<StatelessRequest>
  /** Called when a request begins to wait, or ends. */
  readonly changed: () => void
  /** The budget shared by all callers with neither a principal nor an address. */
  readonly account: RateLimit.Account
  /** By default nothing observes the requests. */
  readonly observer: Observer | undefined
}

export const make = ({
  account: { buckets },
  changed,
  clock,
  era,
  hooks,
  now,
  observer,
  requests
}: Options): Dispatch => {
  const answer = (received: StatelessRequest, exit: Exit.Exit<unknown, McpError.McpError>): void => {
    send(received, exit)
    observer?.request?.(statelessEnd(received, received.arrived, now()), exit)
  }
  const send = (received: StatelessRequest, exit: Exit.Exit<unknown, McpError.McpError>): void => {
    const { isSubscription, reason, request, sink } = received
    const interrupted = Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
    const result = interrupted && reason !== undefined && isSubscription ? era.subscriptionResult(request) : undefined
    if (result !== undefined) return Peer.answer(sink, JsonRpc.success(request.id, result))
    const why = interrupted ? (reason ?? "The request was interrupted") : undefined
    Peer.answer(sink, Peer.response(request.id, why, exit))
  }
  const began = (received: StatelessRequest, fiber: Fiber.Fiber<unknown, unknown>): void => {
    received.fiber = fiber
    received.since = clock.currentTimeMillisUnsafe()
    requests.add(received)
    changed()
  }
  const ended = (received: StatelessRequest, exit: Exit.Exit<unknown, McpError.McpError>): void => {
    requests.delete(received)
    answer(received, exit)
    changed()
  }
  return (request, envelope, sink, { address, admitted, closing = Effect.never, base, isGivenUp, kind } = {}) => {
    const principal = envelope.principal ?? Principal.anonymous
    const origin = { principal, kept: 0, closing, admitted, buckets, logBudget: undefined, address }
    const received = new StatelessRequest(request, envelope, sink, principal, kind, isGivenUp)
    if (observer !== undefined) received.arrived = now()
    const handle = (eager: boolean) =>
      hooks.isEmpty
        ? era.handle(origin, received, eager)
        : hooks.request(received, principal, undefined, closing, () => era.handle(origin, received, false))
    let effect: ReturnType<typeof handle> | undefined
    const full = observer?.admit?.()
    if (full !== undefined) {
      effect = Effect.andThen(
        Effect.interruptible(full),
        Effect.suspend(() => handle(false))
      )
    } else if (base !== undefined && !TraceContext.isTraced(base)) {
      effect = attempt(() => handle(true))
      const done = exitOf(effect)
      if (done !== undefined && Exit.isSuccess(done)) {
        answer(received, done)
        return Effect.void
      }
    }
    let isOver = false
    return Effect.withFiber((fiber: Fiber.Fiber<unknown, unknown>) => {
      began(received, fiber)
      // Effect skips a fiber's finalizers if a handler returns a value that is not an Effect.
      fiber.addObserver(() => {
        if (!isOver) ended(received, Exit.die(new Error("A handler returned a value that is not an Effect")))
      })
      const traced = TraceContext.isTraced(fiber.context) ? surroundingsOfStateless(received) : undefined
      return observed(() => effect ?? handle(true), request, traced)
    }).pipe(
      Effect.exit,
      Effect.map((exit) => {
        isOver = true
        ended(received, exit)
      }),
      Effect.uninterruptible
    )
  }
}
