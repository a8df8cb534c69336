/**
 * One request in the server: its message and caller, the services of its handler, and the decision when that handler starts.
 *
 * Without middleware or a tracer a handler starts in a fiber at once (`run`): most handlers do not wait, and have then ended without a
 * step of the request's own fiber. Middleware and tracers need the handler as an effect: they set `eager` to false.
 */
import { exitOf, start } from "@effect-mcp/core/internal/eager"
import type { HandlerContext, HandlerRunner } from "@effect-mcp/core/internal/HandlerContext"
import type { ReceivedRequest } from "@effect-mcp/core/Peer"
import { Principal } from "@effect-mcp/core/Principal"
import type { RequestServices as Services } from "@effect-mcp/core/RequestContext"
import { LazyContext } from "@effect-mcp/core/internal/LazyContext"
import type { McpError } from "@effect-mcp/protocol/McpError"
import * as TraceContext from "@effect-mcp/core/TraceContext"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { Session } from "../session/Session.ts"
import * as RequestServices from "./RequestServices.ts"
import { type EraContext, serviceTable, type Source, type Wired } from "./RequestServices.ts"

/** Binds a request to the caller that its handler acts for. */
export interface CallerBinding {
  /** Runs inside all middleware, before the handler. */
  readonly bindCaller: Effect.Effect<void, McpError, Principal>
}

/**
 * Finalizers of a cancelled request, and fibers that outlive it, may still hold its services. Progress of a request that ended is
 * dropped; so are its logs in the stateless era, where they belong to the request alone.
 */
export class ServerRequest implements HandlerRunner, Source, Wired {
  readonly received: ReceivedRequest
  /** The caller, as the transport knows it; middleware may provide another one (`withCaller`). */
  readonly principal: Principal["Service"]
  /** Undefined in revisions without sessions. */
  readonly session: Session | undefined
  eager: boolean
  /** Set where a request may be resumed (2026-07-28). */
  callerBinding: CallerBinding | undefined = undefined
  private readonly makeContext: () => EraContext
  private readonly base: Context.Context<never>
  private madeContext: EraContext | undefined = undefined
  private services: Array<unknown> | undefined = undefined
  private scope: Scope.Closeable | undefined = undefined
  private ended = false

  /** `base`: the context of the fiber that runs the request at once; undefined where the request must not start before it runs. */
  constructor(
    received: ReceivedRequest,
    principal: Principal["Service"],
    session: Session | undefined,
    makeContext: () => EraContext,
    base: Context.Context<never> | undefined
  ) {
    this.received = received
    this.principal = principal
    this.session = session
    this.eager = base !== undefined
    this.makeContext = makeContext
    this.base = base ?? Context.empty()
  }

  /** What the era knows of the request, made when it is first needed. */
  get eraContext(): EraContext {
    return (this.madeContext ??= this.makeContext())
  }

  // ---- its services

  get client(): Source["client"] {
    return this.eraContext
  }

  requestContext() {
    return RequestServices.contextOf(this)
  }

  progress() {
    return RequestServices.progressOf(this)
  }

  log() {
    return RequestServices.logOf(this)
  }

  /** Whether the request was answered or cancelled. */
  get over(): boolean {
    return this.ended || this.received.cancelled === true
  }

  /** The Scope of the request, which is closed where the request has ended. */
  openScope(): Scope.Scope {
    const scope = (this.scope ??= Scope.makeUnsafe())
    if (this.ended) Effect.runSync(Scope.close(scope, Exit.void))
    return scope
  }

  /** `use` of the caller: the transport's where there is no middleware, else the one in the handler's context. */
  withCaller<A, E, R>(
    use: (principal: Principal["Service"]) => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R | Principal> {
    return this.eager ? use(this.principal) : Effect.flatMap(Principal, use)
  }

  /** Starts the handler at once, or gives the effect that runs it: the one place that decides. */
  run<A, E, R, S extends Services>(
    handler: Effect.Effect<A, E, R>,
    context: HandlerContext<R, S>
  ): Effect.Effect<A, E, S> {
    const done = exitOf(handler)
    if (done !== undefined) return done
    if (!this.eager) return context.provide(handler)
    if (context.cooldown.skips()) return context.provide(handler)
    const services = this.servicesOver<R>(context.over(this.base.mapUnsafe))
    // A handler may be cancelled from its first step on, so its request is registered before.
    this.received.onFork?.()
    const started = start(handler, services)
    context.cooldown.record(started)
    return started
  }

  /** Runs `effect` with the services of the request, in a Scope of its own; the request ends with it. */
  provide<A, E>(effect: Effect.Effect<A, E, Services>): Effect.Effect<A, E> {
    const done = exitOf(effect)
    if (done !== undefined && this.scope === undefined) {
      this.ended = true
      return done
    }
    const provided = Effect.updateContext(effect, (ambient: Context.Context<never>) =>
      // Each traced request has a context of its own: that of its span.
      this.servicesOver<Services>(ambient.mapUnsafe, !TraceContext.isTraced(ambient))
    )
    return Effect.onExit(provided, (exit) => this.close(exit))
  }

  private servicesOver<R>(base: ReadonlyMap<string, unknown>, shared: boolean = true): Context.Context<R> {
    return Context.makeUnsafe<R>(new LazyContext(base, serviceTable, this, (this.services ??= []), shared))
  }

  private close(exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> {
    if (this.scope === undefined) {
      this.ended = true
      return Effect.void
    }
    return Effect.ensuring(
      Scope.close(this.scope, exit),
      Effect.sync(() => (this.ended = true))
    )
  }
}
