/**
 * The session directory on top of any store. Owns this node's lease, takes over sessions whose node is gone, and tracks the requests that
 * are waiting for another node to end.
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

/** Number of renewals per lease. Two of them may fail. */
const renewals = 3
/** Interval at which to check the leases of nodes that have open requests, in milliseconds. */
const look = 250
/** The same interval while a request is waiting for a node to end. */
const lookWaiting = 50
/** Maximum interval between removals of sessions whose nodes are gone, in milliseconds. */
const swept = 60_000
/** Number of ended sessions to remove in one step. */
const removedAtOnce = 500

/** A time on two clocks: the monotonic clock stops while the machine is suspended, and the wall clock may be set back. */
interface Moment {
  /** Nanoseconds on the monotonic clock. */
  readonly monotonic: bigint
  /** Milliseconds on the wall clock. */
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

const late = new NodesUnavailable({ message: "Renewing the lease took too long" })

/** Parses a record. Returns `undefined` if it cannot be read. */
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

const malformed = (id: string) =>
  new NodesUnavailable({ message: `The stored record of session ${id} is not valid JSON` })

export interface Options {
  readonly store: DirectoryStore
  readonly times: Times
  /** Address where other nodes find this node's relay. */
  readonly address: string
  /** Receives this node's name, and is notified which nodes with open requests are gone. */
  readonly relay: Pick<NodeRelay, "named" | "asked" | "cut" | "hasLeft" | "leave">
}

/** Wraps a store so that each of its outages is logged once. */
const told = (store: DirectoryStore): DirectoryStore => {
  const outage = new Outage("The session directory")
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
  /** How long a lease lasts without being renewed, in milliseconds. */
  private readonly lease: number
  /** When the last successful renewal was sent. */
  private renewed: Moment
  private readonly holders = new Set<Holder>()
  /** Sessions that have ended here but may still be in the store. */
  private readonly ended = new Set<string>()
  /** The node recorded for sessions that this node has released. */
  private readonly former: { readonly node: NodeId; isKnown: boolean }
  private readonly watched = new Map<NodeId, Watched>()
  lostLeases = 0
  /** Nodes that the last check found to be gone. Each is logged once. */
  private over: ReadonlySet<NodeId> = new Set()
  /** Open while a request waits for a node to end. */
  private readonly isWaiting = Latch.makeUnsafe(false)
  /** This process, as part of the node's name. */
  private readonly process = processOf(process.pid)
  /** This node's name, which changes after its lease has ended. */
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

  /** Joins the directory, and leaves it when the scope closes. */
  static readonly make = Effect.fnUntraced(function* (
    options: Options
  ): Effect.fn.Return<Directory, NodesUnavailable, Scope.Scope> {
    const { times } = options
    const directory = new Directory(options, yield* Clock.Clock)
    const { store } = directory
    yield* Effect.acquireRelease(store.join(directory.node), () =>
      // Other nodes cut off a node without a lease, so its responses must be written first.
      Effect.andThen(
        options.relay.leave,
        Effect.ignore(
          Effect.timeoutOption(
            Effect.suspend(() => store.leave(directory.node)),
            "1 second"
          )
        )
      )
    )
    // Runs each of them in a separate fiber, so that they don't wait for each other's statements.
    const forever = (effect: Effect.Effect<unknown, NodesUnavailable>, interval: number) => {
      // Counts the pause from the start of a round, so that a slow round does not delay the next.
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

  /** Milliseconds until the lease ends unless it is renewed. 0 or less if it may have ended. */
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

  /** Joins again under a new name, with the sessions that no other node has taken over in the meantime. */
  private get rejoin(): Effect.Effect<void, NodesUnavailable> {
    return Effect.suspend(() => {
      const before = this.node
      const next = this.named()
      const sent = momentOf(this.clock)
      const late = this.lease - this.left
      // The next node removes sessions that ended while the store did not answer.
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
            `This node lost its lease because it was not renewed for ${late} ms. Other nodes took over ${taken} of its sessions. If the database was up, the event loop was blocked: give the node more CPU, or raise \`lease\``
          )
        )
      )
    })
  }

  // ---- other nodes

  private get look(): Effect.Effect<void, NodesUnavailable> {
    return Effect.suspend(() => {
      // The store is not asked about nodes that are added in the meantime.
      const watched = new Map(this.watched)
      const asked = [...new Set([...watched.keys(), ...this.relay.asked()])]
      if (asked.length === 0) return Effect.void
      const dead = asked.filter(isDead)
      // Ends their leases in the store, so that no other node waits for them and they cannot be renewed.
      const left = Effect.forEach(dead, (node) => this.store.leave(node), { discard: true })
      // A node that has just left may have written its last responses, which are read in this turn.
      const alive = Effect.tap(Effect.andThen(left, this.store.alive(asked)), () => Effect.yieldNow)
      return Effect.map(alive, (alive) => {
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
                `Node ${node} lost its lease. Requests relayed to it will fail, and other nodes will take over its sessions`
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
      // This node's lease has ended, so `kept` starts now for its sessions.
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
        // If the node has been renamed, nothing was removed.
        if (node === this.node) for (const id of ids) this.ended.delete(id)
      })
    })
  }

  /** Removes sessions that ended while the store wasn't responding. */
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
