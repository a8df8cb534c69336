/**
 * The server as a program: `node tables-server.ts` speaks MCP on stdin and
 * stdout.
 */
import { NodeRuntime } from "@effect/platform-node"
import { McpServer } from "@effect-mcp/server"
import { Layer } from "effect"
import { Restaurant, server } from "./tables.ts"

McpServer.runStdio(Layer.provide(server, Restaurant.layer)).pipe(
  NodeRuntime.runMain
)
