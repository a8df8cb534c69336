/**
 * An audit trail's queue, and the single fiber that writes it. The fiber chains the entries and appends them in batches.
 *
 * The queue is bounded: beyond `capacity`, requests wait, or entries are dropped and counted. A failing sink is retried until it works.
 */
import { effectOf } from "@effect-mcp/core/internal/calling"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as chain from "./chain.ts"
import type { AuditEntry } from "./Record.ts"
import { AuditSink, SinkError } from "./Sink.ts"

export interface Options {
  /** Maximum number of entries waiting for the sink. Default 1024. */
  readonly capacity?: number | undefined
  /**
   * Behavior when the queue is full. `block` makes requests wait before they are handled, so that no request event is lost. `drop` drops
   * entries, and `audit.dropped` reports how many. With `block`, entries that aren't requests are dropped once twice as many are waiting.
   * Default `block`.
   */
  readonly whenFull?: "block" | "drop" | undefined
  /** Key for an HMAC chain. By default plain hashes are used, which anyone who can rewrite the whole file can recompute. */
  readonly key?: Redacted.Redacted | undefined
  /** How long to wait for the sink when the layer closes. Default 5 seconds. */
  readonly flush?: Duration.Input | undefined
}

const batch = 256

/** Retries forever, at most 10 seconds apart. */
const retries = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("10 seconds")])

/** Picks an entry's fields, because a program's own entry may contain others, such as a record's `seq` and `time`. */
const fieldsOf = ({ actor, code, details, event, id, method, ms, outcome, target }: AuditEntry): AuditEntry => ({
  event,
  actor,
  method,
  target,
  id,
  outcome,
  code,
  ms,
  details
})

export class Trail {
  private readonly waiting: Array<{ readonly entry: AuditEntry; readonly at: number }> = []
  private readonly some = Latch.makeUnsafe(false)
  private readonly room = Latch.makeUnsafe(true)
  private readonly capacity: number
  private readonly blocks: boolean
  private readonly clock: Clock.Clock
  private dropped = 0
  private ending = false

  constructor({ capacity = 1024, whenFull = "block" }: Options, clock: Clock.Clock) {
    this.capacity = capacity
    this.blocks = whenFull === "block"
    this.clock = clock
  }

  /** Records an entry. Returns false if it was dropped. */
  note(entry: AuditEntry): boolean {
    // Requests were admitted while there was room, so none is lost if they wait for it.
    const isAdmitted = this.blocks && entry.event === "request"
    const isLast = entry.event === "audit.closed"
    const most = this.blocks ? this.capacity * 2 : this.capacity
    if (this.waiting.length >= most && !isAdmitted && !isLast) {
      this.dropped++
      return false
    }
    this.waiting.push({ entry, at: this.clock.currentTimeMillisUnsafe() })
    if (this.blocks && this.waiting.length >= this.capacity) this.room.closeUnsafe()
    this.some.openUnsafe()
    return true
  }

  /** Returns an effect that a request must wait for, or `undefined` if there is room. */
  readonly admit = (): Effect.Effect<void> | undefined =>
    this.waiting.length >= this.capacity && this.blocks ? this.room.await : undefined

  /** Stops accepting entries, then writes the pending ones and `audit.closed`. */
  end(): void {
    this.note({ event: "audit.closed" })
    this.ending = true
    this.some.openUnsafe()
  }

  private take(): ReadonlyArray<object> {
    const taken = this.waiting
      .splice(0, batch)
      .map(({ at, entry }) => ({ time: new Date(at).toISOString(), ...fieldsOf(entry) }))
    if (this.waiting.length === 0 && !this.ending) this.some.closeUnsafe()
    if (this.waiting.length < this.capacity) this.room.openUnsafe()
    if (this.dropped === 0) return taken
    const details = { entries: this.dropped }
    this.dropped = 0
    const time = new Date(this.clock.currentTimeMillisUnsafe()).toISOString()
    return [...taken, { time, event: "audit.dropped", details }]
  }

  /** Writes entries until the trail ends. */
  write(sink: AuditSink["Service"], hash: chain.Hasher, from: chain.Tail): Effect.Effect<void> {
    let tail = from
    // A sink is the program's own code. If it throws, retry, because without a writer every request would wait for room.
    const append = (lines: ReadonlyArray<string>) =>
      effectOf("AuditSink.append", () => sink.append(lines)).pipe(
        Effect.catchDefect((cause) => Effect.fail(new SinkError({ message: "The audit sink threw an error", cause }))),
        Effect.tapError(({ cause, message }) => Effect.ignoreCause(Effect.logError(message, cause))),
        Effect.retry(retries),
        Effect.orDie
      )
    const step = Effect.gen({ self: this }, function* () {
      yield* this.some.await
      const lines: Array<string> = []
      for (const fields of this.take()) {
        const linked = yield* chain.link(tail, fields, hash)
        lines.push(linked.line)
        tail = linked.tail
      }
      if (lines.length > 0) yield* append(lines)
      return this.ending && this.waiting.length === 0
    })
    const loop: Effect.Effect<void> = Effect.flatMap(step, (over) => (over ? Effect.void : loop))
    return loop
  }
}

/** Starts the writer in the scope. When the scope closes, pending entries are written. */
export const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<Trail, SinkError, AuditSink | Scope.Scope> {
  const sink = yield* AuditSink
  const trail = new Trail(options, yield* Clock.Clock)
  const hash = yield* chain.hasherOf(options.key)
  const ending = yield* sink.ending
  trail.note({ event: "audit.opened", ...(ending?.torn === true ? { details: { torn: true } } : undefined) })
  const done = yield* Deferred.make<void>()
  // Terminates a torn line before the first new line.
  if (ending?.torn === true) yield* sink.append([""])
  yield* trail
    .write(sink, hash, ending?.tail ?? chain.start)
    .pipe(Effect.ensuring(Deferred.succeed(done, undefined)), Effect.forkScoped({ startImmediately: true }))
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      trail.end()
      return Effect.asVoid(Effect.timeoutOption(Deferred.await(done), options.flush ?? "5 seconds"))
    })
  )
  return trail
})
