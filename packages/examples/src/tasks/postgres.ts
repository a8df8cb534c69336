import { Durable } from "@effect-mcp/durable"
import { Tasks } from "@effect-mcp/tasks"
import { PgClient } from "@effect/sql-pg"
import { Layer, Redacted } from "effect"

const database = PgClient.layer({ url: Redacted.make("postgres://localhost/tasks") })

export const tasks = Layer.provide(Tasks.layerStore(), Layer.provide(Durable.layerPostgres(), database))
