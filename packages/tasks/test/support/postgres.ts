/**
 * A Postgres for tests: DATABASE_URL, or one on this machine without a password. Each place is a separate schema, which is dropped after
 * the test.
 */
import * as Postgres from "@effect-mcp/tasks/postgres"
import { PgClient } from "@effect/sql-pg"
import { Effect, Exit, Layer, Redacted } from "effect"
import { services } from "./sqlite.ts"

export const url = process.env["DATABASE_URL"] ?? "postgres://postgres@127.0.0.1:5432/postgres"

const client = (options: Partial<PgClient.PgPoolConfig> = {}) =>
  PgClient.layer({ url: Redacted.make(url), connectTimeout: "2 seconds", maxConnections: 6, ...options })

const once = (statement: string) =>
  Effect.flatMap(PgClient.PgClient, (sql) => sql.unsafe(statement)).pipe(
    Effect.provide(client(), { local: true }),
    Effect.scoped
  )

const connected = await Effect.runPromiseExit(once("SELECT 1"))

/** Why there is no Postgres. */
export const missing = Exit.isSuccess(connected) ? undefined : "no Postgres at DATABASE_URL or 127.0.0.1:5432"

/** The name of a new schema. */
export const schema = Effect.acquireRelease(
  Effect.suspend(() => {
    const name = `mcp_test_${crypto.randomUUID().replaceAll("-", "")}`
    return Effect.orDie(Effect.as(once(`CREATE SCHEMA ${name}`), name))
  }),
  (name) => Effect.orDie(once(`DROP SCHEMA ${name} CASCADE`))
)

/** The client of a process whose tables are in a schema, which also names its connections. */
export const clientOf = (name: string, at = url) =>
  Layer.orDie(client({ url: Redacted.make(at), applicationName: name, startupParameters: { search_path: name } }))

export const open = (name: string, options?: Postgres.Options, at?: string) =>
  Effect.map(Layer.build(Layer.provideMerge(Postgres.layer(options), Layer.fresh(clientOf(name, at)))), services)
