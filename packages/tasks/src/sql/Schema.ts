/**
 * Creates and upgrades the tables with numbered migrations, which all nodes may run at the same time.
 *
 * A released migration never changes. A new one may only add things, because nodes of the previous release may still be running.
 */
import * as Effect from "effect/Effect"
import type { SqlError } from "effect/sql/SqlError"
import type { Dialect } from "./Dialect.ts"

const migrations: ReadonlyArray<ReadonlyArray<string>> = [
  [
    // due: the end of the lease of a task that runs, else when it is to run; null: when it is answered, or never.
    // base: the epoch in which its lease was last given up. open: how many of its questions have no answer.
    `CREATE TABLE mcp_task (
      id text PRIMARY KEY, owner text NOT NULL, tool text NOT NULL, input text NOT NULL, client text NOT NULL,
      created double precision NOT NULL, updated double precision NOT NULL, ttl double precision NOT NULL,
      poll_interval double precision NOT NULL, expires double precision NOT NULL, message text, outcome text,
      ended double precision, open integer NOT NULL, version integer NOT NULL, epoch integer NOT NULL,
      base integer NOT NULL, node text, due double precision)`,
    "CREATE INDEX mcp_task_due ON mcp_task (due) WHERE due IS NOT NULL",
    "CREATE INDEX mcp_task_node ON mcp_task (node) WHERE node IS NOT NULL",
    "CREATE INDEX mcp_task_open ON mcp_task (owner) WHERE outcome IS NULL",
    "CREATE INDEX mcp_task_list ON mcp_task (owner, created, id)",
    "CREATE INDEX mcp_task_expires ON mcp_task (expires)",
    `CREATE TABLE mcp_entry (
      task text NOT NULL, key text NOT NULL, kind text NOT NULL, value text NOT NULL, answer text,
      epoch integer NOT NULL, bytes integer NOT NULL, at double precision NOT NULL, PRIMARY KEY (task, key))`
  ],
  // The deployment whose nodes may claim the task.
  ["ALTER TABLE mcp_task ADD COLUMN pin text"],
  // The caller that the task is counted against. Null means its owner.
  [
    "ALTER TABLE mcp_task ADD COLUMN caller text",
    "CREATE INDEX mcp_task_caller ON mcp_task (coalesce(caller, owner)) WHERE outcome IS NULL"
  ],
  // Results that are too large to send. seq: their order. charge: bytes that count against the caller. SQLite has no type bytea, and
  // stores bytes as they are.
  [
    `CREATE TABLE mcp_spill (
      seq bigint PRIMARY KEY, id text NOT NULL UNIQUE, owner text NOT NULL, caller text NOT NULL, mime_type text NOT NULL,
      is_text integer NOT NULL, charge integer NOT NULL, expires double precision NOT NULL, bytes bytea NOT NULL)`,
    "CREATE INDEX mcp_spill_caller ON mcp_spill (caller, seq, charge)",
    "CREATE INDEX mcp_spill_expires ON mcp_spill (expires)"
  ]
]

/** Upgrades the tables to the newest version. */
export const migrate = (dialect: Dialect): Effect.Effect<void, SqlError> => {
  const { exclusively, sql } = dialect
  const run = Effect.gen(function* () {
    yield* sql.unsafe("CREATE TABLE IF NOT EXISTS mcp_version (number integer NOT NULL)")
    const [row] = yield* sql.unsafe<{ readonly number: number | null }>("SELECT max(number) AS number FROM mcp_version")
    for (const [index, statements] of migrations.entries()) {
      if (index < (row?.number ?? 0)) continue
      for (const statement of statements) yield* sql.unsafe(statement)
      yield* sql.unsafe(dialect.text("INSERT INTO mcp_version (number) VALUES (CAST(? AS integer))"), [index + 1])
    }
  })
  return exclusively(run)
}
