/**
 * What a server remembers of one stateful conversation: a small record beside its peer.
 */
import type { InFlight, Peer } from "@effect-mcp/core/Peer"
import type { Principal } from "@effect-mcp/core/Principal"
import type { Connection } from "@effect-mcp/core/RequestContext"
import type { ClientCapabilities } from "@effect-mcp/protocol/Capabilities"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
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
import { Announcer, type ListKind, type Options as Announcing } from "./ChangeNotifier.ts"
import type { Buckets } from "../internal/TokenBucket.ts"

export interface Negotiated {
  readonly revision: Revision
  /** Undefined where the request came without a session: then `initialize` was answered elsewhere. */
  readonly clientInfo: Implementation | undefined
  readonly clientCapabilities: ClientCapabilities
}

export interface Options {
  readonly id: string
  readonly peer: Peer
  readonly principal: Principal["Service"]
  readonly scope: Scope.Scope
  /** Runs an effect in a fiber, which the session then owns. */
  readonly runFork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  /** Whether it has a wire of its own: of one that has none only `ready` says whether anybody reads what nobody asked for. */
  readonly wired: boolean
  /** Whether it is there for the requests of one POST, and ends with their answers. Default false. */
  readonly sessionless?: boolean | undefined
}

export class Session implements Announcing {
  readonly id: string
  readonly peer: Peer
  readonly principal: Principal["Service"]
  readonly scope: Scope.Scope
  /** Whether it ends with the answers of one POST: nothing is sent outside of them, and no question can be answered. */
  readonly sessionless: boolean
  /** Bytes that are kept for it; see `Limits`. */
  kept = 0
  /** The budgets of its requests; see `RateLimit`. */
  buckets: Buckets | undefined = undefined
  /** Whether `initialize` is being answered. */
  opening = false
  /** Set by `initialize`, once. */
  negotiated: Negotiated | undefined = undefined
  /** Whether the client said `initialized`: before that a server only pings and logs. */
  initialized = false
  /** What the client asked for; without it the server's default applies. */
  logLevel: LoggingLevel | undefined = undefined
  private subscribed: Map<string, Fiber.Fiber<void>> | undefined = undefined
  private hints: Announcer | undefined = undefined
  private ending: Deferred.Deferred<void> | undefined = undefined
  /** Once the session is about to end: the requests that had come by then and wait for their turn. */
  private awaited: Set<JsonRpc.Id> | undefined = undefined
  private readonly runFork: Options["runFork"]
  private readonly wired: boolean
  private opened: Deferred.Deferred<void> | undefined = undefined
  private wire: Connection | undefined = undefined
  /** The same once there is a session on it. */
  conversation: Connection | undefined = undefined
  private rootsListeners: Set<() => void> | undefined = undefined

  constructor(options: Options) {
    const { id, peer, principal, scope, runFork, sessionless = false, wired } = options
    this.id = id
    this.peer = peer
    this.principal = principal
    this.scope = scope
    this.runFork = runFork
    this.wired = wired
    this.sessionless = sessionless
  }

  /** Runs an effect in a fiber of the session. */
  fork(effect: Effect.Effect<void>): void {
    Fiber.runIn(this.runFork(effect), this.scope)
  }

  /** The wire, as requests see it that have no session. */
  get connection(): Connection {
    return (this.wire ??= {
      scope: this.scope,
      notify: (method, params) => this.notify(method, params),
      ready: this.peer.sink.ready,
      input: undefined,
      rootsChanges: undefined
    })
  }

  /** Tells the client what became stale, once it may be told things. */
  get announcer(): Announcer {
    if (this.hints !== undefined) return this.hints
    this.hints = new Announcer(this)
    if (this.initialized) this.hints.open()
    return this.hints
  }

  /** Takes the revision as agreed on, of a client that has not introduced itself here. */
  assume(revision: Revision): void {
    this.negotiated = { revision, clientInfo: undefined, clientCapabilities: {} }
    this.begin()
  }

  // ---- how the announcer is to send them

  writable(): boolean {
    return this.wired && this.peer.sink.writable()
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

  /** Completes when the server is about to end the session by itself. */
  get closing(): Effect.Effect<void> {
    return Deferred.await((this.ending ??= Deferred.makeUnsafe()))
  }

  /** Waits until the client said `initialized`: a server must not ask before. */
  get whenReady(): Effect.Effect<void> {
    return this.initialized ? Effect.void : Deferred.await((this.opened ??= Deferred.makeUnsafe()))
  }

  /** What the client subscribed to, by URI. */
  get subscriptions(): Map<string, Fiber.Fiber<void>> {
    return (this.subscribed ??= new Map())
  }

  notify(method: string, params?: JsonRpc.Params): void {
    this.peer.notify(method, params)
  }

  /** The client may be told things from now on; what became stale in the meantime is announced. */
  begin(): void {
    this.initialized = true
    if (this.opened !== undefined) Deferred.doneUnsafe(this.opened, Effect.void)
    this.hints?.open()
  }

  /** Refuses new requests and lets those in flight finish, and those that wait for their turn, for at most `duration`. */
  drain(duration: Duration.Input): Effect.Effect<void> {
    return Effect.flatMap(this.peer.inFlight, (requests) => {
      this.awaited ??= new Set(requests.flatMap(({ id, state }) => (state === "pending" ? [id] : [])))
      return Effect.asVoid(Effect.timeoutOption(this.peer.idle, duration))
    })
  }

  /** Whether a request whose turn has come is too late. Asked once for each. */
  refuses(id: JsonRpc.Id): boolean {
    return this.awaited?.delete(id) === false
  }

  private get listening(): Effect.Effect<ReadonlyArray<InFlight>> {
    return Effect.map(this.peer.inFlight, (requests) =>
      requests.filter(({ method }) => method === "subscriptions/listen")
    )
  }

  /** Lets subscriptions end with their result, as long as there is a wire to say it on. */
  get endSubscriptions(): Effect.Effect<void> {
    return Effect.flatMap(this.listening, (ending) => {
      Deferred.doneUnsafe((this.ending ??= Deferred.makeUnsafe()), Effect.void)
      const gone = Effect.map(Effect.andThen(Effect.yieldNow, this.listening), (some) => some.length === 0)
      return Effect.andThen(
        Effect.repeat(gone, { until: (none) => none, times: 100 }),
        Effect.sync(() => {
          // The answer comes first; this is for clients that only look for the notification (spec: basic/patterns/cancellation).
          for (const { id } of ending) {
            this.notify("notifications/cancelled", { requestId: id, _meta: { [subscriptionId]: id } })
          }
        })
      )
    })
  }

  rootsChanged(): void {
    for (const listener of this.rootsListeners ?? []) listener()
  }

  /** One event whenever the client says that its roots changed; ends with the session. */
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
