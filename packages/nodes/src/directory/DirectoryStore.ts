/**
 * What a directory of sessions is kept in. Each operation is one step that other nodes see whole or not at all; times are those of the
 * store's own clock, so that nodes need not agree on one.
 */
import type { NodesUnavailable } from "@effect-mcp/server/Nodes"
import type * as Effect from "effect/Effect"
import type { NodeId } from "../relay/NodeId.ts"

/** A row of the directory. */
export interface DirectoryEntry {
  readonly node: NodeId
  readonly epoch: number
  /** The record, as JSON. */
  readonly record: string
}

type Stored<A> = Effect.Effect<A, NodesUnavailable>

export interface DirectoryStore {
  /** Adds a node with a new lease. */
  readonly join: (node: NodeId) => Stored<void>
  /** Makes the lease of a node last anew. False where it has ended: it cannot be had again. */
  readonly renew: (node: NodeId) => Stored<boolean>
  /** Ends the lease of a node at once: it leaves, or another node has seen that it is dead. */
  readonly leave: (node: NodeId) => Stored<void>
  /** Which of the nodes have a valid lease. */
  readonly alive: (nodes: ReadonlyArray<NodeId>) => Stored<ReadonlyArray<NodeId>>
  /** Moves those of the sessions that are still those of the one node to the other; gives their ids. */
  readonly inherit: (from: NodeId, to: NodeId, ids: ReadonlyArray<string>) => Stored<ReadonlyArray<string>>
  /** Moves the sessions that are the one node's to the other; leaves all others. */
  readonly release: (from: NodeId, to: NodeId, ids: ReadonlyArray<string>) => Stored<void>
  readonly open: (node: NodeId, id: string, record: string) => Stored<void>
  /** The entry of a session. It is that of this node from now on where the lease of its node has ended and its record may be taken. */
  readonly claim: (
    node: NodeId,
    id: string,
    mayTake?: (record: string) => boolean
  ) => Stored<DirectoryEntry | undefined>
  /** Replaces the record, where the session is that of this node. */
  readonly save: (node: NodeId, id: string, record: string) => Stored<void>
  /** Removes those of the sessions that are this node's. */
  readonly close: (node: NodeId, ids: ReadonlyArray<string>) => Stored<void>
  /** Removes the sessions whose node is gone for longer than their clients may stay away; keeps those of `node` for as long again. */
  readonly sweep: (node: NodeId, ids: ReadonlyArray<string>) => Stored<void>
}

/** Times of a directory, in milliseconds. */
export interface Times {
  /** How long a lease lasts without a renewal. */
  readonly lease: number
  /** How long a lease must have ended until a session is taken over: the time that a renewal may be on its way. */
  readonly grace: number
  /** How long the sessions of a node that is gone are kept. */
  readonly kept: number
}
