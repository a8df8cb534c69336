/**
 * A handler's context: the services its layer captured, the services of the request, and a list of References.
 *
 * The calling fiber's context is never merged into it, because a handler must not see its caller's services.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { memoize } from "effect/Function"
import * as References from "effect/References"
import * as Scheduler from "effect/Scheduler"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import { ClientInput } from "../request/ClientInput.ts"
import { checkedEffect } from "../internal/callback.ts"
import { exitOf, inOwnFiber } from "../internal/eager.ts"
import { Elicitation } from "../request/Elicitation.ts"
import { forwarder, Log, callerAnnotations } from "../request/Log.ts"
import { Principal } from "../transport/Principal.ts"
import { Progress } from "../request/Progress.ts"
import { LazyContext } from "../internal/LazyContext.ts"
import type { McpError } from "@effect-mcp/protocol/McpError"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import * as Provided from "./Provided.ts"
import { RequestContext, type RequestServices } from "../request/RequestContext.ts"
import { Roots } from "../request/Roots.ts"
import { Sampling } from "../request/Sampling.ts"

/** Keys of the services and References that a handler receives from the request. */
const requestKeys: ReadonlyArray<string> = [
  RequestContext.key,
  Principal.key,
  Log.key,
  Progress.key,
  ClientInput.key,
  Elicitation.key,
  Sampling.key,
  Roots.key,
  Scope.Scope.key,
  Provided.Provided.key,
  Tracer.ParentSpan.key,
  References.CurrentLogAnnotations.key,
  References.LogToStderr.key,
  References.MinimumLogLevel.key
]

/** Scheduler for a request's handlers. Default: the scheduler of their layer. */
export class HandlerScheduler extends Context.Service<HandlerScheduler, Scheduler.Scheduler>()(
  "@effect-mcp/core/features/HandlerScheduler"
) {}

/** The request a handler runs for. */
export interface HandledRequest {
  /** True if nothing runs between the request and its handler. Middleware sets it to false. */
  eager: boolean
  /** Calls `release` when the request has ended. Only for eager requests, which are guaranteed to run and therefore to end. */
  readonly atEnd: (release: () => void) => void
  /** Runs a handler in its layer's context, with the request's services. Called right before the effect runs. */
  readonly run: <A, E, R, S extends RequestServices>(
    handler: Effect.Effect<A, E, R>,
    context: HandlerContext<R, S>
  ) => Effect.Effect<A, E, S>
  /** Runs `use` with the request's caller. */
  readonly withCaller: <A, E, R>(
    use: (principal: Principal["Service"]) => Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E, R | Principal>
  /**
   * Runs `effect` so that it can be stopped. `onStart` receives a function that stops it, and returns a function to call when the effect
   * has ended. Stopping interrupts the effect. After its finalizers have run, `instead` is the response.
   */
  readonly stoppable: <E, R>(
    effect: Effect.Effect<CallToolResult, E, R>,
    instead: () => CallToolResult,
    onStart: (stop: () => void) => () => void
  ) => Effect.Effect<CallToolResult, E, R>
}

/** Runs handlers outside a request, in the current fiber's context. */
export const deferred: HandledRequest = {
  eager: false,
  atEnd: () => {},
  run: (handler, context) => context.provide(handler),
  withCaller: (use) => Effect.flatMap(Principal, use),
  // An interrupted fiber cannot continue, so the effect runs in a separate fiber.
  stoppable: (effect, instead, onStart) =>
    inOwnFiber(
      Effect.withFiber((own) => {
        let isStopped = false
        const release = onStart(() => {
          isStopped = true
          own.interruptUnsafe()
        })
        return Effect.matchCauseEffect(Effect.interruptible(effect), {
          onSuccess: (result) => {
            release()
            return Effect.succeed(result)
          },
          onFailure: (cause) => {
            release()
            return isStopped && Cause.hasInterruptsOnly(cause) ? Effect.succeed(instead()) : Effect.failCause(cause)
          }
        })
      })
    )
}

type Services = ReadonlyMap<string, unknown>

/** True if middleware left the request's services unchanged between `outer` and `inner`, so that a handler doesn't need a mix of them. */
const isUnchanged = (outer: Services, inner: Services): boolean => {
  if (!(outer instanceof LazyContext && inner instanceof LazyContext && inner.isOfRequest(outer))) return false
  const before = outer.below
  const after = inner.below
  if (after.has(HandlerScheduler.key)) return false
  for (const key of requestKeys) if (!inner.makes(key) && before.get(key) !== after.get(key)) return false
  return true
}

/**
 * Runs effects in the context in which middleware was called, plus any request services that middleware has replaced since. Most middleware
 * replaces nothing. The context is then used unchanged, and no request service has to be created.
 */
export const returningTo = <S extends RequestServices>(outer: Context.Context<S>) => {
  let made: HandlerContext<S, S> | undefined
  return <A, E>(effect: Effect.Effect<A, E, S>): Effect.Effect<A, E, S> =>
    Effect.updateContext(effect, (inner: Context.Context<S>) =>
      isUnchanged(outer.mapUnsafe, inner.mapUnsafe)
        ? outer
        : (made ??= new HandlerContext<S, S>(outer, { forwardsLogs: false })).inside(inner)
    )
}

/** The context for one layer's handlers: `R`, of which the request provides `S`. */
export class HandlerContext<R, S extends RequestServices = RequestServices> {
  private readonly base: Map<string, unknown>
  private readonly forwardsLogs: boolean

