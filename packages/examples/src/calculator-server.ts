import { NodeRuntime } from "@effect/platform-node"
import { Tools } from "@effect-mcp/core"
import { McpServer } from "@effect-mcp/server"
import { Effect } from "effect"
import { Add } from "./calculator.ts"

const add = Tools.layer(Add, ({ a, b }) => Effect.succeed({ sum: a + b }))

const server = McpServer.layer({
  name: "calculator",
  version: "1.0.0",
  features: add
})

McpServer.runStdio(server).pipe(NodeRuntime.runMain)
