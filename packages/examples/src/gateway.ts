/**
 * Serves the server at a URL again, over stdio, in every revision: `gateway.ts
 * URL`. Questions of the server go to the caller.
 */
import { NodeRuntime } from "@effect/platform-node"
import { Http } from "@effect-mcp/client"
import { Gateway } from "@effect-mcp/gateway"
import { McpServer } from "@effect-mcp/server"
import { Effect } from "effect"
import { FetchHttpClient } from "effect/http"

const url = process.argv[2] ?? "http://127.0.0.1:3000/mcp"

const gateway = Gateway.layer({ connector: Http.open({ url }) })

McpServer.runStdio(gateway).pipe(
  Effect.provide(FetchHttpClient.layer),
  NodeRuntime.runMain
)
