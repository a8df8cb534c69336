/**
 * Two ends of a transport in memory. Messages cross as JSON text, so each side sees what any peer would send.
 *
 * No message is dropped: each end keeps what the other has not pulled, up to the budgets of its outbox.
 */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Framing from "./Framing.ts"
import * as Incoming from "./Incoming.ts"
import * as Outbox from "./Outbox.ts"
import type { Envelope, Inbound, Transport } from "./Transport.ts"

/** Limits of a transport in memory, and what its server end sees. */
export interface Options extends Outbox.Options {
  /** Attached to every message that arrives at the server end. */
  readonly envelope?: Envelope | undefined
  /** The deepest nesting of a message that is read; a deeper one is refused (-32600). Default 256. */
  readonly maxMessageDepth?: number | undefined
  /** How many writes may wait until the other end pulls them. Default 16. */
  readonly capacity?: number | undefined
}

type Wire = Queue.Queue<string, Cause.Done>

const end = Effect.fnUntraced(function* (
  input: Wire,
  output: Wire,
  options: Options,
  envelope: Envelope | undefined
): Effect.fn.Return<Transport, never, Scope.Scope> {
  const outbox = yield* Outbox.make(
    Stream.runForEach((text) => Queue.offer(output, text)),
    options
  )
  return {
    ...Incoming.flatMap({ incoming: Stream.fromQueue(input) }, (text) =>
      text
        .split("\n")
        .filter((line) => line !== "")
        .map((line): Inbound => Framing.decode(line, envelope, options.maxMessageDepth))
    ),
    sink: outbox.sink,
    broken: outbox.broken
  }
})

/**
 * The client's end and the server's end. Closing the scope ends both.
 *
 * @example
 * ```ts
 * import { McpClient } from "@effect-mcp/client"
 * import { Memory } from "@effect-mcp/core"
 * import { McpServer } from "@effect-mcp/server"
 * import { Effect } from "effect"
 *
 * // A client of the server of this process.
 * export const client = Effect.gen(function* () {
 *   const [near, far] = yield* Memory.pair()
 *   const server = yield* McpServer.McpServer
 *   yield* server.connect(far)
 *   return yield* McpClient.connect(near)
 * })
 * ```
 */
export const pair = Effect.fnUntraced(function* (
  options: Options = {}
): Effect.fn.Return<readonly [client: Transport, server: Transport], never, Scope.Scope> {
  const toServer = yield* Queue.bounded<string, Cause.Done>(options.capacity ?? 16)
  const toClient = yield* Queue.bounded<string, Cause.Done>(options.capacity ?? 16)
  yield* Effect.addFinalizer(() => Effect.andThen(Queue.shutdown(toServer), Queue.shutdown(toClient)))
  const client = yield* end(toClient, toServer, options, undefined)
  const server = yield* end(toServer, toClient, options, options.envelope)
  // Closing either end ends what the other reads.
  yield* Effect.addFinalizer(() => Effect.andThen(Queue.end(toServer), Queue.end(toClient)))
  return [client, server]
})
