/**
 * The sessions that are open at an endpoint, by id.
 *
 * Owns how many there may be, and when an unused one ends. Refuses to know what a session does. Its maker has to call `endAll` at the
 * end of the endpoint.
 */
import { Deadlines, type Entries, type Fork } from "@effect-mcp/core/internal/Deadlines"
import { Shares } from "@effect-mcp/core/internal/Shares"
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

export interface Options {
  /** Sessions that are open at once. Default 10 000; one more is answered by 503. */
  readonly capacity?: number | undefined
  /** Sessions that one authenticated principal may have open. Default 1000; one more is answered by 429. */
  readonly perCaller?: number | undefined
  /**
   * Sessions that anonymous callers of one address may have open. Default 5000; one more is answered by 429. Behind a proxy all callers
   * have one address; where no address is known, as on Workers, they are not limited.
   */
  readonly perAddress?: number | undefined
  /** How long a session may be without a request and without an open stream before it ends. Default 30 minutes. */
  readonly idle?: Duration.Input | undefined
}

/** What the table has to know of a session. */
export interface SessionEntry {
  readonly id: string
  /** The principal that it belongs to; empty for an anonymous one. */
  readonly owner: string
  /** The principal, or else the address that opened it; empty where neither is known. */
  readonly caller: string
  /** Since when it is idle, in milliseconds by the Clock; undefined while it is not. */
  readonly idleSince: number | undefined
  /** Called in each round that finds it in use. */
  readonly prune?: (() => void) | undefined
  /** Called after `close`, unless the session may go on: on another node, after the end of this one. */
  readonly ended?: (() => Effect.Effect<void>) | undefined
  /** Runs in a fiber that is not interrupted: what it waits for is bounded. */
  readonly close: (reason: string) => Effect.Effect<void>
}

/** A limit that a caller has reached. */
export interface Reached {
  readonly limit: number
  readonly what: string
}

export class SessionTable<S extends SessionEntry> implements Entries {
  readonly capacity: number
  private readonly idle: number
  /** Milliseconds between rounds, in which sessions are looked at for idleness. */
  private readonly round: number
  private readonly clock: Clock.Clock
  private readonly fork: Fork
  private readonly sessions = new Map<string, S>()
  /** Sessions of principals, and of addresses without one. */
  private readonly named: Shares
  private readonly anonymous: Shares
  private readonly deadlines: Deadlines

  /** `fork` runs an effect in the scope of the endpoint. */
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

  get full(): boolean {
    return this.sessions.size >= this.capacity
  }

  get size(): number {
    return this.sessions.size
  }

  all(): ReadonlyArray<S> {
    return [...this.sessions.values()]
  }

  /** The limit that a caller has reached, if it has. */
  reached({ caller, owner }: Pick<SessionEntry, "caller" | "owner">): Reached | undefined {
    const shares = this.sharesOf(owner)
    if (shares.exceededBy(caller, 1) !== "perCaller") return undefined
    return { limit: shares.bounds.perCaller, what: `sessions are open for this ${owner === "" ? "address" : "caller"}` }
  }

  private sharesOf(owner: string): Shares {
    return owner === "" ? this.anonymous : this.named
  }

  add(session: S): void {
    this.sessions.set(session.id, session)
    this.sharesOf(session.owner).add(session.caller, 1)
    this.deadlines.begin(this.round)
  }

  /** The session is not in the table any more; a fiber of the endpoint closes it. */
  end(session: S, reason: string): void {
    if (!this.take(session)) return
    const { ended } = session
    const closed = session.close(reason)
    // The endpoint waits for it, even if it ends meanwhile.
    this.fork(Effect.uninterruptible(ended === undefined ? closed : Effect.andThen(closed, ended.call(session))))
  }

  /** The session is not in the table any more, and closed here: another node has it. */
  remove(session: S, reason: string): void {
    if (this.take(session)) this.fork(Effect.uninterruptible(session.close(reason)))
  }

  /** Removes a session from the table. Returns false if it is not there. */
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

  /** Ends the sessions that are idle for too long. */
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
