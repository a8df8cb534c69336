import { NodeRuntime } from "@effect/platform-node"
import { HttpApiTools } from "@effect-mcp/bridge"
import { McpServer } from "@effect-mcp/server"
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { HttpServer } from "effect/http"
import { Api, handlers } from "./api.ts"

const app = HttpApiBuilder.layer(Api).pipe(
  Layer.provide([handlers, HttpServer.layerServices])
)

const features = HttpApiTools.layer(Api, {
  endpoints: { "notes.read": true, "notes.write": { name: "write_note" } }
}).pipe(Layer.provide(HttpApiTools.layerInProcess(app)))

McpServer.runStdio(
  McpServer.layer({ name: "notes", version: "1.0.0", features })
).pipe(NodeRuntime.runMain)
