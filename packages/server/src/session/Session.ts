/**
 * The server's record of one session, beside its peer: what `initialize` agreed on, log level, subscriptions, roots.
 */
import type { Surroundings } from "@effect-mcp/core/internal/Spans"
import type { Peer } from "@effect-mcp/core/Peer"
import type { Principal } from "@effect-mcp/core/Principal"
import type { Traffic } from "@effect-mcp/core/Transport"
import type { RequestConnection } from "@effect-mcp/core/RequestContext"
import type { ClientCapabilities } from "@effect-mcp/protocol/Capabilities"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { invalidRequest, type McpError } from "@effect-mcp/protocol/McpError"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import type { LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import { subscriptionId } from "@effect-mcp/protocol/model/Meta"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { ChangeNotifier, type ListKind, type Subscriber } from "./ChangeNotifier.ts"
import type { Mailbox, Mailboxes } from "../internal/Mailbox.ts"
import type { Buckets, LogBudget } from "../internal/TokenBucket.ts"

/** How long subscriptions may take to send their results when a session ends. */
const lastResults: Duration.Input = "1 second"

export interface NegotiatedSession {
  readonly revision: Revision
  /** Undefined for a request without a session: another one answered its `initialize`. */
  readonly clientInfo: Implementation | undefined
  readonly clientCapabilities: ClientCapabilities
}

/** What is known of a client whose `initialize` another session answered. */
export const assumed = (revision: Revision): NegotiatedSession => ({
  revision,
  clientInfo: undefined,
  clientCapabilities: {}
})

export interface Options {
  readonly id: string
  readonly peer: Peer
  readonly principal: Principal["Service"]
  readonly address: string | undefined
  readonly scope: Scope.Scope
  /** Runs an effect in a fiber, which the session then owns. */
  readonly runFork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  /** Whether the session has a transport of its own: for others only `ready` says whether notifications are read. */
  readonly hasTransport: boolean
  /** Whether the session ends with the answers of one POST. Default false. */
  readonly sessionless?: boolean | undefined
  /** The kind of its transport. */
  readonly kind: string | undefined
  /** Milliseconds since the epoch. */
  readonly openedAt: number
  /** What its transport has carried, where the transport knows. */
  readonly traffic: Traffic | undefined
  /** Keeps what changed for the other nodes. Default: there are none. */
  readonly keep?: ((session: Session) => Effect.Effect<void, McpError>) | undefined
}

/** The subscription of a session to a resource. */
export interface ResourceSubscription {
  readonly fiber: Fiber.Fiber<void>
  /** Milliseconds since the epoch. */
  readonly since: number
}

export class Session implements Mailboxes, Subscriber {
  readonly id: string
  readonly peer: Peer
  readonly principal: Principal["Service"]
  /** The network address of the client that opened it, or `undefined` if it is not known. */
  readonly address: string | undefined
  readonly scope: Scope.Scope
  /** Whether the session ends with the answers of one POST: it sends no notifications beside them, and asks nothing. */
  readonly sessionless: boolean
  /** The kind of its transport (`http`, `sse`, `socket`, `stdio`); undefined where `connect` was given none. */
  readonly kind: string | undefined
  /** When it was opened, in milliseconds since the epoch. */
  readonly openedAt: number
  /** What its transport has carried; undefined over HTTP, and where the transport does not know. */
  readonly traffic: Traffic | undefined
  /** Bytes that are kept for the session; see `Limits`. */
  kept = 0
  /** The budgets of its requests where the caller has no name; see `RateLimit`. */
  buckets: Buckets | undefined = undefined
  /** The budget of its log messages; see `Logging`. */
  logBudget: LogBudget | undefined = undefined
  hookMailbox: Mailbox | undefined = undefined
  extensionMailbox: Mailbox | undefined = undefined
  /** Whether `initialize` is being answered. */
  opening = false
  /** Set by `initialize`, once. */
  negotiated: NegotiatedSession | undefined = undefined
  /** Whether the client sent `notifications/initialized`: before it a server only pings and logs. */
  initialized = false
  /** The level of `logging/setLevel`; undefined for the server's default. */
  logLevel: LoggingLevel | undefined = undefined
  private subscribed: Map<string, ResourceSubscription> | undefined = undefined
  private changes: ChangeNotifier | undefined = undefined
  private ending: Deferred.Deferred<void> | undefined = undefined
  /** Set by `drain`: the pending requests that may still start. */
  private awaited: Set<JsonRpc.Id> | undefined = undefined
  private readonly runFork: Options["runFork"]
  /** Whether the session has a transport of its own: stdio, a socket, memory. */
  readonly duplex: boolean
  private opened: Deferred.Deferred<void> | undefined = undefined
  private wire: RequestConnection | undefined = undefined
  /** The connection with the input and roots of the initialized session. */
  initializedConnection: RequestConnection | undefined = undefined
  private readonly keep: Options["keep"]
  private rootsListeners: Set<() => void> | undefined = undefined

  constructor(options: Options) {
    const { id, peer, principal, scope, runFork, sessionless = false, hasTransport, kind, openedAt, traffic } = options
    this.id = id
    this.peer = peer
    this.principal = principal
    this.address = options.address
    this.scope = scope
    this.runFork = runFork
    this.duplex = hasTransport
    this.sessionless = sessionless
    this.kind = kind
    this.openedAt = openedAt
    this.traffic = traffic
    this.keep = options.keep
  }

  /** Describes the session to the spans of its messages. */
  get surroundings(): Surroundings {
    return {
      session: this.sessionless ? undefined : this.id,
      isSecret: !this.duplex,
      revision: this.negotiated?.revision.version,
      transport: this.kind
    }
  }

  /** Runs a change of what other nodes need to open the session again; then that is kept. */
  change<A, E, R>(change: Effect.Effect<A, E, R>): Effect.Effect<A, E | McpError, R> {
    const { keep } = this
    return keep === undefined ? change : Effect.tap(change, () => keep(this))
  }

  /**
   * Sets the least level of log messages that its client is sent, in place of `logging/setLevel`. Fails before `initialize`, and where the
   * other nodes cannot be told.
   */
  setLogLevel(level: LoggingLevel): Effect.Effect<void, McpError> {
    if (this.negotiated === undefined) return Effect.fail(invalidRequest("The client has sent no initialize yet"))
    return this.change(Effect.sync(() => void (this.logLevel = level)))
  }

  /** Bytes that wait to be written to its client, for views; undefined where its transport does not know. */
  get backlog(): number | undefined {
    return this.peer.sink.backlog?.()
  }

  /** Bytes that were sent to its client and that the event store has not kept yet, for views; undefined where there is no store. */
  get unkept(): number | undefined {
    return this.peer.sink.unkept?.()
  }

  /** Runs an effect in a fiber of the session. */
  fork(effect: Effect.Effect<void>): void {
    Fiber.runIn(this.runFork(effect), this.scope)
  }

  /** The connection as requests without a session see it. */
  get connection(): RequestConnection {
    return (this.wire ??= {
      scope: this.scope,
      notify: (method, params) => this.notify(method, params),
      // A client need not open the stream of its session: no request waits for that.
      ready: this.peer.sink.room ?? this.peer.sink.ready,
      isRead: () => this.peer.sink.isRead?.() !== false,
      left: this.peer.sink.left ?? Effect.never,
      read: this.peer.sink.ready,
      input: undefined,
      rootsChanges: undefined
    })
  }

  /** Sends list changes and resource updates, from `begin` on. */
  get notifier(): ChangeNotifier {
    if (this.changes !== undefined) return this.changes
    this.changes = new ChangeNotifier(this)
    if (this.initialized) this.changes.open()
    return this.changes
  }

  /** Initializes the session of a client whose `initialize` another session answered. */
  assume(revision: Revision): void {
    this.negotiated = assumed(revision)
    this.begin()
  }

  // ---- Subscriber: how the notifier sends

  writable(): boolean {
    return this.duplex && this.peer.sink.writable()
  }

  get ready(): Effect.Effect<void> {
    return this.peer.sink.ready
  }

  sendList(kind: ListKind): void {
    this.notify(`notifications/${kind}/list_changed`)
  }

  sendUpdate(uri: string): void {
    if (this.subscribed?.has(uri) === true) this.notify("notifications/resources/updated", { uri })
  }

  /** Completes when the server is about to end the session. */
  get closing(): Effect.Effect<void> {
    return Deferred.await((this.ending ??= Deferred.makeUnsafe()))
  }

  /** Completes when the client has sent `notifications/initialized`: a server must not ask before. */
  get whenReady(): Effect.Effect<void> {
    return this.initialized ? Effect.void : Deferred.await((this.opened ??= Deferred.makeUnsafe()))
  }

  /** The resource subscriptions, by URI. */
  get subscriptions(): Map<string, ResourceSubscription> {
    return (this.subscribed ??= new Map())
  }

  /** Whether there is a resource subscription: asking costs nothing. */
  get hasSubscriptions(): boolean {
    return (this.subscribed?.size ?? 0) > 0
  }

  notify(method: string, params?: JsonRpc.Params): void {
    this.peer.notify(method, params)
  }

  /** Called when the client is initialized: collected changes are sent. */
  begin(): void {
    this.initialized = true
    if (this.opened !== undefined) Deferred.doneUnsafe(this.opened, Effect.void)
    this.changes?.open()
  }

  /** Refuses new requests and waits for those in flight and pending, for at most `duration`; also in a fiber that is interrupted. */
  drain(duration: Duration.Input): Effect.Effect<void> {
    return Effect.flatMap(this.peer.inFlight, (requests) => {
      this.awaited ??= new Set(requests.flatMap(({ id, state }) => (state === "pending" ? [id] : [])))
      return Effect.asVoid(Effect.timeoutOption(Effect.interruptible(this.peer.idle), duration))
    })
  }

  /** Whether a request arrived after `drain` began. Called once per request. */
  refuses(id: JsonRpc.Id): boolean {
    return this.awaited?.delete(id) === false
  }

  /** Ends the open `subscriptions/listen` requests with their result while the transport is open. */
  get endSubscriptions(): Effect.Effect<void> {
    return Effect.flatMap(this.peer.inFlight, (requests) => {
      Deferred.doneUnsafe((this.ending ??= Deferred.makeUnsafe()), Effect.void)
      const ending = requests.filter(({ method }) => method === "subscriptions/listen")
      if (ending.length === 0) return Effect.void
      // Bounded, since middleware and finalizers of watchers run before the result.
      const ended = Effect.timeoutOption(Effect.interruptible(this.peer.subscriptionsEnded), lastResults)
      return Effect.map(ended, () => {
        // The result comes first; the notification is for clients that look for it alone (spec: basic/patterns/cancellation).
        for (const { id } of ending) {
          this.notify("notifications/cancelled", { requestId: id, _meta: { [subscriptionId]: id } })
        }
      })
    })
  }

  /** Ends a session that has a transport of its own; others are ended by their endpoints. */
  get end(): Effect.Effect<void> {
    if (!this.duplex) return Effect.void
    const over = Effect.suspend(() => {
      this.peer.end()
      return Effect.exit(this.peer.awaitClosed)
    })
    return Effect.asVoid(Effect.andThen(this.endSubscriptions, over))
  }

  rootsChanged(): void {
    for (const listener of this.rootsListeners ?? []) listener()
  }

  /** One event per `notifications/roots/list_changed`; ends with the session. */
  get rootsChanges(): Stream.Stream<void> {
    return Stream.callback<void>((queue) =>
      Effect.acquireRelease(
        Effect.flatMap(Scope.fork(this.scope), (scope) => {
          const listeners = (this.rootsListeners ??= new Set())
          const listener = () => void Queue.offerUnsafe(queue, undefined)
          listeners.add(listener)
          const stop = Effect.andThen(
            Effect.sync(() => listeners.delete(listener)),
            Queue.end(queue)
          )
          return Effect.as(Scope.addFinalizer(scope, stop), scope)
        }),
        (scope, exit) => Scope.close(scope, exit)
      )
    )
  }
}
