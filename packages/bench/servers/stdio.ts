import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as McpServer from "@effect-mcp/server/McpServer"
import { server } from "./features.ts"

McpServer.runStdio(server).pipe(NodeRuntime.runMain)
