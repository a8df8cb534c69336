/**
 * Creates and upgrades the tables with numbered migrations, which all nodes can run at the same time.
 *
 * A released migration never changes. A new one may only add things, because nodes running the previous release may still be up.
 */
import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import type { SqlError } from "effect/sql/SqlError"

/** First key of all of this package's advisory locks. */
const lockClass = 27_492

const migrations: ReadonlyArray<ReadonlyArray<string>> = [
  [
    "CREATE TABLE mcp_node (id text PRIMARY KEY, until timestamptz NOT NULL)",
    "CREATE TABLE mcp_session (id text PRIMARY KEY, node text NOT NULL, epoch integer NOT NULL, record text NOT NULL)",
    "CREATE INDEX mcp_session_node ON mcp_session (node)",
    // A row holds the text of consecutive events: the positions of the first and last, and where each one ends in the text.
    `CREATE TABLE mcp_event (
      session text NOT NULL REFERENCES mcp_session (id) ON DELETE CASCADE, stream text NOT NULL,
      first bigint NOT NULL, last bigint NOT NULL, ends text NOT NULL, text text NOT NULL,
      PRIMARY KEY (session, stream, first))`,
    "CREATE TABLE mcp_reply (jti text PRIMARY KEY, node text NOT NULL, expires timestamptz NOT NULL, reply text)",
    "CREATE INDEX mcp_reply_expires ON mcp_reply (expires)",
    "CREATE TABLE mcp_secret (name text PRIMARY KEY, value text NOT NULL)"
  ],
  [
    `CREATE UNLOGGED TABLE mcp_rate (bucket text PRIMARY KEY, tokens double precision NOT NULL, rate double precision NOT NULL,
      at timestamptz NOT NULL)`
  ]
]

/** Upgrades the tables to the latest version. */
export const migrate = (sql: PgClient): Effect.Effect<void, SqlError> =>
  sql.withTransaction(
    Effect.gen(function* () {
      yield* sql.unsafe(`SELECT pg_advisory_xact_lock(${lockClass})`)
      yield* sql.unsafe("CREATE TABLE IF NOT EXISTS mcp_nodes_version (number integer NOT NULL)")
      const [row] = yield* sql.unsafe<{ readonly number: number | null }>(
        "SELECT max(number) AS number FROM mcp_nodes_version"
      )
      for (const [index, statements] of migrations.entries()) {
        if (index < (row?.number ?? 0)) continue
        for (const statement of statements) yield* sql.unsafe(statement)
        yield* sql.unsafe("INSERT INTO mcp_nodes_version (number) VALUES ($1::integer)", [index + 1])
      }
    })
  )

/** Returns a secret shared by the nodes. The first node creates it. */
export const secret = (sql: PgClient, name: string, made: string): Effect.Effect<string, SqlError> =>
  Effect.map(
    Effect.andThen(
      sql.unsafe("INSERT INTO mcp_secret (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING", [name, made]),
      sql.unsafe<{ readonly value: string }>("SELECT value FROM mcp_secret WHERE name = $1", [name])
    ),
    ([row]) => row?.value ?? made
  )
