import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as McpClient from "effect/ai/McpClient"
import * as McpProtocol from "effect/ai/McpProtocol"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { serve, url, modern } from "./loop.mjs"
const rt = ManagedRuntime.make(
  McpClient.layerHttp({
    name: "bench",
    version: "1.0.0",
    url,
    protocol: modern ? McpProtocol.v2026_07_28 : McpProtocol.v2025_11_25
  }).pipe(Layer.provide(NodeHttpClient.layerUndici))
)
const client = await rt.runPromise(McpClient.McpClient)
const tools = new Map((await rt.runPromise(client.listTools())).map((t) => [t.name, t]))
serve((p) => rt.runPromise(client.callTool({ tool: tools.get(p.name), arguments: p.arguments })))
