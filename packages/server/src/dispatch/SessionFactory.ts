/** Creates a session from a transport: a peer, its record, and everything that lives as long as they do. */
import type { KeepAlive } from "@effect-mcp/core/KeepAlive"
import { Spans } from "@effect-mcp/core/internal/peers"
import * as Peer from "@effect-mcp/core/Peer"
import * as Principal from "@effect-mcp/core/Principal"
import * as TraceContext from "@effect-mcp/core/TraceContext"
import type { Envelope, Traffic, Transport } from "@effect-mcp/core/Transport"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as McpError from "@effect-mcp/protocol/McpError"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { Session } from "../session/Session.ts"
import type { Observer } from "../view/Observer.ts"
import type { SessionObserver } from "../view/SessionObserver.ts"
import { surroundingsOf } from "./observed.ts"
import type { NotificationRouter } from "./NotificationRouter.ts"
import * as StatefulEra from "./StatefulEra.ts"

export interface ConnectOptions {
  readonly principal?: Principal.Principal["Service"] | undefined
  /** The client's network address, which limits for anonymous callers are based on. Unknown by default. */
  readonly address?: string | undefined
  /** Session ID. It must not be guessable if it is sent to the client. Defaults to `session-1` and so on. */
  readonly id?: string | undefined
  /** How long in-flight requests may keep running after the client's side has ended. Default 0. */
  readonly grace?: Duration.Input | undefined
  /**
   * Set for a session whose messages arrive in its client's requests, which call its peer. Its transport is only written to, and its client
   * is not pinged. By default a session has its own connection.
   */
  readonly passive?: Passive | undefined
  /** True if the session ends with the responses to a single POST. Default false. */
  readonly sessionless?: boolean | undefined
  /** Transport kind, for views: `http`, `sse`, `socket`, `stdio`, or a custom name. Unknown by default. */
  readonly kind?: string | undefined
  /** ID of the first request that the session sends. Default 1. */
  readonly firstId?: number | undefined
  /** Saves the session's changes for the other nodes. By default there are no other nodes. */
  readonly keep?: ((session: Session) => Effect.Effect<void, McpError.McpError>) | undefined
  /** Called when a passive session has ended on its own and its scope should be closed. */
  readonly over?: (() => void) | undefined
}

/**
 * Runtime for a session that is not pinged. The scope in which the session is connected is not used for anything else.
 */
export interface Passive {
  /** The context that `runFork` runs in. */
  readonly context: Context.Context<never>
  readonly clock: Clock.Clock
  readonly runFork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>
}

export interface Options {
  /** Called right before its effect runs. `eager` is as in `HandledRequest`. */
  readonly request: (
    session: Session,
    received: Peer.Exchange,
    eager: boolean,
    isTraced: boolean
  ) => Effect.Effect<unknown, McpError.McpError>
  /** Returns true if the request is a ping that the reader answers. */
  readonly pings: (request: JsonRpc.Request) => boolean
  /** Routes notifications, or `undefined` if there is no middleware and no extension. */
  readonly notifications: NotificationRouter
  /** The open sessions. */
  readonly sessions: Set<Session>
  /** Called when a request, question or session starts or ends. */
  readonly changed: () => void
  /** Returns the result for a subscription that the server ends, or `undefined` if there is none. */
  readonly subscriptionResult: (request: JsonRpc.Request) => unknown
  readonly runFork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  /** Generates the ID for a session if `connect` received none. */
  readonly nextId: () => string
  /** The server's observer, or `undefined` if nothing observes the sessions. */
  readonly observer: Observer | undefined
  /** Observes one session's peer. `undefined` if there is no observer. */
  readonly observe: ((sessions: SessionObserver["sessions"]) => Peer.Observer) | undefined
  /** Called when a session has ended. */
  readonly over: (session: Session) => void
  readonly limits: Pick<Peer.Options, "inFlight" | "pending"> | undefined
  readonly keepAlive: KeepAlive | undefined
  readonly drain: Duration.Input | undefined
}

const subscriptions = MethodInfo.requestsWith("subscription")

/** A peer's callbacks for one session. A class, so that idle sessions cost no closures. */
class SessionCallbacks implements Peer.Handlers, Peer.Options {
  private readonly shared: Options
  private readonly options: ConnectOptions
  private readonly scope: Scope.Scope
  /** The scope, if it was created for this session alone. */
  private readonly own: Scope.Closeable | undefined
  readonly masksInterruption = true
  readonly tracing: Context.Context<never> | undefined
  private readonly clock: Clock.Clock
  private readonly traffic: Traffic | undefined
  readonly observer: Peer.Observer | undefined
  private session: Session | undefined = undefined

  constructor(
    shared: Options,
    options: ConnectOptions,
    scope: Scope.Scope,
    own: Scope.Closeable | undefined,
    context: Context.Context<never>,
    traffic: Traffic | undefined
  ) {
    this.shared = shared
    this.options = options
    this.scope = scope
    this.own = own
    this.tracing = TraceContext.isTraced(context) ? context : undefined
    this.clock = options.passive?.clock ?? Context.get(context, Clock.Clock)
    this.traffic = traffic
    this.observer = shared.observe?.(this)
  }

  /** Returns the peer's session, which the first call creates, because the reader may run before `Peer.make` has returned. */
  sessionOf(peer: Peer.Peer): Session {
    return (this.session ??= new Session({
      id: this.options.id ?? this.shared.nextId(),
      peer,
      principal: this.options.principal ?? Principal.anonymous,
      address: this.options.address,
      scope: this.scope,
      runFork: this.shared.runFork,
      hasTransport: this.options.passive === undefined,
      sessionless: this.options.sessionless,
      kind: this.options.kind,
      openedAt: this.clock.currentTimeMillisUnsafe(),
      traffic: this.traffic,
      keep: this.options.keep
    }))
  }

