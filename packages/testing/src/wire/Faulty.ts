/**
 * Transports with faults: messages are lost, arrive twice or late, or the transport breaks.
 *
 * The faults of a run follow from its seed alone, so a failing run can be repeated. Order is kept: a late message delays those behind it,
 * as on a real wire. Delays are by the Clock.
 */
import * as Memory from "@effect-mcp/core/Memory"
import { type Inbound, type Transport, TransportError } from "@effect-mcp/core/Transport"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

/** How likely each fault is, per message that arrives: from 0 (default) to 1. */
export interface Faults {
  /** Any integer. The same seed gives the same faults. */
  readonly seed: number
  /** That the message is lost. */
  readonly drop?: number | undefined
  /** That it arrives twice. */
  readonly duplicate?: number | undefined
  /** That it arrives late. */
  readonly delay?: number | undefined
  /** The longest delay of a late message. Default 1 second. */
  readonly maxDelay?: Duration.Input | undefined
  /** That the transport breaks instead of delivering it. */
  readonly cut?: number | undefined
}

/** Numbers from 0 to 1, the same for the same seed (a 32-bit mix of a counter). */
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

/** The same transport with faults in what arrives. */
export const transport = (self: Transport, faults: Faults): Transport => {
  const { cut = 0, delay = 0, drop = 0, duplicate = 0, maxDelay = "1 second" } = faults
  const longest = Duration.toMillis(Duration.fromInputUnsafe(maxDelay))
  const withFaults = (
    inbound: Inbound,
    random: () => number
  ): Effect.Effect<ReadonlyArray<Inbound>, TransportError> => {
    // Each fault has a random number of its own, so changing one likelihood does not change the others.
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
 * A pair in memory with faults in both directions.
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

/** The same bytes in other pieces, of one to `maxBytes` (default 7) bytes. */
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
