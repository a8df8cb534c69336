/**
 * A transport over a pair of byte streams, with newline-delimited JSON in both directions. It is the basis for stdio, pipes, sockets and
 * custom transports (spec: basic/transports, custom transports).
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import * as Framing from "./Framing.ts"
import * as Incoming from "./Incoming.ts"
import * as Outbox from "./Outbox.ts"
import type { Transport, TransportError } from "./Transport.ts"

/** Limits of a byte stream transport. */
export interface Options extends Outbox.Options {
  /** Maximum size of an incoming message, in bytes. Default 4 MiB. */
  readonly maxMessageBytes?: number | undefined
  /** Maximum nesting depth of an incoming message. Deeper messages are rejected (-32600). Default 256. */
  readonly maxMessageDepth?: number | undefined
}

/** A pair of byte streams. For a source with callbacks, create `incoming` and `delivery` with `fromCallback`. */
export interface Bytes extends Incoming.Incoming<Uint8Array, TransportError> {
  /**
   * Writes the outgoing stream. Each element consists of whole lines, and pulling the next element signals that the previous one has been
   * written. Pass a `Writer` instead to write with callbacks.
   */
  readonly write: Outbox.Writer | ((outgoing: Stream.Stream<string>) => Effect.Effect<void, TransportError>)
}

/**
 * Creates the incoming side from a source with callbacks. `run` calls `receive` for each chunk until the effect ends or is interrupted. If
 * `receive` throws, the effect must end with that defect.
 *
 * @example
 * ```ts
 * import { Duplex, Transport } from "@effect-mcp/core"
 * import { Effect } from "effect"
 * import type { Readable } from "node:stream"
 *
 * export const bytesOf = (readable: Readable) =>
 *   Duplex.fromCallback((receive) =>
 *     Effect.callback<void, Transport.TransportError>((resume) => {
 *       readable.on("data", (chunk) => {
 *         try {
 *           receive(chunk)
 *         } catch (defect) {
 *           resume(Effect.die(defect))
 *         }
 *       })
 *       readable.on("end", () => resume(Effect.void))
 *     })
 *   )
 * ```
 */
export const fromCallback: (
  run: Incoming.Delivery<Uint8Array, TransportError>["run"]
) => Required<Pick<Bytes, "incoming" | "delivery">> = Incoming.fromCallback

/**
 * Creates a transport that stays open until the scope closes. `incoming` can only be run once. After each chunk, `held` is called with the
 * number of buffered bytes in the unfinished line.
 *
 * @example
 * ```ts
 * import { Duplex, Transport } from "@effect-mcp/core"
 * import { Effect, Stream } from "effect"
 *
 * declare const bytes: Stream.Stream<Uint8Array, Transport.TransportError>
 * declare const write: (text: string) => Effect.Effect<void, Transport.TransportError>
 *
 * export const transport = Effect.suspend(() =>
 *   Duplex.make({ incoming: bytes, write: Stream.runForEach(write) }, { maxMessageBytes: 1024 * 1024 })
 * )
 * ```
 */
export const make = (
  bytes: Bytes,
  options: Options = {},
  held?: (size: number) => void
): Effect.Effect<Transport, never, Scope.Scope> =>
  Effect.map(Outbox.make(bytes.write, options), ({ sent, sink, broken }) => {
    const lines = new Framing.LineDecoder(options.maxMessageBytes, options.maxMessageDepth)
    const traffic = {
      received: 0,
      get sent() {
        return sent()
      }
    }
    const messages = Incoming.flatMap(bytes, (chunk) => {
      traffic.received += chunk.length
      const messages = lines.push(chunk)
      held?.(lines.held)
      return messages
    })
    return { ...messages, sink, broken, traffic }
  })
