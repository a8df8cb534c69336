/**
 * Effects that run once per request, however many rounds the request takes, and once per task, however often it is continued.
 *
 * In a session a request has one round, so the effect simply runs. Where a request is replayed (2026-07-28), and where a task continues after
 * its process ended, later rounds get the recorded value. A handler reads the same in every revision.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { ClientInput } from "./ClientInput.ts"

/** The name of the running step. */
const Step = Context.Reference<string | undefined>("@effect-mcp/core/Once/Step", { defaultValue: () => undefined })

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
): Effect.Effect<A, E, R | ClientInput> =>
  Effect.flatMap(ClientInput, (input) => input.once(name, schema, Effect.provideService(effect, Step, name)))

/**
 * Sleeps for a duration that begins when the handler first comes here. In a task a sleep outlasts the process: another attempt sleeps what
 * is left, and one of more than 30 seconds holds no fiber. `name` must be unique among the steps of the handler.
 *
 * @example
 * ```ts
 * import { Once } from "@effect-mcp/core"
 * import { Effect, Schema } from "effect"
 *
 * declare const deploy: Effect.Effect<string>
 * declare const check: (site: string) => Effect.Effect<void>
 *
 * export const publish = Effect.gen(function* () {
 *   const site = yield* Once.run("deploy", Schema.String, deploy)
 *   yield* Once.sleep("settle", "10 minutes")
 *   yield* check(site)
 * })
 * ```
 */
export const sleep = (name: string, duration: Duration.Input): Effect.Effect<void, never, ClientInput> =>
  Effect.gen(function* () {
    const { once, task } = yield* ClientInput
    const millis = Duration.toMillis(Duration.fromInputUnsafe(duration))
    if (task === undefined) {
      const end = Effect.map(Clock.currentTimeMillis, (now) => now + millis)
      const left = (yield* once(name, Schema.Finite, end)) - (yield* Clock.currentTimeMillis)
      yield* Effect.sleep(Math.max(0, left))
    } else yield* task.sleep(name, millis)
  })

/**
 * A key for the effect of the running step: for a service that does a thing once per key, however often it is asked. In a task it is the same
 * in every attempt; in a request each run of the step has a key of its own. Outside of a step it is a defect.
 *
 * @example
 * ```ts
 * import { Once } from "@effect-mcp/core"
 * import { Effect, Schema } from "effect"
 *
 * declare const charge: (amount: number, options: { readonly idempotencyKey: string }) => Effect.Effect<string>
 *
 * export const pay = Once.run(
 *   "charge",
 *   Schema.String,
 *   Effect.flatMap(Once.key, (idempotencyKey) => charge(100, { idempotencyKey }))
 * )
 * ```
 */
export const key: Effect.Effect<string, never, ClientInput> = Effect.gen(function* () {
  const step = yield* Step
  if (step === undefined)
    return yield* Effect.die(new Error("Once.key is the key of a step: use it inside of Once.run"))
  const { task } = yield* ClientInput
  return task === undefined ? crypto.randomUUID() : `${task.id}/${step}`
})
