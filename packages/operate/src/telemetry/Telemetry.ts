/**
 * Metrics of servers and clients on Effect's own `Metric`, by OpenTelemetry's semantic conventions.
 *
 * Spans need no layer of this package: servers and clients make them where the program has a `Tracer`. Without these layers nothing is
 * measured, and nothing of this is loaded. Exporters are Effect's: `Otlp` and `PrometheusMetrics` of `effect/observability`.
 */
import * as ClientObserver from "@effect-mcp/client/ClientObserver"
import { RecordedArguments } from "@effect-mcp/core/internal/Spans"
import * as Observer from "@effect-mcp/server/Observer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ClientMetrics from "./ClientMetrics.ts"
import type { Options } from "./ServerMetrics.ts"
import * as ServerMetrics from "./ServerMetrics.ts"

export { all as metrics, boundaries, type MetricInfo, prometheusName } from "./Names.ts"
export type { Options } from "./ServerMetrics.ts"

/**
 * The metrics of the servers that are given this layer. Provide it to `McpServer.layer`. Servers that share the layer are counted together.
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
 * Spans of tool calls have their arguments as JSON (`gen_ai.tool.call.arguments`), without the values of members of these names, and cut at
 * 4096 characters. Without this layer they have none: arguments may be secrets. Provide it to a server, its endpoint, or a client.
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
 * The metrics of the clients that are given this layer.
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
