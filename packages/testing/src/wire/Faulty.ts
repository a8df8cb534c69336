/**
 * Transports with injected faults: messages are lost, duplicated or delayed, or the transport breaks.
 *
 * The faults depend only on the seed, so a failing run can be repeated. Messages stay in order: as on a real connection, a delayed message
 * holds up the messages behind it. Delays use the `Clock`.
 */
import * as Memory from "@effect-mcp/core/Memory"
import { type Inbound, type Transport, TransportError } from "@effect-mcp/core/Transport"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

/** Probability of each fault per incoming message, from 0 (the default) to 1. */
export interface Faults {
  /** Any integer. The same seed always produces the same faults. */
  readonly seed: number
  /** Probability of dropping a message. */
  readonly drop?: number | undefined
  /** Probability of delivering a message twice. */
  readonly duplicate?: number | undefined
  /** Probability of delaying a message. */
  readonly delay?: number | undefined
  /** Maximum delay. Default 1 second. */
  readonly maxDelay?: Duration.Input | undefined
  /** Probability of breaking the transport instead of delivering a message. */
  readonly cut?: number | undefined
}

/** Generates numbers from 0 to 1 from a seed (a 32-bit mix of a counter). */
const generator = (seed: number): (() => number) => {
  let state = seed | 0
  return () => {
    state = (state + 0x9e3779b9) | 0
    let z = state
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad)
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97)
    return ((z ^ (z >>> 15)) >>> 0) / 2 ** 32
  }
}

/** Adds faults to the messages a transport receives. */
export const transport = (self: Transport, faults: Faults): Transport => {
  const { cut = 0, delay = 0, drop = 0, duplicate = 0, maxDelay = "1 second" } = faults
  const longest = Duration.toMillis(Duration.fromInputUnsafe(maxDelay))
  const withFaults = (
    inbound: Inbound,
    random: () => number
  ): Effect.Effect<ReadonlyArray<Inbound>, TransportError> => {
    // Each fault uses a separate random number, so that changing one probability does not affect the others.
    const [lost, twice, late, wait, broken] = [random(), random(), random(), random(), random()]
    if (broken < cut) return Effect.fail(new TransportError({ reason: "Read", message: "The wire was cut" }))
    const arrived = lost < drop ? [] : twice < duplicate ? [inbound, inbound] : [inbound]
    return late < delay ? Effect.as(Effect.sleep(wait * longest), arrived) : Effect.succeed(arrived)
  }
  return {
    ...self,
    incoming: Stream.suspend(() => {
      const random = generator(faults.seed)
      return self.incoming.pipe(
        Stream.mapEffect((inbound) => withFaults(inbound, random)),
        Stream.flattenIterable
      )
    })
  }
}

/**
 * Creates an in-memory transport pair with faults in both directions.
 *
 * @example
 * ```ts
 * import { Tools, Tool } from "@effect-mcp/core"
 * import { Faulty, McpTest } from "@effect-mcp/testing"
 * import { Effect } from "effect"
 *
 * const Ping = Tool.make("ping", { description: "Answers" })
 * const ping = Tools.layer(Ping, () => Effect.succeed("pong"))
 *
 * const test = Effect.gen(function* () {
 *   const wire = Faulty.pair({ seed: 7, delay: 0.5, maxDelay: "5 millis" })
 *   const client = yield* McpTest.connect(ping, "2025-11-25", { wire })
 *   const { content } = yield* client.callTool(Ping, {})
 *   console.log(content.length) // => 1
 * })
 *
 * await Effect.runPromise(Effect.scoped(test))
 * ```
 */
export const pair = (
  faults: Faults,
  options?: Memory.Options
): Effect.Effect<readonly [client: Transport, server: Transport], never, Scope.Scope> =>
  Effect.map(Memory.pair(options), ([client, server]) => [
    transport(client, faults),
    transport(server, { ...faults, seed: faults.seed ^ 0x5bd1e995 })
  ])

/** Splits bytes into chunks of one to `maxBytes` (default 7) bytes. */
export const split =
  (options: { readonly seed: number; readonly maxBytes?: number | undefined }) =>
  <E, R>(bytes: Stream.Stream<Uint8Array, E, R>): Stream.Stream<Uint8Array, E, R> =>
    Stream.suspend(() => {
      const random = generator(options.seed)
      const { maxBytes = 7 } = options
      return Stream.flattenIterable(
        Stream.map(bytes, (chunk) => {
          const pieces: Array<Uint8Array> = []
          for (let start = 0; start < chunk.length;) {
            const end = start + 1 + Math.floor(random() * maxBytes)
            pieces.push(chunk.subarray(start, end))
            start = end
          }
          return pieces
        })
      )
    })
