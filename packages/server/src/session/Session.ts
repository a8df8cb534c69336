/** The server's record of a session, alongside its peer: the outcome of `initialize`, log level, subscriptions and roots. */
import type { Surroundings } from "@effect-mcp/core/internal/peers"
import type { Peer } from "@effect-mcp/core/Peer"
import type { Principal } from "@effect-mcp/core/Principal"
import type { Traffic } from "@effect-mcp/core/Transport"
import type { RequestConnection } from "@effect-mcp/core/RequestContext"
import type { ClientCapabilities } from "@effect-mcp/protocol/Capabilities"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { invalidRequest, type McpError } from "@effect-mcp/protocol/McpError"
import type { ListKind } from "@effect-mcp/protocol/MethodInfo"
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
import { ChangeNotifier, type Subscriber } from "./ChangeNotifier.ts"
import type { Mailbox, Mailboxes } from "../internal/Mailbox.ts"
import type { Buckets, LogBudget } from "../internal/TokenBucket.ts"

/** How long subscriptions may take to send their results when a session ends. */
const lastResults: Duration.Input = "1 second"

export interface NegotiatedSession {
  readonly revision: Revision
  /** Client info, or `undefined` for a request without a session, because another session answered its `initialize`. */
  readonly clientInfo: Implementation | undefined
  readonly clientCapabilities: ClientCapabilities
}

/** Returns the assumptions about a client whose `initialize` was answered by another session. */
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
  /** Runs an effect in a fiber that the session then owns. */
  readonly runFork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  /** True if the session has its own transport. For other sessions, only `ready` can tell whether notifications are being read. */
  readonly hasTransport: boolean
  /** True if the session ends with the responses to a single POST. Default false. */
  readonly sessionless?: boolean | undefined
  /** Transport kind. */
  readonly kind: string | undefined
  /** Milliseconds since the epoch. */
  readonly openedAt: number
  /** The transport's traffic, if the transport counts it. */
  readonly traffic: Traffic | undefined
  /** Saves the session's changes for the other nodes. By default there are no other nodes. */
  readonly keep?: ((session: Session) => Effect.Effect<void, McpError>) | undefined
}

/** A session's subscription to a resource. */
export interface ResourceSubscription {
  readonly fiber: Fiber.Fiber<void>
  /** Milliseconds since the epoch. */
  readonly since: number
}

export class Session implements Mailboxes, Subscriber {
  readonly id: string
  readonly peer: Peer
  readonly principal: Principal["Service"]
  /** Network address of the client that opened it, or `undefined` if unknown. */
  readonly address: string | undefined
  readonly scope: Scope.Scope
  /** True if the session ends with the responses to a single POST. It sends no other notifications, and asks nothing. */
  readonly sessionless: boolean
  /** Transport kind (`http`, `sse`, `socket`, `stdio`), or `undefined` if `connect` received none. */
  readonly kind: string | undefined
  /** When it was opened, in milliseconds since the epoch. */
  readonly openedAt: number
  /** The transport's traffic, or `undefined` over HTTP or if the transport doesn't count it. */
  readonly traffic: Traffic | undefined
  /** Bytes held for the session; see `Limits`. */
  kept = 0
  /** Rate limits for its requests, if the caller has no principal; see `RateLimit`. */
  buckets: Buckets | undefined = undefined
  /** Budget for its log messages; see `Logging`. */
  logBudget: LogBudget | undefined = undefined
  hookMailbox: Mailbox | undefined = undefined
  extensionMailbox: Mailbox | undefined = undefined
  /** True while `initialize` is being answered. */
  opening = false
  /** Set by `initialize`, once. */
  negotiated: NegotiatedSession | undefined = undefined
  /** True if the client has sent `notifications/initialized`. Until then, a server only pings and logs. */
  initialized = false
  /** Level set by `logging/setLevel`, or `undefined` for the server's default. */
  logLevel: LoggingLevel | undefined = undefined
  private subscribed: Map<string, ResourceSubscription> | undefined = undefined
  private changes: ChangeNotifier | undefined = undefined
  private ending: Deferred.Deferred<void> | undefined = undefined
  /** Set by `drain`: the pending requests that may still start. */
  private awaited: Set<JsonRpc.Id> | undefined = undefined
  private readonly runFork: Options["runFork"]
  /** True if the session has its own transport: stdio, a socket, or memory. */
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

  /** Describes the session in its messages' spans. */
  get surroundings(): Surroundings {
    return {
      session: this.sessionless ? undefined : this.id,
      isSecret: !this.duplex,
      revision: this.negotiated?.revision.version,
      transport: this.kind
    }
  }

