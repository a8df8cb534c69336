/** A node that shares a Postgres database with other nodes. */
import { PgClient } from "@effect/sql-pg/PgClient"
import * as PgConnection from "@effect/sql-pg/PgConnection"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import type { SqlError } from "effect/sql/SqlError"
import { Topics } from "../events/Topics.ts"
import { layerOf, type Options, timesOf } from "../layerOf.ts"
import * as TcpRelay from "../relay/TcpRelay.ts"
import { LeaseConnection } from "./LeaseConnection.ts"
import { ratesIn } from "./rates.ts"
import { directoryOf, eventsIn, query, repliesIn, unavailable } from "./stores.ts"
import { migrate, secret } from "./Tables.ts"

export type PostgresOptions = Options & TcpRelay.Options

/** How long a node waits before reconnecting, in milliseconds. */
const pause = 100

/** Listens on a separate connection, and reconnects whenever it drops. */
const listening = (sql: PgClient, channel: string, topics: Topics): Effect.Effect<never> => {
  const once = Effect.scoped(
    Effect.gen(function* () {
      const connection = yield* PgConnection.make(sql.config)
      const heard = Effect.flatMap(connection.listen(channel), (queue) =>
        Effect.forever(Effect.map(Queue.take(queue), ({ payload }) => topics.receive(payload)))
      )
      // Closing sends UNLISTEN, which a hanging connection does not answer, so the connection is closed without waiting.
      const fiber = yield* Effect.forkDetach(Effect.scoped(heard))
      return yield* Effect.ensuring(
        Fiber.join(fiber),
        Effect.sync(() => fiber.interruptUnsafe())
      )
    })
  )
  return Effect.forever(Effect.andThen(Effect.ignoreCause(once), Effect.sleep(pause)))
}

const hex = (bytes: number): string => Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString("hex")

const prepared = (sql: PgClient): Effect.Effect<{ readonly relay: string; readonly key: string }, SqlError> =>
  Effect.gen(function* () {
    yield* migrate(sql)
    return { relay: yield* secret(sql, "relay", hex(32)), key: yield* secret(sql, "state", hex(32)) }
  })

export const layer = (options: PostgresOptions) =>
  layerOf(
    Effect.gen(function* () {
      const sql = yield* PgClient
      const secrets = yield* Effect.mapError(prepared(sql), unavailable)
      const times = timesOf(options)
      const { address, relay } = yield* TcpRelay.make(options, secrets.relay)
      const run = query(sql)
      const ofLease = yield* LeaseConnection.make(sql.config, times.lease / 3)
      const [place] = yield* run<{ readonly name: string }>("SELECT 'mcp_nodes_' || md5(current_schema()) AS name", [])
      const channel = place?.name ?? "mcp_nodes"
      const topics = yield* Topics.make((payloads) =>
        run("SELECT pg_notify($1, value) FROM jsonb_array_elements_text(CAST(CAST($2 AS text) AS jsonb))", [
          channel,
          JSON.stringify(payloads)
        ])
      )
      yield* Effect.forkScoped(listening(sql, channel, topics))
      return {
        times,
        address,
        relay,
        bus: topics,
        store: directoryOf(run, ofLease.run, times),
        events: eventsIn(sql),
        replies: repliesIn(sql),
        rates: options.sharedRateLimits === true ? yield* ratesIn(run) : undefined,
        key: Buffer.from(secrets.key, "hex")
      }
    })
  )
