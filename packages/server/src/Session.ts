/**
 * What a server remembers of one stateful conversation: a small record beside its peer.
 *
 * Owns the announcements: hints (`list_changed`, `updated`) are a set of what is stale, sent when the wire has room, so a burst costs
 * one message and a slow reader costs nothing.
 */
import type { Peer } from "@effect-mcp/core/Peer"
import type { Principal } from "@effect-mcp/core/Principal"
import type { ClientCapabilities } from "@effect-mcp/protocol/Capabilities"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import type { LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as Fiber from "effect/Fiber"

/** Lists whose change is announced. */
export type ListKind = "tools" | "resources" | "prompts"

export interface Negotiated {
  readonly revision: Revision
  readonly clientInfo: Implementation
  readonly clientCapabilities: ClientCapabilities
}

export class Session {
  readonly id: string
  readonly peer: Peer
  readonly principal: Principal["Service"]
  readonly scope: Scope.Scope
  /** Set by `initialize`, once. */
  negotiated: Negotiated | undefined = undefined
  /** Whether the client said `initialized`: before that a server only pings and logs. */
  initialized = false
  /** What the client asked for; without it the server's default applies. */
  logLevel: LoggingLevel | undefined = undefined
  readonly subscriptions = new Map<string, Fiber.Fiber<void>>()

  private readonly stale = new Set<ListKind>()
  private readonly updated = new Set<string>()
  private readonly rootsListeners = new Set<() => void>()
  private announcing = false
  private readonly runFork: (effect: Effect.Effect<void>) => void

  constructor(options: {
    readonly id: string
    readonly peer: Peer
    readonly principal: Principal["Service"]
    readonly scope: Scope.Scope
    /** Runs an effect in a fiber of the session. */
    readonly runFork: (effect: Effect.Effect<void>) => void
  }) {
    this.id = options.id
    this.peer = options.peer
    this.principal = options.principal
    this.scope = options.scope
    this.runFork = options.runFork
  }

  notify(method: string, params?: JsonRpc.Params, relatedTo?: JsonRpc.Id): void {
    this.peer.notify(method, params, relatedTo)
  }

  /** The client may talk freely from now on; what became stale in the meantime is announced. */
  ready(): void {
    this.initialized = true
    this.announce()
  }

  listChanged(kind: ListKind): void {
    this.stale.add(kind)
    this.announce()
  }

  resourceUpdated(uri: string): void {
    this.updated.add(uri)
    this.announce()
  }

  private announce(): void {
    if (this.announcing || !this.initialized || (this.stale.size === 0 && this.updated.size === 0)) return
    this.announcing = true
    this.runFork(this.flush)
  }

  /** The yield lets one turn's changes become one message; `ready` makes a slow reader cost nothing. */
  private readonly flush: Effect.Effect<void> = Effect.suspend(() =>
    Effect.andThen(
      Effect.andThen(Effect.yieldNow, this.peer.sink.ready),
      Effect.sync(() => this.send())
    )
  )

  private send(): void {
    for (const kind of this.stale) this.notify(`notifications/${kind}/list_changed`)
    for (const uri of this.updated) {
      if (this.subscriptions.has(uri)) this.notify("notifications/resources/updated", { uri })
    }
    this.stale.clear()
    this.updated.clear()
    this.announcing = false
  }

  rootsChanged(): void {
    for (const listener of this.rootsListeners) listener()
  }

  /** One event whenever the client says that its roots changed. */
  readonly rootsChanges: Stream.Stream<void> = Stream.callback<void>((queue) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        const listener = () => void Queue.offerUnsafe(queue, undefined)
        this.rootsListeners.add(listener)
        return listener
      }),
      (listener) => Effect.sync(() => this.rootsListeners.delete(listener))
    )
  )
}