  /** Runs a change to the data that other nodes need to reopen the session, then saves it. */
  change<A, E, R>(change: Effect.Effect<A, E, R>): Effect.Effect<A, E | McpError, R> {
    const { keep } = this
    return keep === undefined ? change : Effect.tap(change, () => keep(this))
  }

  /**
   * Sets the lowest level of log messages that the client receives, like `logging/setLevel`. Fails before `initialize`, or if the other
   * nodes can't be informed.
   */
  setLogLevel(level: LoggingLevel): Effect.Effect<void, McpError> {
    if (this.negotiated === undefined) return Effect.fail(invalidRequest("The client has not sent initialize yet"))
    return this.change(Effect.sync(() => void (this.logLevel = level)))
  }

  /** Number of bytes waiting to be written to the client, for views, or `undefined` if the transport doesn't count them. */
  get backlog(): number | undefined {
    return this.peer.sink.backlog?.()
  }

  /** Bytes sent to the client that the event store has not stored yet, for views, or `undefined` if there is no store. */
  get unkept(): number | undefined {
    return this.peer.sink.unkept?.()
  }

  /** Runs an effect in one of the session's fibers. */
  fork(effect: Effect.Effect<void>): void {
    Fiber.runIn(this.runFork(effect), this.scope)
  }

  /** The connection as requests without a session see it. */
  get connection(): RequestConnection {
    return (this.wire ??= {
      scope: this.scope,
      notify: (method, params) => this.notify(method, params),
      // A client does not have to open the stream of its session, so no request waits for it.
      ready: this.peer.sink.room ?? this.peer.sink.ready,
      isRead: () => this.peer.sink.isRead?.() !== false,
      left: this.peer.sink.left ?? Effect.never,
      read: this.peer.sink.ready,
      input: undefined,
      rootsChanges: undefined
    })
  }

  /** Sends list changes and resource updates, starting with `begin`. */
  get notifier(): ChangeNotifier {
    if (this.changes !== undefined) return this.changes
    this.changes = new ChangeNotifier(this)
    if (this.initialized) this.changes.open()
    return this.changes
  }

  /** Initializes the session for a client whose `initialize` was answered by another session. */
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

  /** Completes when the client has sent `notifications/initialized`, because a server must not ask before that. */
  get whenReady(): Effect.Effect<void> {
    return this.initialized ? Effect.void : Deferred.await((this.opened ??= Deferred.makeUnsafe()))
  }

  /** Resource subscriptions by URI. */
  get subscriptions(): Map<string, ResourceSubscription> {
    return (this.subscribed ??= new Map())
  }

  /** True if there is a resource subscription. Reading this allocates nothing. */
  get hasSubscriptions(): boolean {
    return (this.subscribed?.size ?? 0) > 0
  }

  notify(method: string, params?: JsonRpc.Params): void {
    this.peer.notify(method, params)
  }

  /** Called when the client is initialized. Sends the collected changes. */
  begin(): void {
    this.initialized = true
    if (this.opened !== undefined) Deferred.doneUnsafe(this.opened, Effect.void)
    this.changes?.open()
  }

  /** Rejects new requests and waits for running and pending ones, for up to `duration`, even in an interrupted fiber. */
  drain(duration: Duration.Input): Effect.Effect<void> {
    return Effect.flatMap(this.peer.inFlight, (requests) => {
      this.awaited ??= new Set(requests.flatMap(({ id, state }) => (state === "pending" ? [id] : [])))
      return Effect.asVoid(Effect.timeoutOption(Effect.interruptible(this.peer.idle), duration))
    })
  }

  /** True if a request arrived after `drain` began. Called once per request. */
  refuses(id: JsonRpc.Id): boolean {
    return this.awaited?.delete(id) === false
  }

  /** Ends the open `subscriptions/listen` requests with their result while the transport is still open. */
  get endSubscriptions(): Effect.Effect<void> {
    return Effect.flatMap(this.peer.inFlight, (requests) => {
      Deferred.doneUnsafe((this.ending ??= Deferred.makeUnsafe()), Effect.void)
      const ending = requests.filter(({ method }) => method === "subscriptions/listen")
      if (ending.length === 0) return Effect.void
      // Limited in time, because middleware and finalizers of watchers run before the result.
      const ended = Effect.timeoutOption(Effect.interruptible(this.peer.subscriptionsEnded), lastResults)
      return Effect.map(ended, () => {
        // The result comes first. The notification is for clients that look only for it (spec: basic/patterns/cancellation).
        for (const { id } of ending) {
          this.notify("notifications/cancelled", { requestId: id, _meta: { [subscriptionId]: id } })
        }
      })
    })
  }

  /** Ends a session that has its own transport. Endpoints end the others. */
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

  /** Emits for each `notifications/roots/list_changed`, and ends with the session. */
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
