import { NodeRuntime } from "@effect/platform-node"
import { Tools } from "@effect-mcp/core"
import { McpServer } from "@effect-mcp/server"
import { Effect, Layer } from "effect"
import { Add } from "../calculator.ts"
import { meter } from "./features.ts"

const add = Tools.layer(Add, ({ a, b }) => Effect.succeed({ sum: a + b }))

const server = McpServer.layer({
  name: "metered",
  version: "1.0.0",
  features: Layer.merge(add, meter)
})

McpServer.runStdio(server).pipe(NodeRuntime.runMain)
