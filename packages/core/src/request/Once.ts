/**
 * Effects that run once per request, however many rounds the request takes, and once per task, however often it is continued.
 *
 * In a session a request has one round, so the effect simply runs. Where a request is replayed (2026-07-28), and where a task continues after
 * its process ended, later rounds get the recorded value. A handler reads the same in every revision.
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

/** What the request records is not in the database of the transaction, so neither could commit with the other. The step did not run. */
export class NoTransaction extends Data.TaggedError("NoTransaction")<{ readonly message: string }> {}

/**
 * Runs a step in a transaction of `sql`, and records its value in the same transaction: both are in the database, or neither. What it writes
 * by `sql` is there exactly once, without a key, however often the task is continued; anything else that it does is at least once, as in
 * `run`. `sql` is the client that the tasks are stored by: of `@effect-mcp/tasks/sqlite`, or the one that `@effect-mcp/tasks/postgres` was given.
 *
 * Fails with `NoTransaction` where the tasks are stored elsewhere, and in a request that is replayed. A request that is neither replayed nor
 * a task records nothing: there it is a transaction. The step holds a connection, on SQLite the only one, so it should be short; on Postgres a
 * transaction that is idle for longer than a lease is ended. After a failure that may pass, such as a deadlock, it runs again.
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
    Effect.flatMap(ClientInput, ({ recorded, task }): Effect.Effect<A, E | SqlError | NoTransaction, R> => {
      const step = Effect.provideService(effect, Step, name)
      if (task === undefined && recorded === undefined) return sql.withTransaction(step)
      const once = task?.transaction(sql)
      if (once !== undefined) return once(name, schema, step)
      const where =
        task === undefined
          ? 'a request that is replayed records nothing in a database: give the tool `task: "required"`'
          : "the tasks of this server are stored elsewhere: give `Durable` the SQL client of the transaction"
      return Effect.fail(
        new NoTransaction({ message: `The step ${name} cannot be recorded in its transaction: ${where}` })
      )
    })
