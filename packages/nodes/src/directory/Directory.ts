/**
 * The directory of sessions, over a store of any kind: the lease of this node, what becomes of its sessions when that has ended, and the
 * requests that wait for the end of another node.
 */
import {
  type Holder,
  type Located,
  NodesUnavailable,
  type SessionDirectory,
  type SessionRecord
} from "@effect-mcp/server/Nodes"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"
import type { DirectoryStore, NodeId, Times } from "./DirectoryStore.ts"

/** Renewals per lease: two may be lost. */
const renewals = 3
/** How often the nodes that requests wait for are looked at, in milliseconds. */
const look = 250
/** How often sessions of nodes that are gone are removed. */
const swept = "1 minute"

interface Watched {
  readonly gone: Deferred.Deferred<void>
  waiting: number
}

const malformed = (id: string) => new NodesUnavailable({ message: `The record of session ${id} cannot be read` })

export interface Options {
  readonly store: DirectoryStore
  readonly times: Times
  /** Where the relay of this node is found by others. */
  readonly address: string
}

export class Directory implements SessionDirectory {
  private readonly store: DirectoryStore
  private readonly address: string
  private readonly holders = new Set<Holder>()
  /** The sessions that ended here and may still be in the store. */
  private readonly ended = new Set<string>()
  private readonly watched = new Map<NodeId, Watched>()
  /** Open while a request waits for the end of a node. */
  private readonly waited = Latch.makeUnsafe(false)
  /** This node; another one after its lease has ended. */
  node: NodeId

  private constructor({ address, store }: Options) {
    this.store = store
    this.address = address
    this.node = this.named()
  }

  /** Joins, and leaves with the scope. */
  static readonly make = Effect.fnUntraced(function* (
    options: Options
  ): Effect.fn.Return<Directory, NodesUnavailable, Scope.Scope> {
    const { store, times } = options
    const directory = new Directory(options)
    yield* Effect.acquireRelease(store.join(directory.node), () =>
      Effect.ignore(
        Effect.timeoutOption(
          Effect.suspend(() => store.leave(directory.node)),
          "1 second"
        )
      )
    )
    const forever = (effect: Effect.Effect<unknown, NodesUnavailable>, pause: number | typeof swept) =>
      Effect.forkScoped(
        Effect.forever(
          Effect.andThen(
            Effect.sleep(pause),
            Effect.catch(effect, (error) => Effect.logWarning("The directory of sessions does not answer", error))
          )
        )
      )
    yield* forever(directory.renew, times.lease / renewals)
    yield* forever(Effect.andThen(directory.waited.await, directory.look), look)
    yield* forever(
      Effect.suspend(() => store.sweep(directory.node, directory.ids)),
      swept
    )
    return directory
  })

  private named(): NodeId {
    return `${crypto.randomUUID()} ${this.address}`
  }

  // ---- the lease of this node

  private get ids(): ReadonlyArray<string> {
    return [...this.holders].flatMap(({ ids }) => [...ids()])
  }

  private get renew(): Effect.Effect<void, NodesUnavailable> {
    return Effect.suspend(() =>
      Effect.flatMap(this.store.renew(this.node), (renewed) => (renewed ? this.removeEnded : this.rejoin))
    )
  }

  /** Joins as another node, with the sessions that no node has taken over meanwhile. */
  private get rejoin(): Effect.Effect<void, NodesUnavailable> {
    return Effect.suspend(() => {
      const before = this.node
      const next = this.named()
      return Effect.map(
        Effect.andThen(this.store.join(next), this.store.inherit(before, next, this.ids)),
        (inherited) => {
          this.node = next
          const kept = new Set(inherited)
          for (const { ids, lost } of this.holders) {
            const away = Array.from(ids()).filter((id) => !kept.has(id))
            for (const id of away) lost(id)
          }
        }
      )
    })
  }

  // ---- other nodes

  private get look(): Effect.Effect<void, NodesUnavailable> {
    return Effect.suspend(() => {
      return Effect.map(this.store.alive([...this.watched.keys()]), (alive) => {
        for (const [node, { gone }] of this.watched) {
          if (!alive.includes(node)) Deferred.doneUnsafe(gone, Effect.void)
        }
      })
    })
  }

  gone(node: NodeId): Effect.Effect<void> {
    return Effect.acquireUseRelease(
      Effect.sync(() => {
        const watched = this.watched.get(node) ?? { gone: Deferred.makeUnsafe<void>(), waiting: 0 }
        watched.waiting++
        this.watched.set(node, watched)
        this.waited.openUnsafe()
        return watched
      }),
      ({ gone }) => Deferred.await(gone),
      (watched) =>
        Effect.sync(() => {
          if (--watched.waiting === 0 && this.watched.get(node) === watched) this.watched.delete(node)
          if (this.watched.size === 0) this.waited.closeUnsafe()
        })
    )
  }

  // ---- sessions

  open(id: string, record: SessionRecord): Effect.Effect<void, NodesUnavailable> {
    return Effect.suspend(() => this.store.open(this.node, id, JSON.stringify(record)))
  }

  locate(id: string): Effect.Effect<Located, NodesUnavailable> {
    return Effect.suspend(() => {
      const { node } = this
      if (this.ended.has(id)) return Effect.succeed({ _tag: "Unknown" } as const)
      return Effect.flatMap(this.store.claim(node, id), (entry): Effect.Effect<Located, NodesUnavailable> => {
        if (entry === undefined) return Effect.succeed({ _tag: "Unknown" })
        if (entry.node !== node) return Effect.succeed({ _tag: "There", node: entry.node })
        const { epoch } = entry
        return Effect.map(
          Effect.try({
            // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a node of the same server wrote it
            try: () => JSON.parse(entry.record) as SessionRecord,
            catch: () => malformed(id)
          }),
          (record) => ({ _tag: "Here", epoch, record })
        )
      })
    })
  }

  save(id: string, record: SessionRecord): Effect.Effect<void, NodesUnavailable> {
    return Effect.suspend(() => this.store.save(this.node, id, JSON.stringify(record)))
  }

  close(id: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.ended.add(id)
      return Effect.ignore(this.remove(id))
    })
  }

  private remove(id: string): Effect.Effect<void, NodesUnavailable> {
    return Effect.map(this.store.close(this.node, id), () => void this.ended.delete(id))
  }

  /** Removes the sessions that ended while the store did not answer. */
  private get removeEnded(): Effect.Effect<void, NodesUnavailable> {
    return Effect.suspend(() => Effect.forEach(this.ended, (id) => this.remove(id), { discard: true }))
  }

  hold(holder: Holder): Effect.Effect<void, never, Scope.Scope> {
    return Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => this.holders.add(holder)),
        () => Effect.sync(() => this.holders.delete(holder))
      )
    )
  }
}

/** The address of a node, which its relay listens at. */
export const addressOf = (node: NodeId): string => node.slice(node.indexOf(" ") + 1)
