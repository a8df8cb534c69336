/**
 * Two ends of one in-memory wire. Messages really cross as JSON text, so each side sees exactly what a peer would.
 *
 * Nothing is dropped: each end holds what the other has not pulled, at most the outbox's budgets.
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

export interface Options extends Outbox.Options {
  /** Attached to every message that arrives at the second (server) end. */
  readonly envelope?: Envelope | undefined
  /** The deepest nesting of a message that is read; a deeper one is refused (-32600). Default 256. */
  readonly maxMessageDepth?: number | undefined
  /** How many writes may wait for the other end to pull. Default 16. */
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

/** The client's end and the server's end. Closing the scope ends both. */
export const pair = Effect.fnUntraced(function* (
  options: Options = {}
): Effect.fn.Return<readonly [client: Transport, server: Transport], never, Scope.Scope> {
  const toServer = yield* Queue.bounded<string, Cause.Done>(options.capacity ?? 16)
  const toClient = yield* Queue.bounded<string, Cause.Done>(options.capacity ?? 16)
  yield* Effect.addFinalizer(() => Effect.andThen(Queue.shutdown(toServer), Queue.shutdown(toClient)))
  const client = yield* end(toClient, toServer, options, undefined)
  const server = yield* end(toServer, toClient, options, options.envelope)
  // An end that goes away ends what the other end reads.
  yield* Effect.addFinalizer(() => Effect.andThen(Queue.end(toServer), Queue.end(toClient)))
  return [client, server]
})
