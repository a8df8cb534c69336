/** The server as a program: `node tables-server.ts` speaks MCP on stdin and stdout. */
import { NodeRuntime, NodeStdio } from "@effect/platform-node"
import { McpServer } from "@effect-mcp/server"
import { Effect, Layer } from "effect"
import { Restaurant, server } from "./tables.ts"

McpServer.runStdio(Layer.provide(server, Restaurant.layer)).pipe(Effect.provide(NodeStdio.layer), NodeRuntime.runMain)