  /** `captured` must contain everything in `R` except the request's services `S`. The layer's type guarantees that. */
  constructor(captured: Context.Context<Exclude<R, S>>, options: { readonly forwardsLogs?: boolean } = {}) {
    const base = new Map(captured.mapUnsafe)
    // A handler's logs go to its layer's loggers and to the client. Logs from code around handlers don't go to the client.
    const { forwardsLogs = true } = options
    if (forwardsLogs) {
      base.set(References.CurrentLoggers.key, new Set([...Context.get(captured, References.CurrentLoggers), forwarder]))
    }
    this.base = base
    this.forwardsLogs = forwardsLogs
  }

  /** Runs the effect in this context. */
  provide<A, E>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, S> {
    return exitOf(effect) ?? Effect.updateContext(effect, this.inside)
  }

  /** Wraps a handler so that it runs in this context, with the services its request creates. */
  handler<Args extends ReadonlyArray<unknown>, A, E>(
    handler: (...args: Args) => Effect.Effect<A, E, R>
  ): (...args: Args) => Effect.Effect<A, E | McpError, R> {
    const provided = Provided.among(this.base)
    const handle = (...args: Args) => checkedEffect("A handler", handler(...args))
    if (provided === undefined) return handle
    // The services are created before the handler runs, because creating them may reject the request.
    return (...args) => Provided.within(provided, () => handle(...args))
  }

  /** Like `handler`, for code that already runs in this context. */
  provided<Args extends ReadonlyArray<unknown>, A, E>(
    handler: (...args: Args) => Effect.Effect<A, E, R>
  ): (...args: Args) => Effect.Effect<A, E | McpError, S> {
    const handle = this.handler(handler)
    return (...args) => this.provide(handle(...args))
  }

  /**
   * Returns the context without the request's own services. Requests on the same connection share one `ambient` map.
   */
  readonly over = memoize((ambient: Services): Services => this.mixed(ambient))

  readonly inside = (ambient: Context.Context<S>): Context.Context<R> => {
    const services = ambient.mapUnsafe
    // With a LazyContext, the request's services are not created here.
    if (!(services instanceof LazyContext)) return Context.makeUnsafe<R>(this.mixed(services))
    return Context.makeUnsafe<R>(services.over(services.shared ? this.over : (below) => this.mixed(below)))
  }

  private mixed(ambient: Services): Services {
    const map = new Map(this.base)
    for (const key of requestKeys) {
      const value = ambient.get(key)
      if (value !== undefined) map.set(key, value)
    }
    const scheduler = ambient.get(HandlerScheduler.key)
    if (scheduler !== undefined) map.set(Scheduler.Scheduler.key, scheduler)
    const annotations = map.get(References.CurrentLogAnnotations.key)
    if (this.forwardsLogs && annotations !== undefined) map.set(callerAnnotations.key, annotations)
    return map
  }
}
