import { Tasks } from "@effect-mcp/tasks"
import * as Sqlite from "@effect-mcp/tasks/sqlite"
import { Layer } from "effect"

/** A feature of a server, in place of `Tasks.layer()`. */
export const tasks = Layer.provide(
  Tasks.layerStore(),
  Sqlite.layer({ file: "tasks.db" })
)
