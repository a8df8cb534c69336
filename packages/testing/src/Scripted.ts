/**
 * A transport whose other end is the test: what arrives is pushed by hand, what leaves is taken as parsed JSON.
 *
 * Owns nothing of the protocol: any JSON, or text that is none, can be put on the wire. Nothing waits, so a test decides the order
 * of everything.
 */
import * as Framing from "@effect-mcp/core/Framing"
import type { Inbound, Lane, Transport, TransportError } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"

/** One message or batch that left. */
export interface Sent {
  /** As it reads on the wire. */
  readonly json: unknown
  readonly lane: Lane
  readonly relatedTo: JsonRpc.Id | undefined
}

export interface Scripted {
  readonly transport: Transport
  /** Puts one line on the wire: a string as it is, anything else as its JSON. */
  readonly push: (line: unknown) => Effect.Effect<void>
  /** The next message that leaves; waits for it. */
  readonly take: Effect.Effect<unknown>
  /** Everything that has left so far, oldest first. */
  readonly sent: Effect.Effect<ReadonlyArray<Sent>>
  /** The other side ends the conversation in order. */
  readonly end: Effect.Effect<void>
  /** The wire breaks: both reading and writing. */
  readonly fail: (error: TransportError) => Effect.Effect<void>
  /** The other side stops reading (`false`), or reads on: senders of data wait meanwhile. */
  readonly setWritable: (writable: boolean) => Effect.Effect<void>
}

/** A fresh wire. It needs no scope: nothing runs behind it. */
export const make: Effect.Effect<Scripted> = Effect.gen(function* () {
  const incoming = yield* Queue.unbounded<Inbound, TransportError | Cause.Done>()
  const outgoing = yield* Queue.unbounded<unknown>()
  const broken = yield* Deferred.make<never, TransportError>()
  const ready = Latch.makeUnsafe(true)
  const sent: Array<Sent> = []
  let writable = true
  return {
    transport: {
      incoming: Stream.fromQueue(incoming),
      sink: {
        send: (message, lane, relatedTo) => {
          const json: unknown = JSON.parse(JsonRpc.isBatch(message) ? batch(message) : JsonRpc.encode(message))
          sent.push({ json, lane, relatedTo })
          Queue.offerUnsafe(outgoing, json)
        },
        writable: () => writable,
        ready: ready.await
      },
      broken: Deferred.await(broken)
    },
    push: (line) =>
      Effect.asVoid(Queue.offer(incoming, Framing.decode(typeof line === "string" ? line : JSON.stringify(line)))),
    take: Queue.take(outgoing),
    sent: Effect.sync(() => [...sent]),
    end: Effect.asVoid(Queue.end(incoming)),
    fail: (error) => Effect.andThen(Queue.fail(incoming, error), Deferred.fail(broken, error)),
    setWritable: (next) =>
      Effect.suspend(() => {
        writable = next
        return next ? ready.open : ready.close
      })
  }
})

const batch = (messages: ReadonlyArray<JsonRpc.Message>): string => `[${messages.map(JsonRpc.encode).join(",")}]`
