/**
 * The context of a handler: the services that its layer captured, those of the request, and a list of References.
 *
 * The context of the calling fiber is never merged over it: a handler must not see services of its caller.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
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

/** The keys of the services and References that a handler gets from its request. */
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

/** The scheduler that handlers of a request run on. Default: that of their layer. */
export class HandlerScheduler extends Context.Service<HandlerScheduler, Scheduler.Scheduler>()(
  "@effect-mcp/core/features/HandlerScheduler"
) {}

/** The request that a handler serves. */
export interface HandledRequest {
  /** True if nothing runs between the request and its handler. Middleware sets it to false. */
  eager: boolean
  /** Calls `release` once the request has ended. For eager requests only: they always run, so that they always end. */
  readonly atEnd: (release: () => void) => void
  /** A handler in the context of its layer, with the services of the request. Called right before its effect runs. */
  readonly run: <A, E, R, S extends RequestServices>(
    handler: Effect.Effect<A, E, R>,
    context: HandlerContext<R, S>
  ) => Effect.Effect<A, E, S>
  /** `use` of the caller of the request. */
  readonly withCaller: <A, E, R>(
    use: (principal: Principal["Service"]) => Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E, R | Principal>
  /**
   * Runs `effect` so that it can be stopped. `onStart` receives a function that stops it, and returns a function to call when it has ended.
   * Stopping interrupts the effect; after its finalizers the request is answered with `instead`.
   */
  readonly stoppable: <E, R>(
    effect: Effect.Effect<CallToolResult, E, R>,
    instead: () => CallToolResult,
    onStart: (stop: () => void) => () => void
  ) => Effect.Effect<CallToolResult, E, R>
}

/** Runs handlers outside of a request, in the context of the running fiber. */
export const deferred: HandledRequest = {
  eager: false,
  atEnd: () => {},
  run: (handler, context) => context.provide(handler),
  withCaller: (use) => Effect.flatMap(Principal, use),
  // A fiber that was interrupted cannot continue, so the effect runs in another one.
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

/** Whether `inner`, in which middleware runs, has of its request what `outer` has, so that a handler needs no mix of them. */
const isUnchanged = (outer: Services, inner: Services): boolean => {
  if (!(outer instanceof LazyContext && inner instanceof LazyContext && inner.isOfRequest(outer))) return false
  const before = outer.below
  const after = inner.below
  if (after.has(HandlerScheduler.key)) return false
  for (const key of requestKeys) if (!inner.makes(key) && before.get(key) !== after.get(key)) return false
  return true
}

/**
 * Runs effects in a context that middleware was called in, with the services of the request that it has replaced since. Nearly all middleware
 * replaces none: then it is that context, and no service of the request is made.
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

/** The context of the handlers of one layer: `R`, of which the request supplies `S`. */
export class HandlerContext<R, S extends RequestServices = RequestServices> {
  private readonly base: Map<string, unknown>
  private readonly forwardsLogs: boolean
  // By ambient map: the requests of a connection share one.
  private readonly known = new WeakMap<Services, Services>()

  /** `captured` must hold all of `R` beside the request's services `S`: the type of its layer says so. */
  constructor(captured: Context.Context<Exclude<R, S>>, options: { readonly forwardsLogs?: boolean } = {}) {
    const base = new Map(captured.mapUnsafe)
    // Logs of a handler go to the loggers of its layer and to the client; logs of code around handlers are not for the client.
    const { forwardsLogs = true } = options
    if (forwardsLogs) {
      base.set(References.CurrentLoggers.key, new Set([...Context.get(captured, References.CurrentLoggers), forwarder]))
    }
    this.base = base
    this.forwardsLogs = forwardsLogs
  }

  /** Runs the effect in this context when it runs. */
  provide<A, E>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, S> {
    return exitOf(effect) ?? Effect.updateContext(effect, this.inside)
  }

  /** The handler, in this context, with the services that its request makes. */
  handler<Args extends ReadonlyArray<unknown>, A, E>(
    handler: (...args: Args) => Effect.Effect<A, E, R>
  ): (...args: Args) => Effect.Effect<A, E | McpError, R> {
    const provided = Provided.among(this.base)
    const handle = (...args: Args) => checkedEffect("A handler", handler(...args))
    if (provided === undefined) return handle
    // No line of the handler runs before its services are made: they may refuse the request.
    return (...args) => Provided.within(provided, () => handle(...args))
  }

  /** The same, which runs in this context. */
  provided<Args extends ReadonlyArray<unknown>, A, E>(
    handler: (...args: Args) => Effect.Effect<A, E, R>
  ): (...args: Args) => Effect.Effect<A, E | McpError, S> {
    const handle = this.handler(handler)
    return (...args) => this.provide(handle(...args))
  }

  /** The services below those of a request, for a request over `ambient`. */
  readonly over = (ambient: Services): Services => {
    const mix = this.known.get(ambient)
    if (mix !== undefined) return mix
    const made = this.mixed(ambient)
    this.known.set(ambient, made)
    return made
  }

  readonly inside = (ambient: Context.Context<S>): Context.Context<R> => {
    const services = ambient.mapUnsafe
    // A LazyContext does not make the services of the request here.
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
