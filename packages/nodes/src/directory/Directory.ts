/**
 * The directory of sessions, over a store of any kind: the lease of this node, what becomes of its sessions when that has ended, and the
 * requests that wait for the end of another node.
 */
import {
  type Holder,
  type Located,
  NodesUnavailable,
  type Seeker,
  type SessionDirectory,
  type SessionRecord
} from "@effect-mcp/server/Nodes"
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"
import type { NodeRelay } from "../relay/NodeRelay.ts"
import { isDead, nameOf, type NodeId, processOf } from "../relay/NodeId.ts"
import type { DirectoryStore, Times } from "./DirectoryStore.ts"
import { Outage } from "./Outage.ts"

/** Renewals per lease: two may be lost. */
const renewals = 3
/** How often the nodes that are asked are looked at, in milliseconds. */
const look = 250
/** How often while a request waits for the end of one. */
const lookWaiting = 50
/** How often sessions of nodes that are gone are removed at least, in milliseconds. */
const swept = 60_000
/** How many sessions that ended are removed by one step. */
const removedAtOnce = 500

/** By two clocks: the monotonic one stands still while the machine is suspended, the other one may be set back. */
interface Moment {
  /** In nanoseconds. */
  readonly monotonic: bigint
  /** In milliseconds. */
  readonly wall: number
}

const momentOf = (clock: Clock.Clock): Moment => ({
  monotonic: clock.monotonicTimeNanosUnsafe(),
  wall: clock.currentTimeMillisUnsafe()
})

interface Watched {
  readonly gone: Deferred.Deferred<void>
  waiting: number
}

const late = new NodesUnavailable({ message: "The renewal of the lease took too long" })

/** Undefined where it cannot be read. */
const recordIn = (text: string): SessionRecord | undefined => {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a node of the same server wrote it
    return JSON.parse(text) as SessionRecord
  } catch {
    return undefined
  }
}

const isFor = (record: SessionRecord | undefined, seeker: Seeker | undefined): boolean =>
  record !== undefined && (seeker === undefined || (record.server === seeker.server && record.owner === seeker.owner))

const malformed = (id: string) => new NodesUnavailable({ message: `The record of session ${id} cannot be read` })

export interface Options {
  readonly store: DirectoryStore
  readonly times: Times
  /** Where the relay of this node is found by others. */
  readonly address: string
  /** Learns the name of this node, and which of those that it asks are gone. */
  readonly relay: Pick<NodeRelay, "named" | "asked" | "cut" | "hasLeft">
}

/** The same store, whose outages are told once. */
const told = (store: DirectoryStore): DirectoryStore => {
  const outage = new Outage("The directory of sessions")
  const noted =
    <Args extends ReadonlyArray<unknown>, A>(step: (...args: Args) => Effect.Effect<A, NodesUnavailable>) =>
    (...args: Args) =>
      outage.noted(step(...args))
  return {
    join: noted(store.join),
    renew: noted(store.renew),
    leave: noted(store.leave),
    alive: noted(store.alive),
    inherit: noted(store.inherit),
    release: noted(store.release),
    open: noted(store.open),
    claim: noted(store.claim),
    save: noted(store.save),
    close: noted(store.close),
    sweep: noted(store.sweep)
  }
}

export class Directory implements SessionDirectory {
  private readonly store: DirectoryStore
  private readonly address: string
  private readonly relay: Options["relay"]
  private readonly clock: Clock.Clock
  /** How long a lease lasts without a renewal, in milliseconds. */
  private readonly lease: number
  /** When the last renewal that succeeded was sent. */
  private renewed: Moment
  private readonly holders = new Set<Holder>()
  /** The sessions that ended here and may still be in the store. */
  private readonly ended = new Set<string>()
  /** The node that is named for the sessions which this one has given up. */
  private readonly former: { readonly node: NodeId; isKnown: boolean }
  private readonly watched = new Map<NodeId, Watched>()
  lostLeases = 0
  /** The nodes that the last look found gone, each of which is logged once. */
  private over: ReadonlySet<NodeId> = new Set()
  /** Open while a request waits for the end of a node. */
  private readonly isWaiting = Latch.makeUnsafe(false)
  /** This process, in the names of this node. */
  private readonly process = processOf(process.pid)
  /** This node; another one after its lease has ended. */
  node: NodeId

