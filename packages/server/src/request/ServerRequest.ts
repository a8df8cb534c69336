/**
 * A request being handled by the server: its message, its caller, its handler's services, and the fiber that runs it.
 *
 * The fiber is only interruptible in the handler and its middleware, so it can still answer a request whose handler was stopped.
 */
import { exitOf } from "@effect-mcp/core/internal/calling"
import { type HandledRequest, type HandlerContext, LazyContext } from "@effect-mcp/core/internal/handlers"
import * as CancelReason from "@effect-mcp/core/CancelReason"
import type { ReceivedRequest } from "@effect-mcp/core/Peer"
import { Principal } from "@effect-mcp/core/Principal"
import type { RequestServices as Services } from "@effect-mcp/core/RequestContext"
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
 * A request being handled by the server. Its services may still be in use after it ends, by finalizers of a cancelled request or by fibers
 * that outlive it. Progress from a request that has ended is dropped. For stateless requests, logs are dropped too, because they belong to
 * that request alone.
 */
export class ServerRequest implements HandledRequest, Source, Wired {
  readonly received: ReceivedRequest
  /** The caller as identified by the transport. Middleware may provide a different one (`withCaller`). */
  readonly principal: Principal["Service"]
  /** The session, or `undefined` in revisions without sessions. */
  readonly session: Session | undefined
  eager: boolean
  /** Set if the request may be resumed (2026-07-28). */
  callerBinding: CallerBinding | undefined = undefined
  private readonly makeContext: () => EraContext
  private madeContext: EraContext | undefined = undefined
  private services: Array<unknown> | undefined = undefined
  private scope: Scope.Closeable | undefined = undefined
  private ended = false
  private fiber: Fiber.Fiber<unknown, unknown> | undefined = undefined
  /** The context that the request was started in, without the request's services. */
  private ambient: Context.Context<never> = Context.empty()
  /** The services of the running handler's layer, below the request's services. */
  private layer: ((ambient: ReadonlyMap<string, unknown>) => ReadonlyMap<string, unknown>) | undefined = undefined
  /** Starts watching a handler that may be stopped. */
  private watch: (() => () => void) | undefined = undefined
  private released: (() => void) | undefined = undefined
  private companion: Fiber.Fiber<void> | undefined = undefined
  private next:
    | ((exit: Exit.Exit<unknown, unknown>) => Effect.Effect<DecodedResult, McpError> | undefined)
    | undefined = undefined

  /** `eager` is as in `HandledRequest`. */
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

  /** The era's context for the request, created on first use. */
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

  /** True if the request has been answered or cancelled. */
  get over(): boolean {
    return this.ended || this.received.cancelled === true
  }

  /** Returns the request's Scope, which is closed if the request has ended. */
  openScope(): Scope.Scope {
    const scope = (this.scope ??= Scope.makeUnsafe())
    if (this.ended) Effect.runSync(Scope.close(scope, Exit.void))
    return scope
  }

  /** Calls `use` with the caller: the transport's if there is no middleware, otherwise the caller in the handler's context. */
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
    // Runs the request in its handler's context from the start, because Effect derives ten values from each context it enters.
    this.layer = context.over
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- everything that `context` provides is in the context of the fiber
    return handler as Effect.Effect<A, E, never>
  }

  /** Runs `effect` with the request's services in a new Scope. The request ends when the effect does. */
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
      // Restored by `close`. Each traced request has a separate context that contains its span.
      fiber.setContext(this.servicesOver(fiber.context, !TraceContext.isTraced(fiber.context)))
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the fiber has the services of the request now
      const provided = effect as Effect.Effect<DecodedResult, McpError>
      return Effect.matchCauseEffect(Effect.interruptible(provided), {
        onSuccess: (result) => this.close(Exit.succeed(result)),
        onFailure: (cause) => this.close(Exit.failCause(cause))
      })
    })
  }

  /** Interrupts the effect that `provide` is running. Once finalizers have run, its exit decides how the request continues. */
  stop(next: NonNullable<ServerRequest["next"]>, annotations?: Context.Context<never>): void {
    if (this.next !== undefined || this.ended) return
    this.next = next
    this.fiber?.interruptUnsafe(undefined, annotations)
  }

  /** Runs `effect` in another fiber that ends with the request, and calls `then` if it succeeds. */
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
        this.stop(
          (exit) =>
            Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause) ? Effect.succeed(instead()) : undefined,
          CancelReason.timeLimit
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

  private servicesOver({ mapUnsafe: ambient }: Context.Context<never>, shared: boolean): Context.Context<never> {
    const base = this.layer === undefined ? ambient : this.layer(ambient)
    return Context.makeUnsafe(new LazyContext(base, serviceTable, this, (this.services ??= []), shared))
  }

  private close(exit: Exit.Exit<DecodedResult, McpError>): Effect.Effect<DecodedResult, McpError> {
    const { ambient, fiber, scope } = this
    fiber?.setContext(ambient)
    if (scope === undefined) return this.finish(exit)
    return Effect.matchCauseEffect(Scope.close(scope, exit), {
      onSuccess: () => this.finish(exit),
      onFailure: (cause) => this.finish(Exit.failCause(cause))
    })
  }

  /**
   * Releases everything that the request holds. Effect skips a fiber's finalizers if a handler returns a value that is
   * not an Effect.
   */
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
