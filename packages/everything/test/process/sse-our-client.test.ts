/** Our client drives servers of others over HTTP with SSE. */
import { McpClient } from "@effect-mcp/client"
import { Effect, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import { start } from "../support/http-server.ts"
import { fileOf, layerHosted } from "../support/our-client.ts"
import { suiteOver } from "../support/our-client-suite.ts"
import { suite } from "../support/server-everything-suite.ts"

const clientOf = (file: string) =>
  Layer.unwrap(
    Effect.map(start([fileOf(file)]), ({ url }) =>
      layerHosted((options) => McpClient.layerSse({ url, ...options }).pipe(Layer.provide(FetchHttpClient.layer)))
    )
  )

suiteOver("the TypeScript SDK v1 over HTTP with SSE", clientOf("../fixtures/sdk-v1-sse-server.ts"))
suite("HTTP with SSE", clientOf("../fixtures/server-everything-sse.ts"))