  private constructor({ address, relay, store, times }: Options, clock: Clock.Clock) {
    this.store = told(store)
    this.address = address
    this.relay = relay
    this.clock = clock
    this.lease = times.lease
    this.renewed = momentOf(clock)
    this.node = this.named()
    this.former = { node: nameOf(address, undefined), isKnown: false }
    relay.named(this.node)
  }

  /** Joins, and leaves with the scope. */
  static readonly make = Effect.fnUntraced(function* (
    options: Options
  ): Effect.fn.Return<Directory, NodesUnavailable, Scope.Scope> {
    const { times } = options
    const directory = new Directory(options, yield* Clock.Clock)
    const { store } = directory
    yield* Effect.acquireRelease(store.join(directory.node), () =>
      Effect.ignore(
        Effect.timeoutOption(
          Effect.suspend(() => store.leave(directory.node)),
          "1 second"
        )
      )
    )
    // Each is a fiber of its own: none waits for the statements of another.
    const forever = (effect: Effect.Effect<unknown, NodesUnavailable>, interval: number) => {
      // The pause counts from the beginning of a round: a slow one does not put the next off.
      const round = Effect.all([Effect.ignore(effect), Effect.sleep(interval)], {
        concurrency: "unbounded",
        discard: true
      })
      return Effect.forkScoped(Effect.delay(Effect.forever(round), interval))
    }
    yield* forever(directory.renew, times.lease / renewals)
    yield* forever(directory.removeEnded, times.lease / renewals)
    const next = Effect.raceFirst(Effect.sleep(look), directory.isWaiting.await)
    yield* forever(Effect.andThen(next, directory.look), lookWaiting)
    yield* forever(
      Effect.suspend(() => store.sweep(directory.node, directory.ids)),
      Math.min(swept, times.kept / 3)
    )
    return directory
  })

  private named(): NodeId {
    return nameOf(this.address, this.process)
  }

  // ---- the lease of this node

  private get ids(): ReadonlyArray<string> {
    return [...this.holders].flatMap(({ ids }) => [...ids()])
  }

  get isCutOff(): boolean {
    return this.left < 0
  }

  /** Milliseconds for which the lease lasts at least without a renewal; 0 or less if it may have ended. */
  private get left(): number {
    const { monotonic, wall } = momentOf(this.clock)
    const { renewed } = this
    return this.lease - Math.max(Number(monotonic - renewed.monotonic) / 1e6, wall - renewed.wall)
  }

  private get renew(): Effect.Effect<void, NodesUnavailable> {
    return Effect.suspend(() => {
      const sent = momentOf(this.clock)
      const renewal = Effect.timeoutOrElse(this.store.renew(this.node), {
        duration: this.lease / renewals,
        orElse: () => Effect.fail(late)
      })
      return Effect.flatMap(renewal, (isRenewed) =>
        isRenewed ? Effect.sync(() => void (this.renewed = sent)) : this.rejoin
      )
    })
  }

  /** Joins as another node, with the sessions that no node has taken over meanwhile. */
  private get rejoin(): Effect.Effect<void, NodesUnavailable> {
    return Effect.suspend(() => {
      const before = this.node
      const next = this.named()
      const sent = momentOf(this.clock)
      const late = this.lease - this.left
      // Those that ended while the store did not answer are removed by the next node.
      const ids = [...this.ids, ...this.ended]
      return Effect.map(Effect.andThen(this.store.join(next), this.store.inherit(before, next, ids)), (inherited) => {
        this.node = next
        this.lostLeases++
        this.relay.named(next)
        this.renewed = sent
        const kept = new Set(inherited)
        let taken = 0
        for (const { ids, lost } of this.holders) {
          const away = Array.from(ids()).filter((id) => !kept.has(id))
          taken += away.length
          for (const id of away) lost(id)
        }
        return { late: Math.round(late), taken }
      }).pipe(
        Effect.flatMap(({ late, taken }) =>
          Effect.logWarning(
            `This node lost its lease: it was not renewed for ${late} ms. Other nodes took over ${taken} of its sessions. If the database was not down, the event loop stood still: give the node more CPU, or raise \`lease\``
          )
        )
      )
    })
  }

  // ---- other nodes

