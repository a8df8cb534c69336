/**
 * What the streams of a session write to the `EventStore`: one write after the other, none waited for by whoever sends.
 *
 * Owns what a store may do wrong. One that is slow, fails or hangs leaves a gap, of which whoever comes back for it is told; it never
 * stands in the way of the session, and the session outlives it.
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { Event, EventsGone, EventStore } from "../session/EventStore.ts"
import type { Log } from "./EventStream.ts"

/** What is to be written may be that large; what comes then is not kept. */
const maxBehind = 4 * 1024 * 1024
/** How long a store may take for what somebody waits for. */
const patience = "10 seconds"

interface Write {
  readonly size: number
  readonly run: () => Effect.Effect<void>
}

export class SessionLog {
  private readonly store: EventStore["Service"]
  private readonly session: string
  private readonly runFork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  private readonly writes: Array<Write> = []
  private behind = 0
  private writing = false
  private writer: Fiber.Fiber<void> | undefined = undefined
  private over = false
  private complained = false

  constructor(store: EventStore["Service"], session: string, runFork: SessionLog["runFork"]) {
    this.store = store
    this.session = session
    this.runFork = runFork
  }

  private readonly work = Effect.whileLoop({
    while: () => (this.writing = this.writes.length > 0),
    body: () =>
      Effect.catchDefect(
        Effect.suspend(() => this.writes[0]?.run() ?? Effect.void),
        (defect) => this.complain(defect)
      ),
    step: () => void (this.behind -= this.writes.shift()?.size ?? 0)
  })

  /** Once: a store that is down fails for every event. */
  private complain(defect: unknown): Effect.Effect<void> {
    if (this.complained) return Effect.void
    this.complained = true
    return Effect.logError("The event store failed", defect)
  }

  private write(size: number, run: Write["run"]): void {
    this.writes.push({ size, run })
    this.behind += size
    if (this.writing) return
    this.writing = true
    this.writer = this.runFork(this.work)
  }

  /** Waits until all was written that is to be by now. */
  private readonly settled = Effect.callback<void>((resume) =>
    this.write(0, () => Effect.sync(() => resume(Effect.void)))
  )

  /** The part of one stream. A read sees what was written before; it dies where the store fails, or takes too long. */
  of(stream: string): Log {
    const key = { session: this.session, stream }
    return {
      append: (event: Event): void => {
        if (this.over || this.behind > maxBehind) return
        // What outlives the session must not bring its events back.
        this.write(event.text.length, () => (this.over ? Effect.void : this.store.append(key, event)))
      },
      after: (seq: number): Effect.Effect<ReadonlyArray<Event>, EventsGone> =>
        Effect.timeoutOrElse(
          Effect.andThen(
            this.settled,
            Effect.suspend(() => this.store.after(key, seq))
          ),
          { duration: patience, orElse: () => Effect.die(new Error("The event store does not answer")) }
        )
    }
  }

  forget(stream: string): void {
    this.write(0, () => this.store.forget(this.session, stream))
  }

  /** Nothing more is written, and what was is dropped. */
  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    this.over = true
    this.write(0, () => this.store.forget(this.session))
    return Effect.andThen(
      Effect.timeoutOption(this.settled, "1 second"),
      Effect.sync(() => this.writer?.interruptUnsafe())
    )
  })
}
