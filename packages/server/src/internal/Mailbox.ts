/** Effects that run one after the other, in the order in which they came: a mailbox of notifications. */
import * as Effect from "effect/Effect"

/** What waits in several mailboxes together. */
export class MailboxLoad {
  count = 0
  /** Characters of JSON. */
  size = 0
  private readonly maxCount: number
  private readonly maxSize: number

  /** How many may wait, and how large they may be together. */
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

/** The mailboxes of one sender of notifications; each is made with the first notification that needs it. */
export interface Mailboxes {
  /** Of notifications that pass middleware. */
  hookMailbox: Mailbox | undefined
  /** Of notifications of extensions. */
  extensionMailbox: Mailbox | undefined
}

interface Entry {
  readonly effect: Effect.Effect<void>
  readonly size: number
}

export class Mailbox {
  private readonly entries: Array<Entry> = []
  /** A message that is as large as a transport reads may wait. */
  private readonly own = new MailboxLoad(1024, 4 * 1024 * 1024)
  private readonly all: MailboxLoad | undefined
  private running = false

  /** `all`: what waits here and in other mailboxes. */
  constructor(all?: MailboxLoad) {
    this.all = all
  }

  get isBusy(): boolean {
    return this.running
  }

  /** False where too many wait, or too large ones. `fork` runs effects until none waits; `sizeOf` is called for an effect that has to wait. */
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
