/**
 * Two connected in-memory transports. Messages are exchanged as JSON text, so each side sees exactly what a remote peer would send.
 *
 * Messages are never dropped: each end buffers messages until the other end pulls them, up to the limits of its outbox.
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

/** Limits of an in-memory transport, and the metadata the server receives with each message. */
export interface Options extends Outbox.Options {
  /** Attached to every message that arrives at the server end. */
  readonly envelope?: Envelope | undefined
  /** Maximum nesting depth of an incoming message. Deeper messages are rejected (-32600). Default 256. */
  readonly maxMessageDepth?: number | undefined
  /** Number of writes that may be waiting for the other end to read them. Default 16. */
  readonly capacity?: number | undefined
}

/** Text that one end has written and the other end hasn't read yet. */
class Wire {
  readonly queue: Queue.Queue<string, Cause.Done>
  private isClosing = false

  constructor(queue: Queue.Queue<string, Cause.Done>) {
    this.queue = queue
  }

  /** Waits for room. While the wire is closing, a reader that has stopped must not block it. */
  readonly write = (text: string): Effect.Effect<boolean> =>
    Effect.suspend(() => (this.isClosing && Queue.isFullUnsafe(this.queue) ? this.end : Queue.offer(this.queue, text)))

  get closing(): Effect.Effect<unknown> {
    return Effect.suspend(() => {
      this.isClosing = true
      return Queue.isFullUnsafe(this.queue) ? this.end : Effect.void
    })
  }

  /** Ends the reader once it has read everything. */
  get end(): Effect.Effect<boolean> {
    return Queue.end(this.queue)
  }
}

const makeWire = (capacity: number): Effect.Effect<Wire> =>
  Effect.map(Queue.bounded<string, Cause.Done>(capacity), (queue) => new Wire(queue))

const end = Effect.fnUntraced(function* (
  input: Wire,
  output: Wire,
  options: Options,
  envelope: Envelope | undefined
): Effect.fn.Return<Transport, never, Scope.Scope> {
  const outbox = yield* Outbox.make(Stream.runForEach(output.write), options)
  return {
    ...Incoming.flatMap({ incoming: Stream.fromQueue(input.queue) }, (text) =>
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
 * Creates a client end and a server end. Closing the scope closes both.
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
  const { capacity = 16 } = options
  const toServer = yield* makeWire(capacity)
  const toClient = yield* makeWire(capacity)
  yield* Effect.addFinalizer(() => Effect.andThen(toServer.end, toClient.end))
  // When the scope closes, each end finishes writing its queued messages first.
  const client = yield* end(toClient, toServer, options, undefined)
  const server = yield* end(toServer, toClient, options, options.envelope)
  yield* Effect.addFinalizer(() => Effect.andThen(toServer.closing, toClient.closing))
  return [client, server]
})
