/**
 * Runs effects once per request, no matter how many rounds the request takes, and once per task, no matter how often the task is resumed.
 *
 * In a session, a request has a single round, so the effect simply runs. If a request is replayed (2026-07-28), or a task resumes after its
 * process ended, later rounds receive the recorded value. Handler code is the same in every revision.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { ClientInput } from "./ClientInput.ts"

/** Name of the current step. */
const Step = Context.Reference<string | undefined>("@effect-mcp/core/Once/Step", { defaultValue: () => undefined })

/**
 * Runs `effect` and records its value under `name`, which must be unique within the handler; using it twice is a defect. `schema` encodes
 * the value as JSON.
 *
 * If requests are replayed, cancelling the request does not interrupt the effect; a separate time limit applies, and the effect must not
 * ask the client questions. Failures are not recorded, so a later round may run the effect again.
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
 * Sleeps for `duration`, counted from the first time the handler reaches this point. In a task, the sleep survives a restart: the next
 * attempt only sleeps for the remaining time, and a sleep longer than 30 seconds doesn't occupy a fiber. `name` must be unique among the
 * handler's steps.
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
 * Idempotency key for the current step, to pass to a service that acts only once per key. In a task, the key is the same in every attempt.
 * In a request, each run of the step has a new key. Using it outside a step is a defect.
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
    return yield* Effect.die(new Error("Once.key is only available inside a step. Use it within Once.run"))
  const { task } = yield* ClientInput
  return task === undefined ? crypto.randomUUID() : `${task.id}/${step}`
})

/** The request isn't recorded in the transaction's database, so the two can't be committed together. The step did not run. */
export class NoTransaction extends Data.TaggedError("NoTransaction")<{ readonly message: string }> {}

/**
 * Runs a step in a `sql` transaction and records its value in the same transaction, so that either both are stored or neither is. Writes
 * made through `sql` happen exactly once, without an idempotency key, no matter how often the task is resumed. Other effects happen at
 * least once, as with `run`. `sql` must be the client that stores the tasks: the client from `@effect-mcp/tasks/sqlite`, or the client you
 * passed to `@effect-mcp/tasks/postgres`.
 *
 * Fails with `NoTransaction` if the tasks are stored elsewhere, and in a replayed request. If the request is neither replayed nor a task,
 * nothing is recorded and this is an ordinary transaction. The step holds a database connection (on SQLite, the only one), so keep it
 * short. Postgres ends a transaction that has been idle for longer than a lease. After a temporary failure, such as a deadlock, the step
 * runs again.
 *
 * @example
 * ```ts
 * import { Once } from "@effect-mcp/core"
 * import { Effect, Schema } from "effect"
 * import { SqlClient } from "effect/sql"
 *
 * export const transfer = Effect.fn("transfer")(function* (from: string, to: string, cents: number) {
 *   const sql = yield* SqlClient.SqlClient
 *   const moved = Effect.gen(function* () {
 *     yield* sql`UPDATE account SET cents = cents - ${cents} WHERE id = ${from}`
 *     yield* sql`UPDATE account SET cents = cents + ${cents} WHERE id = ${to}`
 *     return cents
 *   })
 *   return yield* Once.transaction(sql)("transfer", Schema.Int, moved)
 * })
 * ```
 */
export const transaction =
  (sql: SqlClient) =>
  <A, E, R>(
    name: string,
    schema: Schema.Codec<A, unknown>,
    effect: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E | SqlError | NoTransaction, R | ClientInput> =>
    Effect.flatMap(
      ClientInput,
      ({ once: onceOf, recorded, task }): Effect.Effect<A, E | SqlError | NoTransaction, R> => {
        const step = Effect.provideService(effect, Step, name)
        if (task === undefined && recorded === undefined) return onceOf(name, schema, sql.withTransaction(step))
        const once = task?.transaction(sql)
        if (once !== undefined) return once(name, schema, step)
        const where =
          task === undefined
            ? 'requests outside tasks are not recorded in a database. Set `task: "required"` on the tool'
            : "this server stores its tasks elsewhere. Pass the transaction's SQL client to `Durable`"
        return Effect.fail(
          new NoTransaction({ message: `The step ${name} cannot be recorded in its transaction: ${where}` })
        )
      }
    )
