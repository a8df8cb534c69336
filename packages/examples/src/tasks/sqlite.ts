import { Durable } from "@effect-mcp/durable"
import { Tasks } from "@effect-mcp/tasks"
import { Layer } from "effect"

/** A feature of a server, in the place of `Tasks.layer()`. */
export const tasks = Layer.provide(Tasks.layerStore(), Durable.layerSqlite({ file: "tasks.db" }))