  private get look(): Effect.Effect<void, NodesUnavailable> {
    return Effect.suspend(() => {
      // The store is not asked about a node that is added meanwhile.
      const watched = new Map(this.watched)
      const asked = [...new Set([...watched.keys(), ...this.relay.asked()])]
      if (asked.length === 0) return Effect.void
      const dead = asked.filter(isDead)
      // Its lease ends in the store: no other node waits for it, and it cannot be had again.
      const left = Effect.forEach(dead, (node) => this.store.leave(node), { discard: true })
      return Effect.map(Effect.andThen(left, this.store.alive(asked)), (alive) => {
        const over = asked.filter((node) => !alive.includes(node))
        for (const node of over) {
          const gone = watched.get(node)?.gone
          if (gone !== undefined) Deferred.doneUnsafe(gone, Effect.void)
          this.relay.cut(node)
        }
        const news = over.filter((node) => !this.over.has(node) && !this.relay.hasLeft(node))
        this.over = new Set(over)
        return news
      }).pipe(
        Effect.flatMap((news) =>
          Effect.forEach(
            news,
            (node) =>
              Effect.logWarning(
                `The node ${node} has lost its lease: requests that this node relayed to it end with an error, and other nodes take over its sessions`
              ),
            { discard: true }
          )
        )
      )
    })
  }

  gone(node: NodeId): Effect.Effect<void> {
    return Effect.acquireUseRelease(
      Effect.sync(() => {
        const watched = this.watched.get(node) ?? { gone: Deferred.makeUnsafe<void>(), waiting: 0 }
        watched.waiting++
        this.watched.set(node, watched)
        this.isWaiting.openUnsafe()
        return watched
      }),
      ({ gone }) => Deferred.await(gone),
      (watched) =>
        Effect.sync(() => {
          if (--watched.waiting === 0 && this.watched.get(node) === watched) this.watched.delete(node)
          if (this.watched.size === 0) this.isWaiting.closeUnsafe()
        })
    )
  }

  // ---- sessions

  get answers(): Effect.Effect<void, NodesUnavailable> {
    return Effect.suspend(() => Effect.asVoid(this.store.alive([this.node])))
  }

  open(id: string, record: SessionRecord): Effect.Effect<void, NodesUnavailable> {
    return Effect.suspend(() => this.store.open(this.node, id, JSON.stringify(record)))
  }

  locate(id: string, seeker?: Seeker): Effect.Effect<Located, NodesUnavailable> {
    return Effect.suspend(() => {
      const { node } = this
      if (this.ended.has(id)) return Effect.succeed({ _tag: "Unknown" } as const)
      const mayTake = (text: string): boolean => seeker?.takes !== false && isFor(recordIn(text), seeker)
      return Effect.flatMap(this.store.claim(node, id, mayTake), (entry): Effect.Effect<Located, NodesUnavailable> => {
        if (entry === undefined) return Effect.succeed({ _tag: "Unknown" })
        const record = recordIn(entry.record)
        if (record === undefined) return Effect.fail(malformed(id))
        if (!isFor(record, seeker)) return Effect.succeed({ _tag: "Unknown" })
        if (entry.node !== node) return Effect.succeed({ _tag: "There", node: entry.node })
        return Effect.succeed({ _tag: "Here", epoch: entry.epoch, record })
      })
    })
  }

  save(id: string, record: SessionRecord): Effect.Effect<void, NodesUnavailable> {
    return Effect.suspend(() => this.store.save(this.node, id, JSON.stringify(record)))
  }

  close(id: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.ended.add(id)
      return Effect.ignore(this.remove([id]))
    })
  }

  release(ids: ReadonlyArray<string>): Effect.Effect<void, NodesUnavailable> {
    return Effect.suspend(() => {
      const given = this.store.release(this.node, this.former.node, ids)
      if (this.former.isKnown) return given
      // A node whose lease has ended: `kept` counts from now on for what it has.
      const { node } = this.former
      return Effect.andThen(
        Effect.andThen(this.store.join(node), this.store.leave(node)),
        Effect.andThen(
          Effect.sync(() => void (this.former.isKnown = true)),
          given
        )
      )
    })
  }

  private remove(ids: ReadonlyArray<string>): Effect.Effect<void, NodesUnavailable> {
    return Effect.suspend(() => {
      const { node } = this
      return Effect.map(this.store.close(node, ids), () => {
        // Under a name that is not that of this node any more nothing was removed.
        if (node === this.node) for (const id of ids) this.ended.delete(id)
      })
    })
  }

  /** Removes the sessions that ended while the store did not answer. */
  private get removeEnded(): Effect.Effect<void, NodesUnavailable> {
    return Effect.suspend(() =>
      Effect.forEach(Arr.chunksOf([...this.ended], removedAtOnce), (ids) => this.remove(ids), { discard: true })
    )
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
