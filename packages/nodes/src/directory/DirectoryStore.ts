/**
 * Storage for a session directory. Every operation is atomic for other nodes. Times come from the store's clock, so nodes don't need
 * synchronized clocks.
 */
import type { NodesUnavailable } from "@effect-mcp/server/Nodes"
import type * as Effect from "effect/Effect"
import type { NodeId } from "../relay/NodeId.ts"

/** A row of the directory. */
export interface DirectoryEntry {
  readonly node: NodeId
  readonly epoch: number
  /** The record as JSON. */
  readonly record: string
}

type Stored<A> = Effect.Effect<A, NodesUnavailable>

export interface DirectoryStore {
  /** Adds a node with a new lease. */
  readonly join: (node: NodeId) => Stored<void>
  /** Renews a node's lease. Returns false if the lease has ended and can no longer be renewed. */
  readonly renew: (node: NodeId) => Stored<boolean>
  /** Ends a node's lease immediately, because the node is leaving or another node has seen that it is dead. */
  readonly leave: (node: NodeId) => Stored<void>
  /** Returns the nodes that have a valid lease. */
  readonly alive: (nodes: ReadonlyArray<NodeId>) => Stored<ReadonlyArray<NodeId>>
  /** Moves those sessions that still belong to the first node to the second. Returns their IDs. */
  readonly inherit: (from: NodeId, to: NodeId, ids: ReadonlyArray<string>) => Stored<ReadonlyArray<string>>
  /** Moves sessions that belong to the first node to the second, and ignores the rest. */
  readonly release: (from: NodeId, to: NodeId, ids: ReadonlyArray<string>) => Stored<void>
  readonly open: (node: NodeId, id: string, record: string) => Stored<void>
  /** Returns a session's entry. If its node's lease has ended and the record may be taken over, the session now belongs to this node. */
  readonly claim: (
    node: NodeId,
    id: string,
    mayTake?: (record: string) => boolean
  ) => Stored<DirectoryEntry | undefined>
  /** Replaces the record if the session belongs to this node. */
  readonly save: (node: NodeId, id: string, record: string) => Stored<void>
  /** Removes the sessions that belong to this node. */
  readonly close: (node: NodeId, ids: ReadonlyArray<string>) => Stored<void>
  /** Removes sessions whose node has been gone for longer than clients may stay away. Extends the sessions that belong to `node`. */
  readonly sweep: (node: NodeId, ids: ReadonlyArray<string>) => Stored<void>
}

/** A directory's time settings, in milliseconds. */
export interface Times {
  /** How long a lease lasts without being renewed. */
  readonly lease: number
  /** How long after a lease ends its sessions may be taken over. Allows for renewals in transit. */
  readonly grace: number
  /** How long to keep the sessions of a node that is gone. */
  readonly kept: number
}
