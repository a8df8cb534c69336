import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { McpServer } from "@effect-mcp/server"
import { Skills } from "@effect-mcp/skills"
import { Layer } from "effect"

const skills = Skills.folder(`${import.meta.dirname}/skills`).pipe(
  Layer.provide(NodeServices.layer)
)

McpServer.runStdio(
  McpServer.layer({ name: "shop", version: "1.0.0", features: skills })
).pipe(NodeRuntime.runMain)
