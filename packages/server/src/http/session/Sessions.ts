/**
 * The sessions that are open at an endpoint, by id.
 *
 * Owns how many there may be and when one that nobody uses ends. One fiber looks after all of them. Whoever makes it has to end all at
 * the end of the endpoint.
 */
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

export interface Options {
  /** How many may be open at once. Default 10 000; one more is answered by 503. */
  readonly capacity?: number | undefined
  /** How many a caller may have who is known by name, so that none has them all. Default 1000; one more is answered by 429. */
  readonly perCaller?: number | undefined
  /** How long one may be without a request and without an open stream. Default 30 minutes. */
  readonly idle?: Duration.Input | undefined
}

/** What the table has to know of a session. */
export interface Entry {
  readonly id: string
  /** Whose it is; empty where nobody said who asks. */
  readonly owner: string
  /** Since when it is idle, in milliseconds by the Clock; undefined while it is not. */
  readonly idleSince: number | undefined
  /** Called now and then. */
  readonly prune?: (() => void) | undefined
  /** Run in a fiber that is not interrupted: what it waits for is bounded. */
  readonly close: (reason: string) => Effect.Effect<void>
}

export class Sessions<S extends Entry> {
  readonly capacity: number
  readonly perCaller: number
  private readonly idle: number
  private readonly clock: Clock.Clock
  private readonly runFork: (effect: Effect.Effect<void>) => void
  private readonly entries = new Map<string, S>()
  private readonly counts = new Map<string, number>()
  private sweeping = false

  /** `runFork` runs what ends a session, whoever asked for it, in the scope of the endpoint. */
  constructor(options: Options, clock: Clock.Clock, runFork: (effect: Effect.Effect<void>) => void) {
    this.capacity = options.capacity ?? 10_000
    this.perCaller = options.perCaller ?? 1000
    this.idle = Duration.toMillis(Duration.fromInputUnsafe(options.idle ?? "30 minutes"))
    this.clock = clock
    this.runFork = runFork
  }

  get(id: string): S | undefined {
    return this.entries.get(id)
  }

  get full(): boolean {
    return this.entries.size >= this.capacity
  }

  get size(): number {
    return this.entries.size
  }

  all(): ReadonlyArray<S> {
    return [...this.entries.values()]
  }

  /** Whether that caller has as many as it may. */
  hasEnough(owner: string): boolean {
    return owner !== "" && (this.counts.get(owner) ?? 0) >= this.perCaller
  }

  private count({ owner }: S, change: 1 | -1): void {
    const count = (this.counts.get(owner) ?? 0) + change
    if (count > 0) this.counts.set(owner, count)
    else this.counts.delete(owner)
  }

  add(entry: S): void {
    this.entries.set(entry.id, entry)
    this.count(entry, 1)
    if (this.sweeping) return
    this.sweeping = true
    this.runFork(this.sweep)
  }

  /** From now on it is not there; what it runs is ended beside. */
  end(entry: S, reason: string): void {
    if (this.entries.get(entry.id) !== entry) return
    this.entries.delete(entry.id)
    this.count(entry, -1)
    // The endpoint waits for it, even if it ends meanwhile.
    this.runFork(Effect.uninterruptible(entry.close(reason)))
  }

  /** Ends all and waits for them. */
  endAll(reason: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      const all = this.all()
      this.entries.clear()
      this.counts.clear()
      return Effect.forEach(all, (entry) => entry.close(reason), { concurrency: "unbounded", discard: true })
    })
  }

  private look(): void {
    const now = this.clock.currentTimeMillisUnsafe()
    for (const entry of this.entries.values()) {
      const { idleSince } = entry
      if (idleSince !== undefined && now - idleSince >= this.idle) this.end(entry, "The session has expired")
      else entry.prune?.()
    }
  }

  /** Runs as long as there is a session: before that there must not be as much as a timer, where code is only loaded (Workers). */
  private readonly sweep: Effect.Effect<void> = Effect.suspend(() => {
    const often = Math.min(Math.max(this.idle / 10, 10), 30_000)
    return Effect.repeat(
      Effect.andThen(
        Effect.sleep(often),
        Effect.sync(() => {
          this.look()
          this.sweeping = this.size > 0
        })
      ),
      { while: () => this.sweeping }
    )
  })
}