  // ---- incoming messages

  request(received: Peer.Exchange): Effect.Effect<unknown, McpError.McpError> {
    const session = this.sessionOf(received.peer)
    const full = this.shared.observer?.admit?.()
    const isTraced = this.tracing !== undefined
    if (full === undefined) return this.shared.request(session, received, true, isTraced)
    return Effect.andThen(
      Effect.interruptible(full),
      Effect.suspend(() => this.shared.request(session, received, false, isTraced))
    )
  }

  notification(notification: JsonRpc.Notification, envelope: Envelope, peer: Peer.Peer): void {
    const { observer } = this.shared
    const session = this.sessionOf(peer)
    observer?.notification?.(notification, session, envelope)
    if (this.tracing !== undefined) {
      const traced = surroundingsOf(session, notification, envelope)
      this.shared.runFork(Spans.server(Effect.void, notification, traced))
    }
    const pings = this.options.passive === undefined ? this.shared.keepAlive : undefined
    this.shared.notifications.receive(session, notification, envelope, () =>
      StatefulEra.receive(session, notification, pings)
    )
  }

  immediate(asked: JsonRpc.Request): unknown {
    return asked.method === "ping" && this.shared.pings(asked) ? {} : undefined
  }

  cancelled({ id, method }: JsonRpc.Request, reason = "no reason was given"): void {
    const named = `${excerpt(method)} (${excerpt(JSON.stringify(id))})`
    this.shared.runFork(Effect.logDebug(`${named} was cancelled: ${excerpt(reason)}`))
  }

  changed(): void {
    this.shared.changed()
  }

  subscriptionEnded(request: JsonRpc.Request): unknown {
    return this.shared.subscriptionResult(request)
  }

  dropped(reason: string): void {
    this.shared.runFork(Effect.logDebug(`Dropped: ${reason}`))
  }

  surroundings(): Spans.Surroundings {
    return this.session?.surroundings ?? { transport: this.options.kind }
  }

  // ---- options of the peer

  get inFlight(): number | undefined {
    return this.shared.limits?.inFlight
  }

  get pending(): number | undefined {
    return this.shared.limits?.pending
  }

  get firstId(): number | undefined {
    return this.options.firstId
  }

  get grace(): Duration.Input | undefined {
    return this.options.grace
  }

  ended(): void {
    if (this.own === undefined) this.options.over?.()
    else this.shared.runFork(Scope.close(this.own, Exit.void))
  }

  isSubscription({ method }: JsonRpc.Request): boolean {
    return subscriptions.includes(method)
  }

  unreadableId(): null | undefined {
    return (this.session?.negotiated?.revision ?? Revision.latestStateful).rules.unreadableId
  }

  batches(): boolean {
    return this.session?.negotiated?.revision.rules.batches === true
  }
}

/** Serves a connection until it ends or the scope closes. */
export const make = (shared: Options) => {
  const { drain, sessions } = shared
  const add = (session: Session): void => {
    sessions.add(session)
    shared.observer?.opened?.(session)
  }
  const forget = (session: Session): void => {
    if (sessions.delete(session)) shared.observer?.closed?.(session)
    shared.over(session)
    shared.changed()
  }

  /**
   * Returns a passive session's only finalizer. It keeps a reference to the session but not to its transport, because
   * most sessions are idle.
   */
  const finalizer = (opened: Session, peer: Peer.PeerWithoutTransport) => () => {
    const drained = drain === undefined ? Effect.void : opened.drain(drain)
    const closed = Effect.ensuring(
      peer.close(Exit.void),
      Effect.sync(() => forget(opened))
    )
    return Effect.ensuring(drained, Effect.ensuring(opened.endSubscriptions, closed))
  }

  const connectPassive = (transport: Transport, options: ConnectOptions, { clock, context, runFork }: Passive) =>
    Effect.flatMap(Scope.Scope, (scope) => {
      const callbacks = new SessionCallbacks(shared, options, scope, undefined, context, undefined)
      const peer = Peer.makeWithoutTransport(transport.sink, callbacks, callbacks, clock, runFork)
      const opened = callbacks.sessionOf(peer)
      add(opened)
      return Effect.as(Scope.addFinalizerExit(scope, finalizer(opened, peer)), opened)
    })

  const connectTransport = Effect.fnUntraced(function* (
    transport: Transport,
    options: ConnectOptions
  ): Effect.fn.Return<Session, never, Scope.Scope> {
    // Closes with the transport, or with the caller's scope if that is sooner.
    const scope = yield* Scope.fork(yield* Scope.Scope)
    const context = yield* Effect.context<never>()
    const callbacks = new SessionCallbacks(shared, options, scope, scope, context, transport.traffic)
    const opened = callbacks.sessionOf(yield* Peer.make(transport, callbacks, callbacks))
    add(opened)
    yield* Scope.addFinalizer(
      scope,
      Effect.sync(() => forget(opened))
    )
    yield* Effect.addFinalizer(() => opened.endSubscriptions)
    if (drain !== undefined) yield* Effect.addFinalizer(() => opened.drain(drain))
    return opened
  })

  return (transport: Transport, options: ConnectOptions = {}): Effect.Effect<Session, never, Scope.Scope> =>
    options.passive === undefined
      ? connectTransport(transport, options)
      : connectPassive(transport, options, options.passive)
}
