/** A mailbox for notifications: effects that run one at a time, in order of arrival. */
import * as Effect from "effect/Effect"

/** Counts everything waiting in several mailboxes together. */
export class MailboxLoad {
  count = 0
  /** Total size in characters of JSON. */
  size = 0
  private readonly maxCount: number
  private readonly maxSize: number

  /** Limits the number of waiting effects, and their total size. */
  constructor(maxCount: number, maxSize: number) {
    this.maxCount = maxCount
    this.maxSize = maxSize
  }

  admits(size: number): boolean {
    return this.count < this.maxCount && this.size + size <= this.maxSize
  }

  add(count: number, size: number): void {
    this.count += count
    this.size += size
  }
}

/** The mailboxes for one sender of notifications. Each is created by the first notification that needs it. */
export interface Mailboxes {
  /** For notifications that pass through middleware. */
  hookMailbox: Mailbox | undefined
  /** For extension notifications. */
  extensionMailbox: Mailbox | undefined
}

interface Entry {
  readonly effect: Effect.Effect<void>
  readonly size: number
}

export class Mailbox {
  private readonly entries: Array<Entry> = []
  /** Large enough for the largest message that a transport reads. */
  private readonly own = new MailboxLoad(1024, 4 * 1024 * 1024)
  private readonly all: MailboxLoad | undefined
  private running = false

  /** `all` counts this mailbox together with others. */
  constructor(all?: MailboxLoad) {
    this.all = all
  }

  get isBusy(): boolean {
    return this.running
  }

  /**
   * Adds an effect. Returns false if too many effects are waiting, or if they are too large in total. `fork` runs effects until none is
   * waiting. `sizeOf` is only called for an effect that has to wait.
   */
  push(effect: Effect.Effect<void>, sizeOf: () => number, fork: (effect: Effect.Effect<void>) => void): boolean {
    const size = this.running ? sizeOf() : 0
    if (!this.own.admits(size) || this.all?.admits(size) === false) return false
    this.count(1, size)
    this.entries.push({ effect, size })
    if (this.running) return true
    this.running = true
    fork(this.run)
    return true
  }

  private count(count: number, size: number): void {
    this.own.add(count, size)
    this.all?.add(count, size)
  }

  private readonly run: Effect.Effect<void> = Effect.suspend(() => {
    const next = this.entries.shift()
    if (next === undefined) {
      this.running = false
      return Effect.void
    }
    this.count(-1, -next.size)
    return Effect.andThen(next.effect, this.run)
  })
}
