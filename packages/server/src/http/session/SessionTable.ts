/**
 * An endpoint's open sessions, by ID.
 *
 * Limits their number, and ends unused ones. When a session beyond `capacity` is opened, the caller with the most sessions loses one. It
 * works for any kind of session. Its creator must call `endAll` when the endpoint ends.
 */
import { Deadlines, type Entries, type Fork, Shares } from "@effect-mcp/core/internal/inFlight"
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

export interface Options {
  /**
   * Maximum number of open sessions. Beyond it, the caller with the most sessions loses its longest idle session. If no other caller has
   * more sessions than the new one's caller, or if all of them are running requests, clients receive a 503. Default 10 000.
   */
  readonly capacity?: number | undefined
  /** Maximum number of open sessions per authenticated principal. Beyond it, clients receive a 429. Default 1000. */
  readonly perCaller?: number | undefined
  /**
   * Maximum number of open anonymous sessions per address. Beyond it, clients receive a 429. Behind a proxy, all callers share one address.
   * If no address is known, as on Workers, they are not limited. Default 5000.
   */
  readonly perAddress?: number | undefined
  /** How long a session may be without a request or an open stream before it ends. Default 30 minutes. */
  readonly idle?: Duration.Input | undefined
}

/** The session properties that the table needs. */
export interface SessionEntry {
  readonly id: string
  /** The principal that it belongs to. Empty if anonymous. */
  readonly owner: string
  /** The principal that opened it, or else the address. Empty if neither is known. */
  readonly caller: string
  /** When it became idle, in milliseconds on the Clock, or `undefined` if it isn't idle. */
  readonly idleSince: number | undefined
  /** True if a request is running, which protects the session from eviction. */
  readonly isRunning: boolean
  /** Called in each round while it is still in use. */
  readonly prune?: (() => void) | undefined
  /** Called after `close`, unless the session may continue on another node. */
  readonly ended?: (() => Effect.Effect<void>) | undefined
  /** Runs in an uninterruptible fiber, so it must not wait indefinitely. */
  readonly close: (reason: string) => Effect.Effect<void>
}

/** A limit that a caller has reached. */
interface Reached {
  readonly limit: number
  readonly what: string
}

export class SessionTable<S extends SessionEntry> implements Entries {
  readonly capacity: number
  private readonly idle: number
  /** Milliseconds between rounds that look for idle sessions. */
  private readonly round: number
  private readonly clock: Clock.Clock
  private readonly fork: Fork
  private readonly sessions = new Map<string, S>()
  /** Number of sessions per principal, and per address for anonymous callers. */
  private readonly named: Shares
  private readonly anonymous: Shares
  private readonly deadlines: Deadlines

  /** `fork` runs an effect in the endpoint's scope. */
  constructor(options: Options, clock: Clock.Clock, fork: Fork) {
    this.capacity = options.capacity ?? 10_000
    this.named = new Shares({ total: this.capacity, perCaller: options.perCaller ?? 1000 })
    this.anonymous = new Shares({ total: this.capacity, perCaller: options.perAddress ?? 5000 })
    this.idle = Duration.toMillis(Duration.fromInputUnsafe(options.idle ?? "30 minutes"))
    this.round = Math.min(Math.max(this.idle / 10, 10), 30_000)
    this.clock = clock
    this.fork = fork
    this.deadlines = new Deadlines(clock, fork, this)
  }

  get(id: string): S | undefined {
    return this.sessions.get(id)
  }

  /** True if there is no room for another of the caller's sessions, and no session can be evicted. */
  isFullFor(caller: string): boolean {
    return this.sessions.size >= this.capacity && this.givingWay(caller) === undefined
  }

  /** Returns the session to evict for a new one of `caller`: the longest idle session of the caller with the most sessions. */
  private givingWay(caller: string): S | undefined {
    // Callers without a key cannot be distinguished.
    if (caller === "") return undefined
    const held = (key: string | undefined): number => this.named.of(key) + this.anonymous.of(key)
    // After the eviction, that caller still has at least as many sessions as this one.
    const least = held(caller) + 2
    const idleSince = (session: S): number => session.idleSince ?? Infinity
    let found: S | undefined
    let most = 0
    for (const session of this.sessions.values()) {
      const amount = held(session.caller)
      if (amount < least || amount < most || session.isRunning) continue
      const isLongerIdle = session.caller === found?.caller && idleSince(session) < idleSince(found)
      if (amount > most || isLongerIdle) found = session
      most = amount
    }
    return found
  }

  get size(): number {
    return this.sessions.size
  }

  all(): ReadonlyArray<S> {
    return [...this.sessions.values()]
  }

  /** Returns the limit that a caller has reached, or `undefined` if there is none. */
  reached({ caller, owner }: Pick<SessionEntry, "caller" | "owner">): Reached | undefined {
    const shares = this.sharesOf(owner)
    if (shares.exceededBy(caller, 1) !== "perCaller") return undefined
    return { limit: shares.bounds.perCaller, what: `sessions are open for this ${owner === "" ? "address" : "caller"}` }
  }

  private sharesOf(owner: string): Shares {
    return owner === "" ? this.anonymous : this.named
  }

  add(session: S): void {
    const excess = this.sessions.size >= this.capacity ? this.givingWay(session.caller) : undefined
    if (excess !== undefined)
      this.end(excess, "The server reached its session limit and closed this session, which was idle the longest")
    this.sessions.set(session.id, session)
    this.sharesOf(session.owner).add(session.caller, 1)
    this.deadlines.begin(this.round)
  }

  /** Removes the session from the table. One of the endpoint's fibers closes it. */
  end(session: S, reason: string): void {
    if (!this.take(session)) return
    const { ended } = session
    const closed = session.close(reason)
    // The endpoint waits for this fiber, even if the endpoint ends meanwhile.
    this.fork(Effect.uninterruptible(ended === undefined ? closed : Effect.andThen(closed, ended.call(session))))
  }

  /** Removes the session from the table and closes it here, because another node has it. */
  remove(session: S, reason: string): void {
    if (this.take(session)) this.fork(Effect.uninterruptible(session.close(reason)))
  }

  /** Removes a session from the table. Returns false if it wasn't there. */
  take(session: S): boolean {
    if (this.sessions.get(session.id) !== session) return false
    this.sessions.delete(session.id)
    this.sharesOf(session.owner).add(session.caller, -1)
    return true
  }

  /** Closes all sessions and waits for them. */
  endAll(reason: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      const all = this.all()
      for (const session of all) this.take(session)
      return Effect.forEach(all, (session) => session.close(reason), { concurrency: "unbounded", discard: true })
    })
  }

  /** Ends sessions that have been idle for too long. */
  look(monotonic: number): number {
    const now = this.clock.currentTimeMillisUnsafe()
    for (const session of this.sessions.values()) {
      const { idleSince } = session
      if (idleSince !== undefined && now - idleSince >= this.idle) this.end(session, "The session has expired")
      else session.prune?.()
    }
    return this.size > 0 ? monotonic + this.round : Infinity
  }
}
