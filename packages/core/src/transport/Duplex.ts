/**
 * A pair of byte streams as a transport: newline-delimited JSON in both directions. What stdio, pipes and sockets have in common, and
 * all that a custom transport over a byte stream needs (spec: basic/transports, custom transports).
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import * as Framing from "./Framing.ts"
import * as Incoming from "./Incoming.ts"
import * as Outbox from "./Outbox.ts"
import type { Transport, TransportError } from "./Transport.ts"

export interface Options extends Outbox.Options {
  /** The largest message that is read, in bytes. Default 4 MiB. */
  readonly maxMessageBytes?: number | undefined
  /** The deepest nesting of a message that is read; a deeper one is refused (-32600). Default 256. */
  readonly maxMessageDepth?: number | undefined
}

/** A pair of byte streams. `incoming` with its `delivery` where the source has callbacks (`Incoming.fromCallback`). */
export interface Bytes extends Incoming.Incoming<Uint8Array, TransportError> {
  /**
   * Consumes the stream of what leaves: elements are whole lines, and pulling the next says that the wire took the one before. Or takes
   * the lines by callbacks.
   */
  readonly write: Outbox.Writer | ((outgoing: Stream.Stream<string>) => Effect.Effect<void, TransportError>)
}

/** The transport lives as long as the scope. `incoming` may be run once. */
export const make = (bytes: Bytes, options: Options = {}): Effect.Effect<Transport, never, Scope.Scope> =>
  Effect.map(Outbox.make(bytes.write, options), ({ sink, broken }) => {
    const lines = new Framing.LineDecoder(options.maxMessageBytes, options.maxMessageDepth)
    return { ...Incoming.flatMap(bytes, (chunk) => lines.push(chunk)), sink, broken }
  })
