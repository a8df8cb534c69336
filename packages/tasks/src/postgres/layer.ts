/**
 * A task store on Postgres, for any number of nodes.
 *
 * A node holds a session lock that ends with its connection, so a killed process is known to be gone before its leases expire. It also
 * listens on a channel for tasks changed by other nodes. Both are only shortcuts: expiring leases and polling lead to the same result, just
 * later.
 */
import type { Journal } from "../store/Journal.ts"
import type { TaskStore } from "../store/TaskStore.ts"
import { PgClient } from "@effect/sql-pg/PgClient"
import * as PgConnection from "@effect/sql-pg/PgConnection"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import type { SqlError } from "effect/sql/SqlError"
import { Changes } from "../sql/Changes.ts"
import type { Dialect, Sight } from "../sql/Dialect.ts"
import * as Store from "../sql/Store.ts"
import type { Options, TaskTables } from "../sql/Tables.ts"
import { Channel } from "./Channel.ts"

export type { Options, TaskTables } from "../sql/Tables.ts"

/** Interval at which awaited tasks are read, in addition to the channel, in milliseconds. */
const look = 1000
/** How long a lock must be missing before its node counts as gone, in milliseconds. A live node takes it again immediately. */
const missing = 400
/** How long a node waits before reconnecting, in milliseconds. */
const pause = 100
/** How long to try to take the lock at startup, in milliseconds. */
const patience = 20_000
/** First key of all of this package's advisory locks. */
const lockClass = 27_491

const prefix = "pg:"
const now = "floor(extract(epoch FROM statement_timestamp()) * 1000)::double precision"
const unheld = new Error(
  `Could not open the connection for this node's Postgres lock within ${patience / 1000} seconds. Each node needs one connection in addition to ` +
    "its pool. Raise max_connections, or lower the client's maxConnections"
)

/** Numbers the placeholders. This package's statements contain no other question marks. */
const text = (statement: string): string => {
  let count = 0
  return statement.replaceAll("?", () => `$${++count}`)
}

const sightOf = (sql: PgClient, node: string): Dialect["sight"] => {
  const statement = text(
    `SELECT node, 0 AS due FROM (SELECT DISTINCT node FROM mcp_task WHERE node IS NOT NULL) AS nodes
     WHERE node LIKE '${prefix}%' AND node <> ? AND (hashtext(node)::bigint & 4294967295) NOT IN (
       SELECT objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND classid = ${lockClass} AND granted)
     UNION ALL SELECT NULL, 1 WHERE EXISTS (SELECT 1 FROM mcp_task WHERE due <= ${now})`
  )
  /** Nodes whose lock is missing, and since when. */
  let suspects = new Map<string, number>()
  return Effect.gen(function* () {
    const rows = yield* sql.unsafe<{ readonly node: string | null; readonly due: number }>(statement, [node])
    const seen = yield* Clock.currentTimeMillis
    const nodes = rows.flatMap(({ node }) => (node === null ? [] : [node]))
    suspects = new Map(nodes.map((node) => [node, suspects.get(node) ?? seen]))
    const gone = nodes.filter((node) => seen - (suspects.get(node) ?? seen) >= missing)
    return { due: rows.some(({ due }) => due === 1), gone } satisfies Sight
  })
}

/** Lets an interrupted statement end with its connection if the database never responds. */
const left = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.flatMap(Effect.forkDetach(effect, { startImmediately: true }), (fiber) =>
    Effect.onInterrupt(Fiber.join(fiber), () => Effect.sync(() => fiber.interruptUnsafe()))
  )

/** A node's Postgres dialect. */
export const dialectOf = (sql: PgClient, node: string, tell: Dialect["tell"] = () => {}): Dialect => ({
  sql,
  node,
  text,
  // Postgres stores neither NUL nor lone surrogates, which ids, keys and messages of clients may contain.
  kept: (value) => value.replaceAll("\u0000", "\ufffd").toWellFormed(),
  now,
  among: (column) => `${column} = ANY(ARRAY(SELECT jsonb_array_elements_text(CAST(CAST(? AS text) AS jsonb))))`,
  lock: { share: " FOR SHARE", update: " FOR UPDATE", skip: " FOR UPDATE SKIP LOCKED" },
  exclusively: (migrations) =>
    sql.withTransaction(Effect.andThen(sql.unsafe(`SELECT pg_advisory_xact_lock(${lockClass})`), migrations)),
  left,
  bounded: (millis) => sql.unsafe(`SET LOCAL idle_in_transaction_session_timeout = ${Math.ceil(millis)}`),
  sight: sightOf(sql, node),
  tell
})

/** Runs an effect again whenever it ends, so that a dropped connection is reopened. */
const kept = (effect: Effect.Effect<unknown, SqlError>): Effect.Effect<never> =>
  Effect.forever(Effect.andThen(Effect.ignoreCause(effect), Effect.sleep(pause)))

/**
 * Holds the node's lock and listens on the channel, using a separate connection. The connection must stay idle, because Postgres doesn't
 * notice that a client is gone while it is running a statement.
 */
const living = (
  sql: PgClient,
  node: string,
  channel: Channel,
  changes: Changes,
  held: Latch.Latch
): Effect.Effect<unknown, SqlError> =>
  Effect.scoped(
    Effect.gen(function* () {
      const connection = yield* PgConnection.make(sql.config)
      yield* connection.query(`SELECT pg_advisory_lock_shared(${lockClass}, hashtext('${node}'))`)
      const told = yield* channel.listen(connection)
      yield* held.open
      return yield* channel.heard(told, changes)
    })
  )

/**
 * Keeps tasks in Postgres, using `@effect/sql-pg`, for any number of nodes. In addition to its pool, each node opens one connection, on
 * which it listens for changes and shows that it is alive.
 *
 * @example
 * ```ts
 * import { Tasks } from "@effect-mcp/tasks"
 * import * as Postgres from "@effect-mcp/tasks/postgres"
 * import { PgClient } from "@effect/sql-pg"
 * import { Layer, Redacted } from "effect"
 *
 * const database = PgClient.layer({ url: Redacted.make("postgres://localhost/tasks") })
 * const store = Layer.provide(Postgres.layer(), database)
 *
 * export const tasks = Layer.provide(Tasks.layerStore(), store)
 * ```
 */
export const layer = (options: Options = {}): Layer.Layer<TaskStore | Journal | TaskTables, never, PgClient> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const sql = yield* PgClient
      const node = prefix + crypto.randomUUID()
      const changes = new Changes()
      const channel = yield* Channel.make(sql, node)
      const dialect = dialectOf(sql, node, channel.tell)
      const store = yield* Store.make(dialect, changes, { look, others: Effect.succeed(true) }, options)
      const held = Latch.makeUnsafe(false)
      yield* Effect.forkScoped(kept(living(sql, node, channel, changes, held)))
      // A node without a lock counts as gone, and other nodes would run its tasks as well.
      yield* Effect.timeoutOrElse(held.await, { duration: patience, orElse: () => Effect.die(unheld) })
      return store
    })
  )
