/** A library that lends books. All nodes run the same server. */
import { Tool, Tools } from "@effect-mcp/core"
import { Nodes } from "@effect-mcp/nodes"
import { McpServer } from "@effect-mcp/server"
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Redacted, Schema } from "effect"

/** Safe to repeat: a book that is already lent stays lent. */
export const Lend = Tool.make("lend", {
  description: "Lends a book",
  input: { book: Schema.String },
  output: {
    by: Schema.Int.annotate({ description: "The process that lent it" })
  },
  annotations: { idempotentHint: true }
})

const features = Tools.layer(Lend, () =>
  Effect.as(Effect.sleep("100 millis"), { by: process.pid })
)

/** The database, and the schema in it that the nodes share. */
export const database = (schema: string) =>
  PgClient.layer({
    url: Redacted.make(
      process.env["DATABASE_URL"] ??
        "postgres://postgres@127.0.0.1:5432/postgres"
    ),
    startupParameters: { search_path: schema }
  })

/** One node. */
export const library = (schema: string) =>
  McpServer.layer({ name: "library", version: "1.0.0", features }).pipe(
    Layer.provide(
      Nodes.layerPostgres({ host: process.env["POD_IP"] ?? "127.0.0.1" })
    ),
    Layer.provide(database(schema))
  )
