import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Tool, Tools } from "@effect-mcp/core"
import { Telemetry } from "@effect-mcp/operate"
import { McpServer } from "@effect-mcp/server"
import { Effect, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import { Otlp, PrometheusMetrics } from "effect/observability"
import { createServer } from "node:http"

const Hello = Tool.make("hello", { description: "Greets the user" })
const hello = Tools.layer(Hello, () => Effect.succeed("Hello"))

const server = McpServer.layer({
  name: "hello",
  version: "1.0.0",
  features: hello
}).pipe(Layer.provide(Telemetry.layer()))

// Spans, metrics and logs to a collector; the same metrics at /metrics, for
// Prometheus.
const collector = Otlp.layerJson({
  baseUrl: "http://localhost:4318",
  resource: { serviceName: "hello" }
}).pipe(Layer.provide(FetchHttpClient.layer))
const metrics = PrometheusMetrics.layerHttp({
  path: "/metrics",
  metricNameMapper: Telemetry.prometheusName
})
const routes = Layer.merge(McpServer.layerHttp({ path: "/mcp" }), metrics)

McpServer.serveHttp(routes).pipe(
  Layer.provide(NodeHttpServer.layer(createServer, { port: 3000 })),
  Layer.provide(server),
  Layer.provide(collector),
  Layer.launch,
  NodeRuntime.runMain
)
