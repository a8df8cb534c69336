/**
 * Deadlines of many entries, watched by one fiber: requests, streams and sessions wait in thousands, and few are late.
 *
 * Owns the fiber. It exists only while there is a deadline: Workers forbid timers in global scope, and a timer keeps a process alive.
 * Refuses to hold the entries: `look` finds those that are due. `DeadlineQueue` holds entries that all wait equally long.
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import { BusyMap } from "./BusyMap.ts"

/** Runs an effect in the scope that the deadlines belong to. */
export type Fork = (effect: Effect.Effect<void>) => Fiber.Fiber<unknown, unknown>

/** How long the fiber sleeps on after the last deadline was met, in milliseconds: the next one need not start it anew. */
const linger = 1000

/** What holds the entries. */
export interface Entries {
  /** Ends the entries that are due at `now` and returns the next deadline: Infinity where no entry is left. */
  look(now: number): number
}

export class Deadlines {
  private readonly clock: Clock.Clock
  private readonly fork: Fork
  private readonly entries: Entries
  /** The fiber that sleeps until `wakesAt`; undefined before the first deadline, ended where `wakesAt` is Infinity. */
  private watch: Fiber.Fiber<unknown, unknown> | undefined = undefined
  /** When `look` is called next: Infinity where no fiber runs, -Infinity while `look` runs. */
  private wakesAt = Infinity
  /** How often `begin` was called while a fiber ran. */
  private begun = 0

  constructor(clock: Clock.Clock, fork: Fork, entries: Entries) {
    this.clock = clock
    this.fork = fork
    this.entries = entries
  }

  /** Milliseconds of the monotonic clock: the time of day may be set while an entry waits. */
  get now(): number {
    return Number(this.clock.monotonicTimeNanosUnsafe()) / 1e6
  }

  /** Calls `look` at `due`, unless it is called earlier. Called for each new deadline; `now` is not later than the clock. */
  add(due: number, now: number): void {
    if (this.isLost(now)) this.wake(now + 1)
    else if (due < this.wakesAt) this.wake(due)
  }

  /**
   * Calls `look` after `delay` milliseconds, unless the fiber runs: for entries whose deadlines are looked at in rounds. Infinity is
   * never. Every POST begins: a lost fiber is noticed by one of 16 calls, for the clock costs more than the rest.
   */
  begin(delay: number): void {
    if (delay === Infinity) return
    if (this.wakesAt === Infinity) this.wake(this.now + delay)
    else if ((++this.begun & 15) === 0 && this.isLost(this.now)) this.wake(this.now + 1)
  }

  /** Called when no entry is left: the fiber ends within a second. */
  relax(): void {
    if (this.wakesAt === Infinity) return
    const { now } = this
    this.add(now + linger, now)
  }

  /** Runs what ends one entry: an error that it throws is logged, and other entries are still looked at. */
  attempt(end: () => void): void {
    try {
      end()
    } catch (defect) {
      this.fork(Effect.logError("A deadline was met by a defect", defect))
    }
  }

  /** Ends the fiber. No deadline is met any more. */
  close(): void {
    this.wakesAt = -Infinity
    this.watch?.interruptUnsafe()
  }

  /** Whether the fiber overslept. Workers discard the timers of a request that has ended: such a fiber never wakes. */
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
    // Entries that `look` ends may add deadlines: its result covers them.
    this.wakesAt = -Infinity
    let next = this.now + linger
    this.attempt(() => (next = this.entries.look(this.now)))
    this.wakesAt = next
    return this.wakesAt === Infinity ? Effect.void : this.sleep()
  }
}

/** Entries that all wait equally long: the first to be added is the first to be due. */
export class DeadlineQueue<K> implements Entries {
  /** When each entry is due, in the order of their deadlines. */
  private readonly entries = new BusyMap<K, number>()
  private readonly delay: number
  private readonly deadlines: Deadlines
  private readonly overdue: (entry: K) => void

  /** `delay`: milliseconds; Infinity is never. `overdue` is called once for an entry that was not removed in time. */
  constructor(delay: number, clock: Clock.Clock, fork: Fork, overdue: (entry: K) => void) {
    this.delay = delay
    this.overdue = overdue
    this.deadlines = new Deadlines(clock, fork, this)
  }

  /** Waits from now on; an entry that waited already starts anew. */
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
