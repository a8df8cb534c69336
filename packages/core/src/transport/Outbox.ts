/**
 * The one queue in front of a writer: ordered, counted in bytes, never waited on by a reader.
 *
 * Two budgets on one order, so progress always precedes its response: the data lane makes its senders wait above a high-water
 * mark; the control lane (responses, cancellations, pings) never waits, and passing its cap breaks the wire. Sizes are lengths of
 * the JSON text: bytes for ASCII, and never less than a third of them.
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
  /** Above this many bytes of waiting control messages (when more than one waits) the wire is broken. Default 64 MiB. */
  readonly controlCap?: number | undefined
  /** How long closing the scope waits for what is queued to be written. Default 1 second. */
  readonly flush?: Duration.Input | undefined
}

export interface Outbox {
  readonly sink: Sink
  readonly broken: Effect.Effect<never, TransportError>
  /** Breaks the wire from outside: nothing more is sent. */
  readonly fail: (error: TransportError) => void
  /** Bytes waiting at this moment. */
  readonly size: () => number
}

/** One write is not much larger, however much waits: what is written is copied more than once, and large copies are cleared away late. */
const writeSize = 64 * 1024

/** What takes the text that leaves. */
export interface Writer {
  /**
   * Given the lines of one turn (the first of them, if they are many), joined by newlines. The one that ends the last is the writer's
   * to add: here it would cost a copy of the text. No more is given before the wire `taken` them.
   */
  readonly write: (text: string, taken: () => void) => void
  /** Nothing more is given. */
  readonly end: () => void
  /** Runs for as long as the wire lives, and is over after `end`. */
  readonly run: Effect.Effect<void, TransportError>
}

/** A writer that consumes a stream: pulling again says that the wire took what came before. */
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

/**
 * Starts the writer in the scope: one of callbacks, or the consumer of a stream whose elements each end by a newline. Closing the scope
 * first writes what is queued, for at most `flush`, then stops.
 */
export const make = Effect.fnUntraced(function* (
  write: Writer | ((outgoing: Stream.Stream<string>) => Effect.Effect<void, TransportError>),
  options: Options = {}
): Effect.fn.Return<Outbox, never, Scope.Scope> {
  const highWater = options.highWater ?? 1024 * 1024
  const controlCap = options.controlCap ?? 64 * 1024 * 1024
  const writer = typeof write === "function" ? streaming(write) : write
  const broken = Deferred.makeUnsafe<never, TransportError>()
  const ready = Latch.makeUnsafe(true)
  let queue: Array<Queued> = []
  let data = 0
  let control = 0
  let writing: Array<Queued> = []
  let scheduled = false
  let closing = false
  let failed = false

  const fail = (error: TransportError): void => {
    if (failed) return
    failed = true
    queue = []
    writing = []
    data = 0
    control = 0
    ready.openUnsafe()
    writer.end()
    Deferred.doneUnsafe(broken, Effect.fail(error))
  }

  const send = (message: JsonRpc.Message | ReadonlyArray<JsonRpc.Message>, lane: Lane): void => {
    if (failed) return
    const text = isBatch(message) ? `[${message.map(JsonRpc.encode).join(",")}]` : JsonRpc.encode(message)
    if (lane === "data") {
      data += text.length
      if (data >= highWater) ready.closeUnsafe()
    } else {
      control += text.length
      if (control > controlCap && control > text.length) {
        return fail(
          new TransportError({
            reason: "Overflow",
            message: `The other side is not reading: ${control} bytes of answers wait`
          })
        )
      }
    }
    queue.push({ text, lane })
    if (!scheduled && writing.length === 0) schedule()
  }

  // What is said in one turn is one write.
  const schedule = (): void => {
    scheduled = true
    queueMicrotask(flush)
  }
  const flush = (): void => {
    scheduled = false
    const [first] = queue
    if (first === undefined) return
    let { text } = first
    let count = 1
    while (count < queue.length && text.length < writeSize) text += `\n${queue[count++]?.text}`
    writing = count === queue.length ? queue : queue.slice(0, count)
    queue = count === queue.length ? [] : queue.slice(count)
    try {
      writer.write(text, taken)
    } catch (cause) {
      fail(new TransportError({ reason: "Write", message: "Writing has failed", cause }))
    }
  }
  const taken = (): void => {
    for (const entry of writing) {
      if (entry.lane === "data") data -= entry.text.length
      else control -= entry.text.length
    }
    writing = []
    if (data < highWater) ready.openUnsafe()
    if (queue.length > 0) schedule()
    else if (closing) writer.end()
  }
  // A writer that dies or just stops leaves a wire that looks alive and takes nothing.
  const running = Effect.map(Effect.exit(writer.run), (exit) => {
    if (closing) return
    const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
    fail(error ?? new TransportError({ reason: "Write", message: "Writing has stopped", cause: exit }))
  })

  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      failed = true
      ready.openUnsafe()
    })
  )
  const fiber = yield* Effect.forkScoped(running, { startImmediately: true })
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      closing = true
      if (failed) return Effect.void
      if (queue.length === 0 && writing.length === 0) writer.end()
      return Effect.timeoutOption(Effect.interruptible(Fiber.await(fiber)), options.flush ?? "1 second")
    })
  )

  return {
    sink: { send, writable: () => failed || data < highWater, ready: ready.await },
    broken: Deferred.await(broken),
    fail,
    size: () => data + control
  }
})

const isBatch = (u: JsonRpc.Message | ReadonlyArray<JsonRpc.Message>): u is ReadonlyArray<JsonRpc.Message> =>
  Array.isArray(u)
