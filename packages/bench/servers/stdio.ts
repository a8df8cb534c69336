import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Effect from "effect/Effect"
import { server, ambient } from "./features.ts"

McpServer.runStdio(server).pipe(Effect.provide(ambient), NodeRuntime.runMain)
