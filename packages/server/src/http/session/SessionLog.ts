/**
 * Writes the events of a session's streams to the `EventStore`: one write after the other, and no sender waits for one. The events that
 * a stream sends in one turn, or while the store is busy, are one write.
 *
 * Owns the faults of a store. One that is slow, fails or hangs leaves a gap, and never blocks the session: a
 * resumption across the gap is answered by 410.
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { EventBatch } from "../response/EventBatch.ts"
import type { Event, EventsGone, EventStore, StreamKey } from "../../session/EventStore.ts"
import type { EventLog } from "./ResumableStream.ts"

/** Bytes that may wait to be written; events that are sent beyond that are not kept. */
const maxBehind = 4 * 1024 * 1024
/** Bytes that wait at most until the turn is over, and most of one write: smaller strings are copied by the garbage collector. */
const maxBatch = 256 * 1024
/** Writes that may wait before streams are no longer forgotten. */
const maxWaiting = 4096
/** How long a store may take for a read. */
const readTimeout = "10 seconds"

/** A batch of a stream. */
interface Entry {
  readonly key: StreamKey
  readonly batch: EventBatch
}

type Write = Entry | (() => Effect.Effect<void>)

export class SessionLog {
  private readonly session: string
  private readonly store: EventStore["Service"]
  private readonly runFork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  /** What is to be written, in order; without the write that runs. */
  private writes: Array<Write> = []
  /** Bytes of the batches that are not written yet. */
  private behind = 0
  /** The fiber that writes, where the store made it wait; else undefined or ended. */
  private writer: Fiber.Fiber<void> | undefined = undefined
  /** Whether a write runs. */
  private writing = false
  /** Whether a microtask will start the writer. */
  private scheduled = false
  /** Whether `close` was called: nothing is appended from then on. */
  private over = false
  /** Whether a failure of the store was reported. */
  private reported = false

  constructor(store: EventStore["Service"], session: string, runFork: SessionLog["runFork"]) {
    this.store = store
    this.session = session
    this.runFork = runFork
  }

  /** Bytes that the store has not kept yet. */
  get unkept(): number {
    return this.behind
  }

  // ---- for streams

  /** The log of one stream. */
  of(stream: string): EventLog {
    return new StreamLog(this, { session: this.session, stream })
  }

  /** Keeps a batch, or what was added to it since. */
  append(key: StreamKey, batch: EventBatch): void {
    if (this.over || (batch.counted === 0 && this.behind > maxBehind)) return
    if (batch.counted === 0) this.write({ key, batch })
    this.behind += batch.text.length - batch.counted
    batch.counted = batch.text.length
    if (this.behind > maxBatch) this.start()
  }

  /** Reads after all that was appended is written. Dies where the store fails, or takes too long. */
  after(key: StreamKey, seq: number): Effect.Effect<ReadonlyArray<Event>, EventsGone> {
    return Effect.timeoutOrElse(
      Effect.andThen(
        this.written,
        Effect.suspend(() => this.store.after(key, seq))
      ),
      { duration: readTimeout, orElse: () => Effect.die(new Error("The event store does not answer")) }
    )
  }

  /** Drops a stream. A store that hangs is not asked: the stream goes with the session. */
  forget(stream: string): void {
    if (this.writes.length < maxWaiting) this.write(() => this.store.forget(this.session, stream))
  }

  /** Drops all streams of the session; waits for that for a second at most. */
  get close(): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.over = true
      this.write(() => this.store.forget(this.session))
      return this.end
    })
  }

  /** Waits until what was appended is written, for a second at most: the streams stay in the store. */
  get end(): Effect.Effect<void> {
    return Effect.suspend(() => {
      return Effect.andThen(
        Effect.timeoutOption(Effect.interruptible(this.written), "1 second"),
        Effect.sync(() => this.writer?.interruptUnsafe())
      )
    })
  }

  // ---- the writer

  private write(write: Write): void {
    this.writes.push(write)
    if (this.writing || this.scheduled) return
    this.scheduled = true
    queueMicrotask(() => this.start())
  }

  private start(): void {
    this.scheduled = false
    if (this.writing || this.writes.length === 0) return
    const writer = this.runFork(this.writeAll())
    this.writer = this.writing ? writer : undefined
  }

  /** Writes until nothing waits. */
  private writeAll(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const write = this.writes.shift()
      this.writing = write !== undefined
      if (write === undefined) {
        // An emptied array keeps its capacity.
        this.writes = []
        return Effect.void
      }
      return Effect.andThen(
        Effect.catchDefect(
          Effect.suspend(() => this.run(write)),
          (defect) => this.report(defect)
        ),
        this.writeAll()
      )
    })
  }

  private run(write: Write): Effect.Effect<void> {
    if (typeof write === "function") return write()
    const { key } = write
    const batches = this.following(write)
    // The text of one batch is the one that is sent: `join` would copy it.
    const text = batches.length === 1 ? write.batch.close() : batches.map((batch) => batch.close()).join("")
    const events = batches.flatMap(({ events }) => events)
    return Effect.ensuring(
      // A write after the end of the session would bring its events back.
      Effect.suspend(() => (this.over ? Effect.void : this.store.append(key, events, text))),
      Effect.sync(() => {
        for (const batch of batches) this.behind -= batch.counted
      })
    )
  }

  /** The batch, and those that wait and follow it in its stream: one write where the store was busy. */
  private following({ batch, key }: Entry): ReadonlyArray<EventBatch> {
    const batches = [batch]
    let { last } = batch
    let size = batch.text.length
    for (let next = this.writes[0]; next !== undefined && typeof next !== "function"; next = this.writes[0]) {
      size += next.batch.text.length
      if (next.key !== key || next.batch.first !== last + 1 || size > maxBatch) break
      batches.push(next.batch)
      last = next.batch.last
      this.writes.shift()
    }
    return batches
  }

  /** Reports the first failure: a store that is down fails for every event. */
  private report(defect: unknown): Effect.Effect<void> {
    if (this.reported) return Effect.void
    this.reported = true
    return Effect.logError("The event store failed", defect)
  }

  /** Waits until all is written that waits by now. */
  private get written(): Effect.Effect<void> {
    return Effect.callback<void>((resume) => {
      const done = () => Effect.sync(() => resume(Effect.void))
      this.write(done)
      // An interrupted wait is removed, however long the store hangs.
      return Effect.sync(() => {
        const at = this.writes.indexOf(done)
        if (at >= 0) this.writes.splice(at, 1)
      })
    })
  }
}

class StreamLog implements EventLog {
  private readonly log: SessionLog
  private readonly key: StreamKey

  constructor(log: SessionLog, key: StreamKey) {
    this.log = log
    this.key = key
  }

  append(batch: EventBatch): void {
    this.log.append(this.key, batch)
  }

  after(seq: number): Effect.Effect<ReadonlyArray<Event>, EventsGone> {
    return this.log.after(this.key, seq)
  }
}
