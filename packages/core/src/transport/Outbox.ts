/**
 * The queue in front of a writer: ordered, bounded in bytes; a reader never waits for it.
 *
 * Two budgets over one order, so progress always precedes its response. Senders on the data lane wait above a high-water mark. The control
 * lane (responses, cancellations, pings) never waits; more than its cap breaks the transport. Sizes are lengths of the JSON text: the
 * bytes of ASCII, and at least a third of the bytes of any text.
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
  /** Above this many bytes waiting, senders on the data lane wait. Default 1 MiB. */
  readonly highWater?: number | undefined
  /** Above this many bytes of waiting control messages, if more than one waits, the transport breaks. Default 64 MiB. */
  readonly controlCap?: number | undefined
  /** How long closing the scope waits for what is queued to be written. Default 1 second. */
  readonly flush?: Duration.Input | undefined
}

/** A running outbox. */
export interface Outbox {
  readonly sink: Sink
  readonly broken: Effect.Effect<never, TransportError>
  /** Breaks the transport: no more is sent. */
  readonly fail: (error: TransportError) => void
  /** Bytes that wait now. */
  readonly size: () => number
  /** Bytes that were given to it in all. */
  readonly sent: () => number
}

/** The usual limit of one write: large texts are copied more than once, and their copies are collected late. */
const writeSize = 64 * 1024

/** Milliseconds after which an answer no longer waits for its notifications to be read. */
const apart = 1

/** Writes the text that leaves. */
export interface Writer {
  /**
   * Called with lines of one turn, joined by newlines, and not again before it has called `taken`. The writer adds the newline that ends
   * the last line: adding it here would copy the text.
   */
  readonly write: (text: string, taken: () => void) => void
  /**
   * Waits between notifications that were just written and the answer after them, so that the reader gets them apart. Default: notifications
   * and answers share writes.
   */
  readonly pause?: ((resume: () => void) => void) | undefined
  /** Called when `write` will not be called again. */
  readonly end: () => void
  /** Runs for as long as the transport lives, and ends after `end`. */
  readonly run: Effect.Effect<void, TransportError>
}

/** A writer that consumes a stream: the next pull means that the element before was written. */
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

/** The lines that wait for the writer, and those that the writer has not yet handed on. */
class SendQueue {
  /** Open while senders on the data lane need not wait. */
  readonly ready = Latch.makeUnsafe(true)
  readonly broken = Deferred.makeUnsafe<never, TransportError>()
  private readonly writer: Writer
  private readonly highWater: number
  private readonly controlCap: number
  /** `closing`: what is queued is still written. `failed`: no more is sent, nor written. */
  private state: "open" | "closing" | "failed" = "open"
  private queue: Array<Queued> = []
  private writing: Array<Queued> = []
  /** Characters of both arrays, by lane. */
  private data = 0
  private control = 0
  private scheduled = false
  /** When notifications were written last, in milliseconds, if nothing was written since. */
  private notified: number | undefined = undefined
  /** Characters that were queued in all. */
  sent = 0

  constructor(writer: Writer, highWater: number, controlCap: number) {
    this.writer = writer
    this.highWater = highWater
    this.controlCap = controlCap
  }

  get size(): number {
    return this.data + this.control
  }

  /** Nearly always there is room. */
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
    const message = `The other side is not reading: ${this.control} bytes of answers wait`
    this.fail(new TransportError({ reason: "Overflow", message }))
  }

  /** All that is sent in one turn is one write. */
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

  /** Whether an answer waits because its notifications have just left. */
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

  /** Runs the writer. One that dies or stops breaks the transport, which would otherwise look alive and send no more. */
  get run(): Effect.Effect<void> {
    return Effect.map(Effect.exit(this.writer.run), (exit) => {
      if (this.state === "closing") return
      const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
      this.fail(error ?? new TransportError({ reason: "Write", message: "Writing has stopped", cause: exit }))
    })
  }

  /** Lets the writer end once it has written what is queued. False where it never will: writing has failed. */
  close(): boolean {
    if (this.state === "failed") return false
    this.state = "closing"
    if (this.queue.length === 0 && this.writing.length === 0) this.writer.end()
    return true
  }

  /** Senders do not wait any more, and nothing is sent. */
  stop(): void {
    this.state = "failed"
    this.ready.openUnsafe()
  }
}

/**
 * Starts the writer in the scope: one of callbacks, or the consumer of a stream whose elements each end by a newline. Closing the scope
 * first writes what is queued, for at most `flush`, then stops.
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
