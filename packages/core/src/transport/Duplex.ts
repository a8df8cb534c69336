/**
 * A pair of byte streams as a transport: newline-delimited JSON in both directions. Stdio, pipes, sockets and custom transports over byte
 * streams are made of it (spec: basic/transports, custom transports).
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import * as Framing from "./Framing.ts"
import * as Incoming from "./Incoming.ts"
import * as Outbox from "./Outbox.ts"
import type { Transport, TransportError } from "./Transport.ts"

/** Limits of a transport over bytes. */
export interface Options extends Outbox.Options {
  /** The largest message that is read, in bytes. Default 4 MiB. */
  readonly maxMessageBytes?: number | undefined
  /** The deepest nesting of a message that is read; a deeper one is refused (-32600). Default 256. */
  readonly maxMessageDepth?: number | undefined
}

/** A pair of byte streams. `fromCallback` makes `incoming` and `delivery` of a source that has callbacks. */
export interface Bytes extends Incoming.Incoming<Uint8Array, TransportError> {
  /**
   * Consumes the stream of what leaves: elements are whole lines, and the next pull means that the one before was written. Or writes the
   * lines by callbacks.
   */
  readonly write: Outbox.Writer | ((outgoing: Stream.Stream<string>) => Effect.Effect<void, TransportError>)
}

/**
 * The incoming bytes of a source that calls back. `run` calls `receive` for each chunk until the effect ends or is interrupted; an error
 * that `receive` throws must end it as a defect.
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
) => Required<Incoming.Incoming<Uint8Array, TransportError>> = Incoming.fromCallback

/**
 * A transport that lives as long as the scope. `incoming` may be run once.
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
export const make = (bytes: Bytes, options: Options = {}): Effect.Effect<Transport, never, Scope.Scope> =>
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
      return lines.push(chunk)
    })
    return { ...messages, sink, broken, traffic }
  })
