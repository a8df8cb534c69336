/**
 * Records which node holds a Streamable HTTP session, for servers with several nodes.
 *
 * A session is held by one node, under a lease. Another node forwards requests to that node. Once the lease has ended, it takes the session
 * over and reopens it from its record.
 */
import type { ClientCapabilities } from "@effect-mcp/protocol/Capabilities"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import type { LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** The data that another node needs to reopen a session, as plain JSON. */
export interface SessionRecord {
  /** Name of its server. Servers with a different name can't find it. */
  readonly server: string
  /** Key of the principal that opened it. Empty if anonymous. */
  readonly owner: string
  /** The negotiated revision. */
  readonly version: string
  readonly clientInfo: Implementation | undefined
  readonly clientCapabilities: ClientCapabilities
  /** Log level set by `logging/setLevel`, or `undefined` for the server's default. */
  readonly logLevel: LoggingLevel | undefined
  /** URIs of its resource subscriptions. */
  readonly subscriptions: ReadonlyArray<string>
}

/** The request that is looking for a session. */
export interface Seeker {
  /** Name of the server. */
  readonly server: string
  /** The principal's key. Empty if anonymous. */
  readonly owner: string
  /** True if this node should take over the session when the session's node is gone. */
  readonly takes: boolean
}

/** A session's location. */
export type Located =
  /** This node holds it. `epoch` is 1 on the node that opened it, and increases with each node that takes it over. */
  | { readonly _tag: "Here"; readonly epoch: number; readonly record: SessionRecord }
  /** Another node holds it under a valid lease. */
  | { readonly _tag: "There"; readonly node: string }
  /** It was closed, has expired, or never existed. */
  | { readonly _tag: "Unknown" }

/** The directory or its storage isn't responding. The request can be sent again later. */
export class NodesUnavailable extends Data.TaggedError("NodesUnavailable")<{
  readonly message: string
  readonly cause?: unknown
}> {}

/** The sessions that an endpoint of this node holds. */
export interface Holder {
  readonly ids: () => Iterable<string>
  /** Called when another node has taken a session over, so that it is ended on this node only. */
  readonly lost: (id: string) => void
}

/** The session directory. Logs when it stops responding, and when it responds again. */
export interface SessionDirectory {
  /** Identifies this node to other nodes' relays. The text after the last space is its address. */
  readonly node: string
  /** True if this node's lease may have ended. `locate` then checks on every request whether this node still holds the session. */
  readonly isCutOff: boolean
  /** How many times this node has lost its lease, for metrics. */
  readonly lostLeases: number
  /** Fails if the directory can't be reached, for health checks. */
  readonly answers: Effect.Effect<void, NodesUnavailable>
  /** Stores a session that this node has opened. When the effect completes, every node can find the session. */
  readonly open: (id: string, record: SessionRecord) => Effect.Effect<void, NodesUnavailable>
  /**
   * Locates a session. If the node that held it is gone, this node holds it from now on. A session that doesn't belong to `seeker` is
   * `Unknown`, and stays where it is.
   */
  readonly locate: (id: string, seeker?: Seeker) => Effect.Effect<Located, NodesUnavailable>
  /**
   * Completes when a node's lease has ended, so that its sessions can be taken over. Requests waiting for the same node share a single
   * query.
   */
  readonly gone: (node: string) => Effect.Effect<void>
  /** Stores a newer record. Does nothing if another node holds the session. */
  readonly save: (id: string, record: SessionRecord) => Effect.Effect<void, NodesUnavailable>
  /** Removes a session, so that no node can find it. Does nothing if another node holds it. If it fails, it is retried later. */
  readonly close: (id: string) => Effect.Effect<void>
  /** Releases sessions that this node held. From now on, any node that receives a request for one of them takes it over. */
  readonly release: (ids: ReadonlyArray<string>) => Effect.Effect<void, NodesUnavailable>
  /** Adds an endpoint's sessions, until the scope closes. */
  readonly hold: (holder: Holder) => Effect.Effect<void, never, Scope.Scope>
}
