/** Our client with third-party servers: every feature over one wire to each, and a smoke test over the other wires. */
import { McpClient } from "@effect-mcp/client"
import { Effect, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import { bin } from "../support/bin.ts"
import { start } from "../support/http-server.ts"
import { fileOf, layerClient, layerHosted } from "../support/our-client.ts"
import { suite } from "../support/our-client-suite.ts"
import { overStdio, serverEverything } from "../support/proxy.ts"
import { suite as everythingSuite } from "../support/server-everything-suite.ts"
import { everything, modern, sdk, smoke } from "../support/smoke.ts"

const fixture = (file: string) => fileOf(`../fixtures/${file}`)

const overHttp = (file: string, ...args: ReadonlyArray<string>) =>
  Layer.unwrap(
    Effect.map(start([fixture(file), ...args]), ({ url }) =>
      layerHosted((options) => McpClient.layerHttp({ url, ...options }).pipe(Layer.provide(FetchHttpClient.layer)))
    )
  )

const overSse = (file: string) =>
  Layer.unwrap(
    Effect.map(start([fixture(file)]), ({ url }) =>
      layerHosted((options) => McpClient.layerSse({ url, ...options }).pipe(Layer.provide(FetchHttpClient.layer)))
    )
  )

suite("the TypeScript SDK v1", layerClient([fixture("sdk-v1-server.ts")]))
suite("the TypeScript SDK v2 over Streamable HTTP", overHttp("sdk-v2-http-server.ts"))
everythingSuite("Streamable HTTP", overHttp("server-everything-http.ts"))

smoke("the TypeScript SDK v1 over Streamable HTTP", overHttp("sdk-v1-http-server.ts"), sdk)
smoke("the TypeScript SDK v1 over HTTP with SSE", overSse("sdk-v1-sse-server.ts"), sdk)
// The client detects the transport from the URL.
smoke("the TypeScript SDK v1 with HTTP with SSE only", overHttp("sdk-v1-sse-server.ts"), sdk)
smoke("the TypeScript SDK v2 over stdio", layerClient([fixture("sdk-v2-server.ts")]), sdk)
smoke("the TypeScript SDK v2 over Streamable HTTP", overHttp("sdk-v2-modern-http-server.ts"), {
  ...modern,
  route: ["nord", "sør", " padded ", "=?base64?literal?="]
})
for (const version of ["2025-11-25", "2026-07-28"] as const)
  smoke("Effect's own server over Streamable HTTP", overHttp("effect-ai-http-server.ts", version), {
    ...(version === "2026-07-28" ? modern : sdk),
    version
  })
// The server does not exit while a cancelled operation runs, unless it is killed.
smoke("server-everything over stdio", layerClient([bin, "stdio"], { exitTimeout: "100 millis" }), everything)
smoke("server-everything over HTTP with SSE", overSse("server-everything-sse.ts"), everything)
smoke(
  "server-everything through a stdio to Streamable HTTP proxy",
  Layer.unwrap(Effect.map(serverEverything, ({ url }) => layerClient(overStdio(url), { revisions: ["2025-11-25"] }))),
  everything
)
