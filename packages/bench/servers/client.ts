/** Our client as the loop of the bench drives it: the public API, default settings. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as McpClient from "@effect-mcp/client/McpClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Stream from "effect/Stream"
import { modern, serve, url } from "../peers/clients/loop.mjs"

const runtime = ManagedRuntime.make(
  McpClient.layerHttp({ url, revisions: [modern ? "2026-07-28" : "2025-11-25"] }).pipe(
    Layer.provide(NodeHttpClient.layerUndici)
  )
)
const client = await runtime.runPromise(Effect.map(McpClient.McpClient, (client) => client))
// As the others: so that what depends on the list (output schemas) is known.
await runtime.runPromise(Stream.runDrain(client.listTools))
serve(({ arguments: input, name }) => runtime.runPromise(client.callToolByName(name, input)))
