/**
 * A transport whose other end is the test: it pushes lines, and takes what leaves as parsed JSON.
 *
 * Owns nothing of the protocol: any JSON, or any text, can be pushed. No operation waits by itself, so a test decides the order.
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
export interface SentMessage {
  /** The parsed text. */
  readonly json: unknown
  readonly lane: Lane
  readonly relatedTo: JsonRpc.Id | undefined
}

/** A transport, and the test's end of it. */
export interface Scripted {
  readonly transport: Transport
  /** Has one line arrive: a string unchanged, any other value as JSON. */
  readonly push: (line: unknown) => Effect.Effect<void>
  /** Waits for the next message that leaves. */
  readonly take: Effect.Effect<unknown>
  /** All messages that have left, oldest first. */
  readonly sent: Effect.Effect<ReadonlyArray<SentMessage>>
  /** The other side ends the conversation in order. */
  readonly end: Effect.Effect<void>
  /** The transport breaks, for reading and for writing. */
  readonly fail: (error: TransportError) => Effect.Effect<void>
  /** The other side stops reading (`false`), or continues. Senders on the data lane wait meanwhile. */
  readonly setWritable: (writable: boolean) => Effect.Effect<void>
}

/**
 * A new transport. It has no fibers, so it needs no scope.
 *
 * @example
 * ```ts
 * import { McpServer } from "@effect-mcp/server"
 * import { Scripted } from "@effect-mcp/testing"
 * import { Effect, Layer } from "effect"
 *
 * const test = Effect.gen(function* () {
 *   const client = yield* Scripted.make
 *   const server = yield* McpServer.McpServer
 *   yield* server.connect(client.transport)
 *   yield* client.push({ jsonrpc: "2.0", id: 1, method: "ping" })
 *   console.log(JSON.stringify(yield* client.take)) // => {"jsonrpc":"2.0","id":1,"result":{}}
 * })
 *
 * const server = McpServer.layer({ name: "test", version: "1.0.0", features: Layer.empty })
 * await Effect.runPromise(Effect.scoped(Effect.provide(test, server)))
 * ```
 */
export const make: Effect.Effect<Scripted> = Effect.gen(function* () {
  const incoming = yield* Queue.unbounded<Inbound, TransportError | Cause.Done>()
  const outgoing = yield* Queue.unbounded<unknown>()
  const broken = yield* Deferred.make<never, TransportError>()
  const ready = Latch.makeUnsafe(true)
  const sent: Array<SentMessage> = []
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
