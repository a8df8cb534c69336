/** A stdio server whose tasks survive a kill: `node bakery-server.ts FILE`. */
import { NodeRuntime } from "@effect/platform-node"
import { McpServer } from "@effect-mcp/server"
import { Tasks } from "@effect-mcp/tasks"
import * as Sqlite from "@effect-mcp/tasks/sqlite"
import { Layer } from "effect"
import { bake } from "./bakery.ts"

const [file = "bakery.db"] = process.argv.slice(2)
const tasks = Layer.provide(
  Tasks.layerStore({ pollInterval: "100 millis" }),
  Sqlite.layer({ file })
)
const server = McpServer.layer({
  name: "bakery",
  version: "1.0.0",
  features: Layer.merge(bake, tasks)
})

McpServer.runStdio(server).pipe(NodeRuntime.runMain)
