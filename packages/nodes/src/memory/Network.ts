/** Several nodes in one process, for tests and experiments. Replaces Postgres or Redis. */
import { type RelayEndpoint, RelayError } from "@effect-mcp/server/Nodes"
import type { EventStore } from "@effect-mcp/server/EventStore"
import { makeMemory } from "@effect-mcp/server/EventStore"
import { makeMemory as makeRates, type RateLimitStore } from "@effect-mcp/server/RateLimitStore"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { DirectoryStore, DirectoryEntry, Times } from "../directory/DirectoryStore.ts"
import { addressOf, type NodeId } from "../relay/NodeId.ts"

interface Reply {
  readonly expires: number
  readonly node: NodeId
  text: string | undefined
}

/** A node as the other nodes see it. */
export interface Member {
  /** The node's name. Empty until it has one. */
  name: NodeId
  readonly endpoints: Set<RelayEndpoint>
  readonly topics: Map<string, Set<(text: string) => void>>
  /** Completes when the node crashes. */
  readonly dead: Deferred.Deferred<void>
}

export class Network {
  readonly events: EventStore["Service"] = makeMemory()
  readonly members = new Map<string, Member>()
  readonly replies = new Map<string, Reply>()
  readonly rates: RateLimitStore["Service"] = makeRates()
  readonly key: Uint8Array = crypto.getRandomValues(new Uint8Array(32))
  private joined = 0
  private readonly leases = new Map<NodeId, number>()
  private readonly sessions = new Map<string, DirectoryEntry>()

  /** The directory. Every operation is atomic within the process. */
  store({ grace, kept, lease }: Times): DirectoryStore {
    const { leases, sessions } = this
    const at = <A>(step: (now: number) => A): Effect.Effect<A> => Effect.map(Clock.currentTimeMillis, step)
    const own = (node: NodeId, id: string, step: (entry: DirectoryEntry) => void): Effect.Effect<void> =>
      Effect.sync(() => {
        const entry = sessions.get(id)
        if (entry?.node === node) step(entry)
      })
    return {
      join: (node) => at((now) => void leases.set(node, now + lease)),
      renew: (node) =>
        at((now) => {
          if ((leases.get(node) ?? 0) <= now) return false
          leases.set(node, now + lease)
          return true
        }),
      leave: (node) => at((now) => void leases.set(node, now - grace)),
      alive: (nodes) => at((now) => nodes.filter((node) => (leases.get(node) ?? 0) + grace > now)),
      inherit: (from, to) =>
        Effect.sync(() => {
          const ids: Array<string> = []
          for (const [id, entry] of sessions) {
            if (entry.node !== from) continue
            sessions.set(id, { ...entry, node: to })
            ids.push(id)
          }
          return ids
        }),
      release: (from, to, ids) =>
        Effect.forEach(ids, (id) => own(from, id, (entry) => sessions.set(id, { ...entry, node: to })), {
          discard: true
        }),
      open: (node, id, record) => Effect.sync(() => void sessions.set(id, { node, epoch: 1, record })),
      claim: (node, id, mayTake) =>
        at((now) => {
          const entry = sessions.get(id)
          if (entry === undefined || entry.node === node || mayTake?.(entry.record) === false) return entry
          if ((leases.get(entry.node) ?? 0) + grace > now) return entry
          const taken = { ...entry, node, epoch: entry.epoch + 1 }
          sessions.set(id, taken)
          return taken
        }),
      save: (node, id, record) => own(node, id, (entry) => sessions.set(id, { ...entry, record })),
      close: (node, ids) => Effect.forEach(ids, (id) => own(node, id, () => sessions.delete(id)), { discard: true }),
      sweep: () =>
        at((now) => {
          for (const [id, { node }] of sessions) if ((leases.get(node) ?? 0) + kept < now) sessions.delete(id)
        })
    }
  }

  /** Adds a node. */
  join(): { readonly address: string; readonly member: Member } {
    const address = `memory-${++this.joined}`
    const member: Member = { name: "", endpoints: new Set(), topics: new Map(), dead: Deferred.makeUnsafe() }
    this.members.set(address, member)
    return { address, member }
  }

  /** Ends a node like `kill -9`: it no longer responds to requests, and its lease runs out. Nodes are numbered from 1. */
  crash(node: number): void {
    const member = this.members.get(`memory-${node}`)
    if (member === undefined) return
    this.members.delete(`memory-${node}`)
    Deferred.doneUnsafe(member.dead, Effect.void)
  }

  /** Returns the node with this name. Fails if it is gone. */
  member(node: NodeId): Effect.Effect<Member, RelayError> {
    const address = addressOf(node)
    const member = this.members.get(address)
    return member?.name !== node
      ? Effect.fail(new RelayError({ reason: "NotSent", message: `There is no node at ${address}` }))
      : Effect.succeed(member)
  }
}
