import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeStdio from "@effect/platform-node/NodeStdio"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Effect from "effect/Effect"
import { server } from "./features.ts"

McpServer.runStdio(server).pipe(Effect.provide(NodeStdio.layer), NodeRuntime.runMain)
