/**
 * Writes events from a session's streams to the `EventStore`, one write at a time, without making senders wait. Events
 * that a stream sends in one turn, or while the store is busy, become one write.
 *
 * Handles all of the store's faults. A store that is slow, fails or hangs leaves a gap but never blocks the session.
 * Resuming across the gap is answered with 410.
 */
import type { Shares } from "@effect-mcp/core/internal/inFlight"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { Event, EventsGone, EventStore, StreamKey } from "../../session/EventStore.ts"
import type { EventLog } from "./ResumableStream.ts"

/** Maximum number of bytes waiting to be written. Events beyond it are not stored. */
const maxBehind = 4 * 1024 * 1024
/** Maximum bytes that wait until the end of the turn, and maximum size of a write. The garbage collector copies smaller strings. */
const maxBatch = 256 * 1024
/** Number of waiting writes above which the store is no longer asked to forget streams. */
const maxWaiting = 4096
/** How long a store may take for a read. */
const readTimeout = "10 seconds"

/** The part of a session that its log uses. */
export interface LoggedSession {
  readonly id: string
  /** The caller whose limit the events count against. */
  readonly caller: string
  readonly config: {
    readonly runFork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
    /** Number of bytes waiting to be written, in total and per caller. */
    readonly unwritten: Shares
  }
}

/** An event of a stream. */
interface Entry {
  readonly key: StreamKey
  readonly event: Event
}

type Write = Entry | (() => Effect.Effect<void>)

export class SessionLog {
  private readonly session: LoggedSession
  private readonly store: EventStore["Service"]
  /** Pending writes in order, without the write that is running. */
  private writes: Array<Write> = []
  /** Total size in bytes of the events that are not written yet. */
  private behind = 0
  /** The fiber that writes, if the store made it wait; otherwise `undefined` or ended. */
  private writer: Fiber.Fiber<void> | undefined = undefined
  /** True while a write runs. */
  private writing = false
  /** True if a microtask will start the writer. */
  private scheduled = false
  /** True once `close` was called, after which nothing is appended. */
  private over = false
  /** True if the writer stopped before writing everything. Later events are dropped. */
  private abandoned = false
  /** True if a store failure has been reported. */
  private reported = false

  constructor(store: EventStore["Service"], session: LoggedSession) {
    this.store = store
    this.session = session
  }

  /** Bytes that the store has not stored yet. */
  get unkept(): number {
    return this.behind
  }

  // ---- for streams

  /** Returns one stream's log. */
  of(stream: string): EventLog {
    const { caller, id } = this.session
    const key: StreamKey = { session: id, stream, caller }
    return { append: (event) => this.append(key, event), after: (seq) => this.after(key, seq) }
  }

  private append(key: StreamKey, event: Event): void {
    if (this.over || this.abandoned || this.isBehind) return
    this.write({ key, event })
    this.count(event.text.length)
    if (this.behind > maxBatch) this.start()
  }

  private get isBehind(): boolean {
    const { caller, config } = this.session
    return this.behind > maxBehind || config.unwritten.exceededBy(caller, 0) !== undefined
  }

  private count(bytes: number): void {
    this.behind += bytes
    this.session.config.unwritten.add(this.session.caller, bytes)
  }

  /** Reads after everything appended was written. Dies if the store fails or takes too long. */
  private after(key: StreamKey, seq: number): Effect.Effect<ReadonlyArray<Event>, EventsGone> {
    return Effect.timeoutOrElse(
      Effect.andThen(
        this.written,
        Effect.suspend(() => this.store.after(key, seq))
      ),
      { duration: readTimeout, orElse: () => Effect.die(new Error("The event store is not responding")) }
    )
  }

  /** Drops a stream. Skipped if the store is behind, because the stream is dropped with the session anyway. */
  forget(stream: string): void {
    if (this.writes.length < maxWaiting) this.write(() => this.store.forget(this.session.id, stream))
  }

  /** Drops all of the session's streams, and waits up to a second for that. */
  get close(): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.over = true
      this.write(() => this.store.forget(this.session.id))
      return this.end
    })
  }

  /** Waits up to a second until everything appended is written. The streams stay in the store. */
  get end(): Effect.Effect<void> {
    return Effect.andThen(
      Effect.timeoutOption(Effect.interruptible(this.written), "1 second"),
      Effect.sync(() => this.abandon())
    )
  }

  /** Stops the writer. Events that a hanging store has not stored by now are lost. */
  private abandon(): void {
    this.writer?.interruptUnsafe()
    if (this.behind === 0) return
    this.abandoned = true
    this.count(-this.behind)
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
    const writer = this.session.config.runFork(this.writeAll())
    this.writer = this.writing ? writer : undefined
  }

  /** Writes until nothing is pending. */
  private writeAll(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const write = this.writes.shift()
      this.writing = write !== undefined
      if (write === undefined) {
        // An emptied array would keep its capacity.
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
    const events = this.following(write)
    const text = events.map(({ text }) => text).join("")
    return Effect.ensuring(
      // A write after the session has ended would bring its events back.
      Effect.suspend(() => (this.over ? Effect.void : this.store.append(key, events, text))),
      Effect.sync(() => {
        if (!this.abandoned) this.count(-text.length)
      })
    )
  }

  /** Returns the event and the pending events that directly follow it in its stream, to become one write. */
  private following({ event, key }: Entry): ReadonlyArray<Event> {
    let { seq } = event
    let size = event.text.length
    const end = this.writes.findIndex(
      (next) =>
        typeof next === "function" ||
        next.key !== key ||
        next.event.seq !== ++seq ||
        (size += next.event.text.length) > maxBatch
    )
    const rest = this.writes.splice(0, end < 0 ? Infinity : end)
    return [event, ...rest.flatMap((next) => ("event" in next ? [next.event] : []))]
  }

  /** Reports only the first failure, because a store that is down fails for every event. */
  private report(defect: unknown): Effect.Effect<void> {
    if (this.reported) return Effect.void
    this.reported = true
    return Effect.logError("The event store failed", defect)
  }

  /** Waits until everything that is pending now is written. */
  private get written(): Effect.Effect<void> {
    return Effect.callback<void>((resume) => {
      const done = () => Effect.sync(() => resume(Effect.void))
      this.write(done)
      // An interrupted wait must be removed, however long the store hangs.
      return Effect.sync(() => {
        const at = this.writes.indexOf(done)
        if (at >= 0) this.writes.splice(at, 1)
      })
    })
  }
}
