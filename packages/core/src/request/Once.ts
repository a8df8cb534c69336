/**
 * Effects that run once per request, however many rounds the request takes.
 *
 * In a session a request has one round, so the effect simply runs. Where a request is replayed (2026-07-28), later rounds get the recorded
 * value. A handler reads the same in every revision.
 */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { ClientInput } from "./ClientInput.ts"

/**
 * Runs `effect` and records its value under `name`, which must be unique within the handler. `schema` encodes the value to JSON.
 *
 * Where requests are replayed, a cancel does not interrupt the effect. It has a time limit of its own, and must not ask the client. A
 * failure is not recorded, so a later round may run the effect again.
 *
 * @example
 * ```ts
 * import { Elicitation, Once } from "@effect-mcp/core"
 * import { Effect, Schema } from "effect"
 *
 * declare const reserve: Effect.Effect<string>
 *
 * // Without `Once` the answer to the question would run `reserve` again.
 * export const book = Effect.gen(function* () {
 *   const seat = yield* Once.run("reserve", Schema.String, reserve)
 *   yield* Elicitation.confirm(`Book seat ${seat}?`)
 *   return seat
 * })
 * ```
 */
export const run = <A, E, R>(
  name: string,
  schema: Schema.Codec<A, unknown>,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R | ClientInput> => Effect.flatMap(ClientInput, (input) => input.once(name, schema, effect))
