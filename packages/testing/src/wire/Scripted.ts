/**
 * A transport whose other end is controlled by the test, which pushes lines and takes outgoing messages as parsed JSON.
 *
 * It isn't aware of the protocol, so you can push any JSON or text. No operation waits on its own; the test decides the order of events.
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

/** An outgoing message or batch. */
export interface SentMessage {
  /** The message's parsed JSON. */
  readonly json: unknown
  readonly lane: Lane
  readonly relatedTo: JsonRpc.Id | undefined
}

/** A transport together with the test's end of it. */
export interface Scripted {
  readonly transport: Transport
  /** Delivers one line. Strings are sent as they are, and other values as JSON. */
  readonly push: (line: unknown) => Effect.Effect<void>
  /** Waits for the next outgoing message. */
  readonly take: Effect.Effect<unknown>
  /** All messages sent so far, oldest first. */
  readonly sent: Effect.Effect<ReadonlyArray<SentMessage>>
  /** Closes the session cleanly from the other side. */
  readonly end: Effect.Effect<void>
  /** Breaks the transport in both directions. */
  readonly fail: (error: TransportError) => Effect.Effect<void>
  /** Stops (`false`) or resumes reading on the other side. While reading is stopped, senders on the data lane wait. */
  readonly setWritable: (writable: boolean) => Effect.Effect<void>
}

/**
 * Creates a scripted transport. It starts no fibers, so it doesn't need a scope.
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
