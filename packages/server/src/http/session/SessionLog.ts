/**
 * What the streams of a session write to the `EventStore`: one write after the other, none waited for by whoever sends. What a stream
 * says in one turn, or while the store was busy, is one write.
 *
 * Owns what a store may do wrong. One that is slow, fails or hangs leaves a gap, of which whoever comes back for it is told; it never
 * stands in the way of the session, and the session outlives it.
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { Event, EventsGone, EventStore, StreamKey } from "./EventStore.ts"
import type { Burst } from "./EventBatch.ts"
import type { Log } from "./EventStream.ts"

/** What is to be written may be that large; what comes then is not kept. */
const maxBehind = 4 * 1024 * 1024
/** So much is written before the turn is over. Not less: what is that large the garbage collector does not copy. */
const maxBurst = 256 * 1024
/** With as many writes waiting no stream is forgotten any more. */
const maxWaiting = 4096
/** How long a store may take for what somebody waits for. */
const patience = "10 seconds"

/** A burst of a stream. */
interface Entry {
  readonly key: StreamKey
  readonly burst: Burst
}

type Write = Entry | (() => Effect.Effect<void>)

export class SessionLog {
  private readonly session: string
  private readonly store: EventStore["Service"]
  private readonly runFork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  private writes: Array<Write> = []
  private behind = 0
  private writer: Fiber.Fiber<void> | undefined = undefined
  private writing = false
  private scheduled = false
  private over = false
  private complained = false

  constructor(store: EventStore["Service"], session: string, runFork: SessionLog["runFork"]) {
    this.store = store
    this.session = session
    this.runFork = runFork
  }

  /** Writes until nothing is left. */
  private work(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const write = this.writes.shift()
      this.writing = write !== undefined
      if (write === undefined) {
        // An array that was ever filled has room for many.
        this.writes = []
        return Effect.void
      }
      return Effect.andThen(
        Effect.catchDefect(
          Effect.suspend(() => this.run(write)),
          (defect) => this.complain(defect)
        ),
        this.work()
      )
    })
  }

  private run(write: Write): Effect.Effect<void> {
    if (typeof write === "function") return write()
    const { key } = write
    const bursts = this.following(write)
    // Of one burst it is the text that is sent, too: `join` would copy it.
    const text = bursts.length === 1 ? write.burst.close() : bursts.map((burst) => burst.close()).join("")
    const events = bursts.flatMap(({ events }) => events)
    return Effect.ensuring(
      // What outlives the session must not bring its events back.
      Effect.suspend(() => (this.over ? Effect.void : this.store.append(key, events, text))),
      Effect.sync(() => {
        for (const burst of bursts) this.behind -= burst.counted
      })
    )
  }

  /** The burst, and those after it that follow it: of a store that was busy there may be many. */
  private following({ burst, key }: Entry): ReadonlyArray<Burst> {
    const bursts = [burst]
    let { last } = burst
    let size = burst.text.length
    for (let next = this.writes[0]; next !== undefined && typeof next !== "function"; next = this.writes[0]) {
      size += next.burst.text.length
      if (next.key !== key || next.burst.first !== last + 1 || size > maxBurst) break
      bursts.push(next.burst)
      last = next.burst.last
      this.writes.shift()
    }
    return bursts
  }

  /** Once: a store that is down fails for every event. */
  private complain(defect: unknown): Effect.Effect<void> {
    if (this.complained) return Effect.void
    this.complained = true
    return Effect.logError("The event store failed", defect)
  }

  private write(write: Write): void {
    this.writes.push(write)
    if (this.writing || this.scheduled) return
    this.scheduled = true
    queueMicrotask(() => this.start())
  }

  private start(): void {
    this.scheduled = false
    if (this.writing || this.writes.length === 0) return
    const writer = this.runFork(this.work())
    this.writer = this.writing ? writer : undefined
  }

  append(key: StreamKey, burst: Burst): void {
    if (this.over || (burst.counted === 0 && this.behind > maxBehind)) return
    if (burst.counted === 0) this.write({ key, burst })
    this.behind += burst.text.length - burst.counted
    burst.counted = burst.text.length
    if (this.behind > maxBurst) this.start()
  }

  /** Waits until all was written that is to be by now. */
  private get settled(): Effect.Effect<void> {
    return Effect.callback<void>((resume) => {
      const settle = () => Effect.sync(() => resume(Effect.void))
      this.write(settle)
      // Who does not wait any more leaves nothing behind, however long the store hangs.
      return Effect.sync(() => {
        const at = this.writes.indexOf(settle)
        if (at >= 0) this.writes.splice(at, 1)
      })
    })
  }

  /** A read sees what was written before; it dies where the store fails, or takes too long. */
  after(key: StreamKey, seq: number): Effect.Effect<ReadonlyArray<Event>, EventsGone> {
    return Effect.timeoutOrElse(
      Effect.andThen(
        this.settled,
        Effect.suspend(() => this.store.after(key, seq))
      ),
      { duration: patience, orElse: () => Effect.die(new Error("The event store does not answer")) }
    )
  }

  /** The part of one stream. */
  of(stream: string): Log {
    return new StreamLog(this, { session: this.session, stream })
  }

  forget(stream: string): void {
    // Of a store that hangs not more is asked: what it has of the stream goes with the session.
    if (this.writes.length < maxWaiting) this.write(() => this.store.forget(this.session, stream))
  }

  /** Nothing more is written, and what was is dropped. */
  get close(): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.over = true
      this.write(() => this.store.forget(this.session))
      return Effect.andThen(
        Effect.timeoutOption(Effect.interruptible(this.settled), "1 second"),
        Effect.sync(() => this.writer?.interruptUnsafe())
      )
    })
  }
}

class StreamLog implements Log {
  private readonly log: SessionLog
  private readonly key: StreamKey

  constructor(log: SessionLog, key: StreamKey) {
    this.log = log
    this.key = key
  }

  append(burst: Burst): void {
    this.log.append(this.key, burst)
  }

  after(seq: number): Effect.Effect<ReadonlyArray<Event>, EventsGone> {
    return this.log.after(this.key, seq)
  }
}
