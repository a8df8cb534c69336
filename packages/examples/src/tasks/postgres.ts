import { Tasks } from "@effect-mcp/tasks"
import * as Postgres from "@effect-mcp/tasks/postgres"
import { PgClient } from "@effect/sql-pg"
import { Layer, Redacted } from "effect"

const database = PgClient.layer({
  url: Redacted.make("postgres://localhost/tasks")
})

export const tasks = Layer.provide(
  Tasks.layerStore(),
  Layer.provide(Postgres.layer(), database)
)
