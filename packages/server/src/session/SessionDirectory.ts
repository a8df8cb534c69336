/**
 * Which node has a session of Streamable HTTP, for servers of several nodes.
 *
 * A session is held by one node, which keeps its place by a lease. Another node sends requests there, or takes the session over once the
 * lease has ended: then it opens the session again from its record.
 */
import type { ClientCapabilities } from "@effect-mcp/protocol/Capabilities"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import type { LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** What another node needs to open a session again: plain data that JSON can hold. */
export interface SessionRecord {
  /** The name of its server: servers of other names do not find it. */
  readonly server: string
  /** The principal that opened it, as a key; empty for an anonymous one. */
  readonly owner: string
  /** The revision that was agreed on. */
  readonly version: string
  readonly clientInfo: Implementation | undefined
  readonly clientCapabilities: ClientCapabilities
  /** The level of `logging/setLevel`; undefined for the server's default. */
  readonly logLevel: LoggingLevel | undefined
  /** The URIs of its resource subscriptions. */
  readonly subscriptions: ReadonlyArray<string>
}

/** What asks for a session. */
export interface Seeker {
  /** The name of the server. */
  readonly server: string
  /** The principal, as a key; empty for an anonymous one. */
  readonly owner: string
  /** Whether this node takes the session over where its node is gone. */
  readonly takes: boolean
}

/** Where a session is. */
export type Located =
  /** This node holds it. `epoch` is 1 on the node that opened it, and grows with every node that took it over. */
  | { readonly _tag: "Here"; readonly epoch: number; readonly record: SessionRecord }
  /** Another node holds it, by a lease that is valid. */
  | { readonly _tag: "There"; readonly node: string }
  /** It was closed, has expired, or never was. */
  | { readonly _tag: "Unknown" }

/** The directory, or what it is kept in, does not answer: the request may be sent again later. */
export class NodesUnavailable extends Data.TaggedError("NodesUnavailable")<{
  readonly message: string
  readonly cause?: unknown
}> {}

/** The sessions that an endpoint of this node holds. */
export interface Holder {
  readonly ids: () => Iterable<string>
  /** Called when another node has taken a session over: it is to be ended here, and nowhere else. */
  readonly lost: (id: string) => void
}

/** Tells in the log when it stops to answer, and when it answers again. */
export interface SessionDirectory {
  /** This node: names it to the relays of others. What follows the last space is where it is found. */
  readonly node: string
  /** Whether this node's lease may have ended: `locate` says for each request whether a session that is held here still is this node's. */
  readonly isCutOff: boolean
  /** Number of times that this node has lost its lease: for metrics. */
  readonly lostLeases: number
  /** Fails if the directory cannot be reached: for health checks. */
  readonly answers: Effect.Effect<void, NodesUnavailable>
  /** Keeps a session that this node has opened: when it ends, every node finds it. */
  readonly open: (id: string, record: SessionRecord) => Effect.Effect<void, NodesUnavailable>
  /**
   * Where the session is. Where the node that held it is gone, this node holds it from now on. A session that is not for `seeker` is
   * `Unknown`, and stays where it is.
   */
  readonly locate: (id: string, seeker?: Seeker) => Effect.Effect<Located, NodesUnavailable>
  /** Completes when the lease of a node has ended: its sessions may be taken over. Requests that wait for one node ask together. */
  readonly gone: (node: string) => Effect.Effect<void>
  /** Keeps a newer record. Nothing happens where another node holds the session. */
  readonly save: (id: string, record: SessionRecord) => Effect.Effect<void, NodesUnavailable>
  /** Removes a session: no node finds it afterwards. Nothing happens where another node holds it. Tried again later where it fails. */
  readonly close: (id: string) => Effect.Effect<void>
  /** Gives sessions up that this node held: from now on any node that is asked for one takes it over. */
  readonly release: (ids: ReadonlyArray<string>) => Effect.Effect<void, NodesUnavailable>
  /** Adds the sessions of an endpoint, until the scope closes. */
  readonly hold: (holder: Holder) => Effect.Effect<void, never, Scope.Scope>
}
