/**
 * Effects that must happen once per request, however many rounds the request takes.
 *
 * In a stateful session a request has one round, so the effect simply runs; where a request is replayed, its recorded value is
 * returned. A handler that uses it reads the same in every revision.
 */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { ClientInput } from "./ClientInput.ts"

/**
 * Runs `effect` and records its value under `name`, which must be unique within the handler. `schema` is how it is recorded, as JSON.
 *
 * Gotcha: where requests are replayed the effect is not interrupted by a cancel, has a time limit of its own, and must not ask. One that
 * fails is not recorded; it may be tried again.
 */
export const run = <A, E, R>(
  name: string,
  schema: Schema.Codec<A, unknown>,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R | ClientInput> => Effect.flatMap(ClientInput, (input) => input.once(name, schema, effect))
