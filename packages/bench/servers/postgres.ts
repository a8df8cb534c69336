/** A schema of its own in the Postgres of DATABASE_URL, else of this machine. */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"

/** A client whose tables are in that schema, which need not be there yet. */
export const layer = (schema: string, maxConnections?: number) =>
  PgClient.layer({
    url: Redacted.make(process.env["DATABASE_URL"] ?? "postgres://postgres@127.0.0.1:5432/postgres"),
    maxConnections,
    startupParameters: { search_path: schema }
  })

const told = (statement: string) => Effect.asVoid(Effect.flatMap(PgClient.PgClient, (sql) => sql.unsafe(statement)))

/** The same, once the schema is there. */
export const layerMade = (schema: string, maxConnections?: number) =>
  Layer.provideMerge(Layer.effectDiscard(told(`CREATE SCHEMA IF NOT EXISTS ${schema}`)), layer(schema, maxConnections))

/** Removes the schema and its tables. */
export const drop = (schema: string) => Effect.provide(told(`DROP SCHEMA IF EXISTS ${schema} CASCADE`), layer(schema))
