/**
 * The queue in front of a writer: ordered, with limits in bytes. Reading messages never waits for it.
 *
 * Two lanes share one order, so progress always precedes its response. Senders on the data lane wait while it is above its high-water mark.
 * The control lane (responses, cancellations, pings) never waits; exceeding its limit closes the transport with an error. Sizes are the
 * lengths of JSON strings, which equal their size in bytes for ASCII and are never less than a third of it.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Option from "effect/Option"
import type * as Pull from "effect/Pull"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type Lane, type Sink, TransportError } from "./Transport.ts"

export interface Options {
  /** Queued bytes above which senders on the data lane have to wait. Default 1 MiB. */
  readonly highWater?: number | undefined
  /** Queued bytes above which several control messages close the transport with an error. Default 64 MiB. */
  readonly controlCap?: number | undefined
  /** How long to wait for queued messages to be written when the scope closes. Default 1 second. */
  readonly flush?: Duration.Input | undefined
}

/** A running outbox. */
export interface Outbox {
  readonly sink: Sink
  readonly broken: Effect.Effect<never, TransportError>
  /** Closes the transport with an error. Nothing more is sent. */
  readonly fail: (error: TransportError) => void
  /** Returns the number of queued bytes. */
  readonly size: () => number
  /** Returns the number of bytes sent so far. */
  readonly sent: () => number
}

/** Usual maximum size of one write. Large strings are copied more than once, and the copies are garbage-collected late. */
const writeSize = 64 * 1024

/** Milliseconds after which a response no longer waits for its notifications to be read. */
const apart = 1

/** Writes outgoing text. */
export interface Writer {
  /**
   * Called with the lines queued in one turn, joined by newlines. It is not called again until the writer has called `taken`. The writer
   * adds the newline after the last line, because adding it here would copy the string.
   */
  readonly write: (text: string, taken: () => void) => void
  /**
   * Waits between writing notifications and writing the response that follows them, so that the peer receives them separately. Default:
   * notifications and responses share writes.
   */
  readonly pause?: ((resume: () => void) => void) | undefined
  /** Called when there will be no more calls to `write`. */
  readonly end: () => void
  /** Runs as long as the transport is open, and completes after `end`. */
  readonly run: Effect.Effect<void, TransportError>
}

/** Creates a writer from a stream consumer. Pulling the next element signals that the previous one has been written. */
const streaming = (write: (outgoing: Stream.Stream<string>) => Effect.Effect<void, TransportError>): Writer => {
  let offered: { readonly text: string; readonly taken: () => void } | undefined
  let taken: (() => void) | undefined
  let wake: ((next: Pull.Pull<readonly [string]>) => void) | undefined
  let ended = false
  const give = (): void => {
    if (wake === undefined || (offered === undefined && !ended)) return
    const resume = wake
    const next = offered
    wake = undefined
    offered = undefined
    taken = next?.taken
    resume(next === undefined ? Cause.done() : Effect.succeed([`${next.text}\n`] as const))
  }
  const pull: Pull.Pull<readonly [string]> = Effect.callback((resume) => {
    const before = taken
    taken = undefined
    before?.()
    wake = resume
    give()
  })
  return {
    write: (text, taken) => {
      offered = { text, taken }
      give()
    },
    end: () => {
      ended = true
      give()
    },
    run: Effect.suspend(() => write(Stream.fromPull(Effect.succeed(pull))))
  }
}

interface Queued {
  readonly text: string
  readonly lane: Lane
}

/** Lines that are waiting for the writer, and lines that the writer has not forwarded yet. */
class SendQueue {
  /** Open while senders on the data lane don't have to wait. */
  readonly ready = Latch.makeUnsafe(true)
  readonly broken = Deferred.makeUnsafe<never, TransportError>()
  private readonly writer: Writer
  private readonly highWater: number
  private readonly controlCap: number
  /** `closing`: queued lines are still written. `failed`: nothing is sent or written anymore. */
  private state: "open" | "closing" | "failed" = "open"
  private queue: Array<Queued> = []
  private writing: Array<Queued> = []
  /** Number of characters in both arrays, by lane. */
  private data = 0
  private control = 0
  private scheduled = false
  /** When notifications were last written, in milliseconds, unless something else was written since. */
  private notified: number | undefined = undefined
  /** Number of characters queued so far. */
  sent = 0

  constructor(writer: Writer, highWater: number, controlCap: number) {
    this.writer = writer
    this.highWater = highWater
    this.controlCap = controlCap
  }

  get size(): number {
    return this.data + this.control
  }

  /** There is almost always room. */
  readonly whenReady = Effect.suspend(() => (this.writable() ? Effect.void : this.ready.await))

  readonly writable = (): boolean => this.state === "failed" || this.data < this.highWater

