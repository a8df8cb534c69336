/**
 * An MCP server over one folder, on stdin and stdout or over HTTP:
 *
 *     node packages/examples/src/workspace/server.ts [folder] [--http] [--sse] [--port N]
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { parseArgs } from "node:util"
import { features } from "./features.ts"
import { Watcher } from "./Watcher.ts"
import { Workspace } from "./Workspace.ts"

const {
  positionals: [folder = process.cwd()],
  values: { http = false, port = "3000", sse = false }
} = parseArgs({
  allowPositionals: true,
  options: {
    http: { type: "boolean" },
    sse: { type: "boolean" },
    port: { type: "string" }
  }
})

const server = McpServer.layer({
  name: "workspace",
  title: "Workspace",
  version: "0.1.0",
  instructions:
    "The files of one folder: search them, read and watch them as resources, rename and summarize them.",
  features
}).pipe(Layer.provide([Workspace.layer(folder), Watcher.layer(folder)]))

const served: Effect.Effect<void, unknown, NodeServices.NodeServices> =
  http || sse
    ? Effect.flatMap(
        Effect.promise(() => import("./http.ts")),
        ({ serve }) => serve(server, { http, sse, port: Number(port) })
      )
    : Effect.provide(McpServer.serveStdio(), server)

// A server that cannot start must not report that on stdout, where its client
// expects MCP.
served.pipe(
  Effect.provide(NodeServices.layer),
  Effect.tapCause((cause) =>
    Effect.logError(`The workspace ${folder} cannot be served`, cause)
  ),
  Effect.provideService(Logger.LogToStderr, true),
  NodeRuntime.runMain({ disableErrorReporting: true })
)
