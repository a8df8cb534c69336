/**
 * Watches the deadlines of many entries with a single fiber: thousands of requests, streams and sessions wait, but only a few are late.
 *
 * The fiber only exists while there is a deadline, because Workers don't allow timers in global scope, and because a timer keeps a process
 * alive. The entries are stored elsewhere, and `look` finds the ones that are due. `DeadlineQueue` stores entries with the same delay.
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import { BusyMap } from "./BusyMap.ts"

/** Runs an effect in the scope that the deadlines belong to. */
export type Fork = (effect: Effect.Effect<void>) => Fiber.Fiber<unknown, unknown>

/**
 * How long the fiber keeps sleeping after the last deadline, in milliseconds, so that the next deadline doesn't have to start a new one.
 */
const linger = 1000

/** Stores the entries. */
export interface Entries {
  /** Ends the entries due at `now` and returns the next deadline, or Infinity if there are no entries left. */
  look(now: number): number
}

export class Deadlines {
  private readonly clock: Clock.Clock
  private readonly fork: Fork
  private readonly entries: Entries
  /** The fiber that sleeps until `wakesAt`. `undefined` before the first deadline. It has ended if `wakesAt` is Infinity. */
  private watch: Fiber.Fiber<unknown, unknown> | undefined = undefined
  /** When `look` is called next. Infinity if no fiber is running, -Infinity while `look` is running. */
  private wakesAt = Infinity
  /** Number of calls to `begin` while a fiber was running. */
  private begun = 0

  constructor(clock: Clock.Clock, fork: Fork, entries: Entries) {
    this.clock = clock
    this.fork = fork
    this.entries = entries
  }

  /** Milliseconds on the monotonic clock, because the system time may change while an entry is waiting. */
  get now(): number {
    return Number(this.clock.monotonicTimeNanosUnsafe()) / 1e6
  }

  /** Calls `look` at `due`, unless it is called earlier. Has to be called for each new deadline. `now` must not be ahead of the clock. */
  add(due: number, now: number): void {
    if (this.isLost(now)) this.wake(now + 1)
    else if (due < this.wakesAt) this.wake(due)
  }

  /**
   * Calls `look` after `delay` milliseconds unless the fiber is already running. For entries whose deadlines are checked periodically.
   * Infinity means never. Every POST calls this, so only one call in 16 checks for a lost fiber: reading the clock costs more than
   * everything else here.
   */
  begin(delay: number): void {
    if (delay === Infinity) return
    if (this.wakesAt === Infinity) this.wake(this.now + delay)
    else if ((++this.begun & 15) === 0 && this.isLost(this.now)) this.wake(this.now + 1)
  }

  /** Call this when there are no entries left. The fiber then ends within a second. */
  relax(): void {
    if (this.wakesAt === Infinity) return
    const { now } = this
    this.add(now + linger, now)
  }

  /** Runs an effect that ends an entry. If it throws, the error is logged and the remaining entries are still checked. */
  attempt(end: () => void): void {
    try {
      end()
    } catch (defect) {
      this.fork(Effect.logError("A deadline's action threw an error", defect))
    }
  }

  /** Ends the fiber. Deadlines are no longer enforced. */
  close(): void {
    this.wakesAt = -Infinity
    this.watch?.interruptUnsafe()
  }

  /** True if the fiber has overslept. Workers discard a request's timers when the request ends, so its fiber never wakes up. */
  private isLost(now: number): boolean {
    return this.wakesAt !== -Infinity && now - this.wakesAt > linger
  }

  private wake(at: number): void {
    this.watch?.interruptUnsafe()
    this.wakesAt = at
    this.watch = this.fork(Effect.suspend(() => this.sleep()))
  }

  private sleep(): Effect.Effect<void> {
    const rest = this.wakesAt - this.now
    return rest > 0 ? Effect.flatMap(Effect.sleep(Math.ceil(rest)), () => this.run()) : this.run()
  }

  private run(): Effect.Effect<void> {
    // Entries that `look` ends may add deadlines. The result of `look` includes them.
    this.wakesAt = -Infinity
    let next = this.now + linger
    this.attempt(() => (next = this.entries.look(this.now)))
    this.wakesAt = next
    return this.wakesAt === Infinity ? Effect.void : this.sleep()
  }
}

/** Entries with the same delay, so they are due in the order they were added. */
export class DeadlineQueue<K> implements Entries {
  /** When each entry is due, earliest first. */
  private readonly entries = new BusyMap<K, number>()
  private readonly delay: number
  private readonly deadlines: Deadlines
  private readonly overdue: (entry: K) => void

  /** `delay` is in milliseconds; Infinity means never. `overdue` is called once for each entry that isn't removed in time. */
  constructor(delay: number, clock: Clock.Clock, fork: Fork, overdue: (entry: K) => void) {
    this.delay = delay
    this.overdue = overdue
    this.deadlines = new Deadlines(clock, fork, this)
  }

  /** Adds an entry. If it is already waiting, its delay starts over. */
  add(entry: K): void {
    if (this.delay === Infinity) return
    const { now } = this.deadlines
    this.entries.delete(entry)
    this.entries.set(entry, now + this.delay)
    this.deadlines.add(now + this.delay, now)
  }

  remove(entry: K): void {
    if (!this.entries.delete(entry) || this.entries.size > 0) return
    if (this.delay > linger) this.deadlines.relax()
  }

  look(now: number): number {
    for (let first = this.entries.first(); first !== undefined; first = this.entries.first()) {
      const [entry, due] = first
      if (due > now) return due
      this.entries.delete(entry)
      this.deadlines.attempt(() => this.overdue(entry))
    }
    return Infinity
  }
}
