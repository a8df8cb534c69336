/**
 * Server and client metrics using Effect's `Metric`, following OpenTelemetry's semantic conventions.
 *
 * Tracing needs no layer from this package: servers and clients create spans if the program has a `Tracer`. Without these layers nothing is
 * measured, and none of this code is loaded. To export metrics, use Effect's `Otlp` and `PrometheusMetrics` from `effect/observability`.
 */
import * as ClientObserver from "@effect-mcp/client/ClientObserver"
import { RecordedArguments } from "@effect-mcp/core/internal/peers"
import * as Observer from "@effect-mcp/server/Observer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ClientMetrics from "./ClientMetrics.ts"
import type { Options } from "./ServerMetrics.ts"
import * as ServerMetrics from "./ServerMetrics.ts"

export { all as metrics, boundaries, type MetricInfo, prometheusName } from "./Names.ts"
export type { Options } from "./ServerMetrics.ts"

/**
 * Measures the servers that this layer is provided to. Provide it to `McpServer.layer`. Servers that share the layer are counted together.
 *
 * @example
 * ```ts
 * import { Tool, Tools } from "@effect-mcp/core"
 * import { Telemetry } from "@effect-mcp/operate"
 * import { McpServer } from "@effect-mcp/server"
 * import { Effect, Layer } from "effect"
 * import { PrometheusMetrics } from "effect/observability"
 *
 * const Hello = Tool.make("hello", { description: "Greets the user" })
 * const features = Tools.layer(Hello, () => Effect.succeed("Hello"))
 *
 * const server = McpServer.layer({ name: "hello", version: "1.0.0", features }).pipe(Layer.provide(Telemetry.layer()))
 *
 * // The server at /mcp, its metrics at /metrics.
 * const metrics = PrometheusMetrics.layerHttp({ metricNameMapper: Telemetry.prometheusName })
 * export const app = Layer.merge(McpServer.layerHttp({ path: "/mcp" }), metrics).pipe(Layer.provide(server))
 * ```
 */
export const layer = (options: Options = {}): Layer.Layer<Observer.Observers> =>
  Observer.layer(Effect.suspend(() => ServerMetrics.make(options)))

/**
 * Adds tool call arguments to their spans as JSON (`gen_ai.tool.call.arguments`), truncated to 4096 characters. Values of the object
 * members listed in `redact` are redacted. Without this layer, spans contain no arguments, because they may be secret. Provide it to a
 * server, its endpoint, or a client.
 *
 * @example
 * ```ts
 * import { Telemetry } from "@effect-mcp/operate"
 *
 * export const recorded = Telemetry.layerArguments({ redact: ["password", "token"] })
 * ```
 */
export const layerArguments = ({ redact }: { readonly redact: ReadonlyArray<string> }): Layer.Layer<never> =>
  Layer.succeed(RecordedArguments, (_, args) =>
    JSON.stringify(args, (key, value: unknown) => (redact.includes(key) ? "[redacted]" : value))?.slice(0, 4096)
  )

/**
 * Measures the clients that this layer is provided to.
 *
 * @example
 * ```ts
 * import { McpClient } from "@effect-mcp/client"
 * import { Telemetry } from "@effect-mcp/operate"
 * import { Layer } from "effect"
 * import { FetchHttpClient } from "effect/http"
 *
 * export const client = McpClient.layerHttp({ url: "https://mcp.example.com/mcp" }).pipe(
 *   Layer.provide([Telemetry.layerClient(), FetchHttpClient.layer])
 * )
 * ```
 */
export const layerClient = (options: Options = {}): Layer.Layer<ClientObserver.ClientObservers> =>
  ClientObserver.layer(Effect.suspend(() => ClientMetrics.make(options)))
