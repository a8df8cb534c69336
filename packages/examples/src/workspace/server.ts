/**
 * An MCP server over one folder, on stdin and stdout:
 *
 *     node packages/examples/src/workspace/server.ts [folder]
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { features } from "./features.ts"
import { Watcher } from "./Watcher.ts"
import { Workspace } from "./Workspace.ts"

const folder = process.argv[2] ?? process.cwd()

const server = McpServer.layer({
  name: "workspace",
  title: "Workspace",
  version: "0.1.0",
  instructions: "The files of one folder: search them, read and watch them as resources, rename and summarize them.",
  features
}).pipe(Layer.provide([Workspace.layer(folder), Watcher.layer(folder)]))

// A server that cannot even start must not say so on stdout, where its client expects MCP.
McpServer.serveStdio.pipe(
  Effect.provide(Layer.provideMerge(server, NodeServices.layer)),
  Effect.tapCause((cause) => Effect.logError(`The workspace ${folder} cannot be served`, cause)),
  Effect.provideService(Logger.LogToStderr, true),
  NodeRuntime.runMain({ disableErrorReporting: true })
)
