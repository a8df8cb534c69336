/**
 * One request in the server: its message, its caller, the services of its handler, and the fiber that runs it.
 *
 * The fiber is uninterruptible except in the handler and its middleware, so it can still answer a request whose handler was stopped.
 */
import { exitOf } from "@effect-mcp/core/internal/eager"
import type { HandlerContext, HandledRequest } from "@effect-mcp/core/internal/HandlerContext"
import type { ReceivedRequest } from "@effect-mcp/core/Peer"
import { Principal } from "@effect-mcp/core/Principal"
import type { RequestServices as Services } from "@effect-mcp/core/RequestContext"
import { LazyContext } from "@effect-mcp/core/internal/LazyContext"
import type { McpError } from "@effect-mcp/protocol/McpError"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import * as TraceContext from "@effect-mcp/core/TraceContext"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import type { Session } from "../session/Session.ts"
import type { DecodedResult } from "./DecodedRequest.ts"
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
export class ServerRequest implements HandledRequest, Source, Wired {
  readonly received: ReceivedRequest
  /** The caller, as the transport knows it; middleware may provide another one (`withCaller`). */
  readonly principal: Principal["Service"]
  /** Undefined in revisions without sessions. */
  readonly session: Session | undefined
  eager: boolean
  /** Set where a request may be resumed (2026-07-28). */
  callerBinding: CallerBinding | undefined = undefined
  private readonly makeContext: () => EraContext
  private madeContext: EraContext | undefined = undefined
  private services: Array<unknown> | undefined = undefined
  private scope: Scope.Closeable | undefined = undefined
  private ended = false
  private fiber: Fiber.Fiber<unknown, unknown> | undefined = undefined
  /** The context that the request was given, without its services. */
  private ambient: Context.Context<never> = Context.empty()
  /** The services of the layer whose handler runs, below those of the request. */
  private layer: ((ambient: ReadonlyMap<string, unknown>) => ReadonlyMap<string, unknown>) | undefined = undefined
  /** Starts to watch a handler that may be stopped. */
  private watch: (() => () => void) | undefined = undefined
  private released: (() => void) | undefined = undefined
  private companion: Fiber.Fiber<void> | undefined = undefined
  private next:
    | ((exit: Exit.Exit<unknown, unknown>) => Effect.Effect<DecodedResult, McpError> | undefined)
    | undefined = undefined

  /** `eager`: as in `HandledRequest`. */
  constructor(
    received: ReceivedRequest,
    principal: Principal["Service"],
    session: Session | undefined,
    makeContext: () => EraContext,
    eager: boolean
  ) {
    this.received = received
    this.principal = principal
    this.session = session
    this.eager = eager
    this.makeContext = makeContext
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

  atEnd(release: () => void): void {
    const { released } = this
    this.released =
      released === undefined
        ? release
        : () => {
            release()
            released()
          }
  }

  run<A, E, R, S extends Services>(
    handler: Effect.Effect<A, E, R>,
    context: HandlerContext<R, S>
  ): Effect.Effect<A, E, S> {
    const done = exitOf(handler)
    if (done !== undefined) return done
    if (!this.eager || this.layer !== undefined) return context.provide(handler)
    // Run the request in the context of its handler from the start: Effect derives ten values from each context it enters.
    this.layer = context.over
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- all that `context` provides is in the context of the fiber
    return handler as Effect.Effect<A, E, never>
  }

  /** Runs `effect` with the services of the request, in a Scope of its own; the request ends with it. */
  provide(effect: Effect.Effect<DecodedResult, McpError, Services>): Effect.Effect<DecodedResult, McpError> {
    const done = exitOf(effect)
    if (done !== undefined && this.scope === undefined) {
      this.ended = true
      return done
    }
    return Effect.withFiber((fiber) => {
      this.fiber = fiber
      this.ambient = fiber.context
      fiber.addObserver((exit) => this.abandon(exit))
      const stopWatching = this.watch?.()
      if (stopWatching !== undefined) this.atEnd(stopWatching)
      const provided = Effect.updateContext(effect, (ambient: Context.Context<never>) =>
        // Each traced request has a context of its own: that of its span.
        this.servicesOver<Services>(ambient, !TraceContext.isTraced(ambient))
      )
      return Effect.matchCauseEffect(Effect.interruptible(provided), {
        onSuccess: (result) => this.close(Exit.succeed(result)),
        onFailure: (cause) => this.close(Exit.failCause(cause))
      })
    })
  }

  /** Interrupts what `provide` runs. Its exit, once finalizers have run, decides how the request goes on. */
  stop(next: NonNullable<ServerRequest["next"]>, annotations?: Context.Context<never>): void {
    if (this.next !== undefined || this.ended) return
    this.next = next
    this.fiber?.interruptUnsafe(undefined, annotations)
  }

  /** Runs `effect` in another fiber, which ends with the request, and calls `then` once it has succeeded. */
  beside(effect: Effect.Effect<void>, then: () => void): void {
    this.companion = Effect.runForkWith(this.ambient)(effect)
    this.companion.addObserver((exit) => {
      if (Exit.isSuccess(exit)) then()
    })
  }

  stoppable<E, R>(
    effect: Effect.Effect<CallToolResult, E, R>,
    instead: () => CallToolResult,
    onStart: (stop: () => void) => () => void
  ): Effect.Effect<CallToolResult, E, R> {
    const watch = () =>
      onStart(() =>
        this.stop((exit) =>
          Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause) ? Effect.succeed(instead()) : undefined
        )
      )
    if (this.eager) {
      this.watch = watch
      return effect
    }
    return Effect.suspend(() => {
      const release = watch()
      return Effect.ensuring(effect, Effect.sync(release))
    })
  }

  private servicesOver<R>({ mapUnsafe: ambient }: Context.Context<never>, shared: boolean): Context.Context<R> {
    const base = this.layer === undefined ? ambient : this.layer(ambient)
    return Context.makeUnsafe<R>(new LazyContext(base, serviceTable, this, (this.services ??= []), shared))
  }

  private close(exit: Exit.Exit<DecodedResult, McpError>): Effect.Effect<DecodedResult, McpError> {
    const { scope } = this
    if (scope === undefined) return this.finish(exit)
    return Effect.matchCauseEffect(Scope.close(scope, exit), {
      onSuccess: () => this.finish(exit),
      onFailure: (cause) => this.finish(Exit.failCause(cause))
    })
  }

  /** Releases everything the request holds. Effect skips the finalizers of a fiber if a handler returns a value that is not an Effect. */
  private abandon(exit: Exit.Exit<unknown, unknown>): void {
    if (this.ended) return
    if (this.scope !== undefined) Effect.runForkWith(this.ambient)(Scope.close(this.scope, exit))
    this.end()
  }

  private finish(exit: Exit.Exit<DecodedResult, McpError>): Effect.Effect<DecodedResult, McpError> {
    this.end()
    return this.next?.(exit) ?? exit
  }

  private end(): void {
    this.ended = true
    this.companion?.interruptUnsafe()
    this.released?.()
  }
}
