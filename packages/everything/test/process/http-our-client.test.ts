/** Our client drives servers of others over Streamable HTTP, in both eras. */
import { McpClient } from "@effect-mcp/client"
import { Effect, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import { suite as effectSuite } from "../support/effect-ai-suite.ts"
import { start } from "../support/http-server.ts"
import { suite as modernSuite } from "../support/modern-suite.ts"
import { fileOf, layerHosted } from "../support/our-client.ts"
import { suiteOver } from "../support/our-client-suite.ts"
import { suite as everythingSuite } from "../support/server-everything-suite.ts"

const clientOf = (file: string, ...args: ReadonlyArray<string>) =>
  Layer.unwrap(
    Effect.map(start([fileOf(`../fixtures/${file}`), ...args]), ({ url }) =>
      layerHosted((options) => McpClient.layerHttp({ url, ...options }).pipe(Layer.provide(FetchHttpClient.layer)))
    )
  )

suiteOver("the TypeScript SDK v1 over Streamable HTTP", clientOf("sdk-v1-http-server.ts"))
suiteOver("the TypeScript SDK v2 over Streamable HTTP", clientOf("sdk-v2-http-server.ts"))
modernSuite("Streamable HTTP", clientOf("sdk-v2-modern-http-server.ts"))
everythingSuite("Streamable HTTP", clientOf("server-everything-http.ts"))
effectSuite("Streamable HTTP", "2026-07-28", true, clientOf("effect-ai-http-server.ts", "2026-07-28"))
effectSuite("Streamable HTTP", "2025-11-25", false, clientOf("effect-ai-http-server.ts", "2025-11-25"))
// It is given a URL, and finds out the rest.
suiteOver("the TypeScript SDK v1 that speaks only HTTP with SSE, found out,", clientOf("sdk-v1-sse-server.ts"))