  readonly send = (message: JsonRpc.Message | ReadonlyArray<JsonRpc.Message>, lane: Lane): void => {
    if (this.state === "failed") return
    const text = JsonRpc.isBatch(message) ? `[${message.map(JsonRpc.encode).join(",")}]` : JsonRpc.encode(message)
    this.sent += text.length
    if (lane === "data") {
      this.data += text.length
      if (this.data >= this.highWater) this.ready.closeUnsafe()
    } else {
      this.control += text.length
      if (this.control > this.controlCap && this.control > text.length) return this.overflow()
    }
    this.queue.push({ text, lane })
    if (!this.scheduled && this.writing.length === 0) this.schedule()
  }

  private overflow(): void {
    const message = `The other side is not reading. ${this.control} bytes of responses are waiting`
    this.fail(new TransportError({ reason: "Overflow", message }))
  }

  /** Everything sent in one turn is combined into one write. */
  private schedule(): void {
    this.scheduled = true
    queueMicrotask(this.flush)
  }

  private readonly flush = (): void => {
    const { queue } = this
    this.scheduled = false
    const [first] = queue
    if (first === undefined || this.state === "failed" || this.paused(first.lane)) return
    let { lane, text } = first
    let count = 1
    for (let next = queue[1]; next !== undefined && text.length < writeSize; next = queue[count]) {
      if (lane !== next.lane && lane === "data" && this.writer.pause !== undefined) break
      text += `\n${next.text}`
      lane = next.lane
      count++
    }
    if (lane === "data") this.notified = performance.now()
    this.writing = count === queue.length ? queue : queue.slice(0, count)
    this.queue = count === queue.length ? [] : queue.slice(count)
    try {
      this.writer.write(text, this.taken)
    } catch (cause) {
      this.fail(new TransportError({ reason: "Write", message: "Writing has failed", cause }))
    }
  }

  /** True if a response is waiting because its notifications have just been sent. */
  private paused(lane: Lane): boolean {
    if (this.notified === undefined) return false
    const age = performance.now() - this.notified
    this.notified = undefined
    if (lane === "data" || age > apart || this.writer.pause === undefined) return false
    this.scheduled = true
    this.writer.pause(this.flush)
    return true
  }

  private readonly taken = (): void => {
    for (const entry of this.writing) {
      if (entry.lane === "data") this.data -= entry.text.length
      else this.control -= entry.text.length
    }
    this.writing = []
    if (this.data < this.highWater) this.ready.openUnsafe()
    if (this.queue.length > 0) this.schedule()
    else if (this.state === "closing") this.writer.end()
  }

  readonly fail = (error: TransportError): void => {
    if (this.state === "failed") return
    this.state = "failed"
    this.queue = []
    this.writing = []
    this.data = 0
    this.control = 0
    this.ready.openUnsafe()
    this.writer.end()
    Deferred.doneUnsafe(this.broken, Effect.fail(error))
  }

  /** Runs the writer. If the writer fails or stops, the transport closes with an error; otherwise it would appear open but send nothing. */
  get run(): Effect.Effect<void> {
    return Effect.map(Effect.exit(this.writer.run), (exit) => {
      if (this.state === "closing") return
      const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
      this.fail(error ?? new TransportError({ reason: "Write", message: "Writing has stopped", cause: exit }))
    })
  }

  /** Lets the writer finish once the queue is written. Returns false if that can't happen because writing has failed. */
  close(): boolean {
    if (this.state === "failed") return false
    this.state = "closing"
    if (this.queue.length === 0 && this.writing.length === 0) this.writer.end()
    return true
  }

  /** Releases waiting senders and stops sending. */
  stop(): void {
    this.state = "failed"
    this.ready.openUnsafe()
  }
}

/**
 * Starts the writer in the scope. Pass either a `Writer` with callbacks, or a consumer of a stream whose elements end with a newline. When
 * the scope closes, queued messages are still written for at most `flush`.
 */
export const make = Effect.fnUntraced(function* (
  write: Writer | ((outgoing: Stream.Stream<string>) => Effect.Effect<void, TransportError>),
  options: Options = {}
): Effect.fn.Return<Outbox, never, Scope.Scope> {
  const { controlCap = 64 * 1024 * 1024, flush = "1 second", highWater = 1024 * 1024 } = options
  const queue = new SendQueue(typeof write === "function" ? streaming(write) : write, highWater, controlCap)
  yield* Effect.addFinalizer(() => Effect.sync(() => queue.stop()))
  const fiber = yield* Effect.forkScoped(queue.run, { startImmediately: true })
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() =>
      queue.close() ? Effect.timeoutOption(Effect.interruptible(Fiber.await(fiber)), flush) : Effect.void
    )
  )
  return {
    sink: { send: queue.send, writable: queue.writable, ready: queue.whenReady, backlog: () => queue.size },
    broken: Deferred.await(queue.broken),
    fail: queue.fail,
    size: () => queue.size,
    sent: () => queue.sent
  }
})
