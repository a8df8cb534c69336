/**
 * Shows its own measurements: `effect-mcp app measurements -- node server.ts`.
 */
import { NodeRuntime } from "@effect/platform-node"
import { McpServer } from "@effect-mcp/server"
import { Layer } from "effect"
import { features } from "./features.ts"
import { Sampler } from "./sampler.ts"

const server = McpServer.layer({
  name: "measurements",
  version: "1.0.0",
  features: Layer.provide(features, Sampler.layer)
})

McpServer.runStdio(server).pipe(NodeRuntime.runMain)
