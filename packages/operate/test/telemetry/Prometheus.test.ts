import { Tool, Tools } from "@effect-mcp/core"
import { Telemetry } from "@effect-mcp/operate"
import * as McpTest from "@effect-mcp/testing/McpTest"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { readFileSync } from "node:fs"
import parsePrometheus from "parse-prometheus-text-format"

const Hello = Tool.make("hello", { description: "Greets" })
const features = Tools.layer(Hello, () => Effect.succeed("Hello"))

const dashboard = JSON.parse(readFileSync(new URL("../../grafana/dashboard.json", import.meta.url), "utf8"))

/** The names of Effect's exporter. */
const inPrometheus = (name: string): string => Telemetry.prometheusName(name).replaceAll(".", "_")

describe("Prometheus metrics", () => {
  it.effect("The metrics are valid Prometheus text", () =>
    Effect.gen(function* () {
      const client = yield* McpTest.connect(features, "2025-11-25")
      yield* client.callTool(Hello, {})
      const text = yield* PrometheusMetrics.format({ metricNameMapper: Telemetry.prometheusName })
      const families = parsePrometheus(text)
      const family = (name: string) => families.find((family) => family.name === name) ?? assert.fail(name)
      const { help, type } = family("mcp_server_operation_duration")
      assert.deepStrictEqual(
        { help, type },
        { help: "Time from receiving a request to sending the response", type: "HISTOGRAM" }
      )
      // The parser gives labels of single samples only.
      const samples = parsePrometheus(text.replaceAll(/^# TYPE \S+ histogram$/gm, ""))
      const ofCall = (name: string) =>
        samples
          .filter((family) => family.name === `mcp_server_operation_duration_${name}`)
          .flatMap(({ metrics }) => metrics)
          .filter(({ labels }) => labels?.["gen_ai_tool_name"] === "hello")
      assert.deepStrictEqual(
        ofCall("count").map(({ value }) => value),
        ["1"]
      )
      assert.deepStrictEqual(
        ofCall("bucket").map(({ labels }) => Number(labels?.["le"]?.replace("+Inf", "Infinity"))),
        [...Telemetry.boundaries, Infinity]
      )
      assert.strictEqual(family("mcp_server_active_sessions").metrics[0]?.value, "1")
      assert.deepStrictEqual(
        [family("mcp_server_io_total").type, Telemetry.prometheusName("own.io")],
        ["COUNTER", "own.io"]
      )
      const names = Telemetry.metrics.map(({ name }) => inPrometheus(name))
      assert.deepStrictEqual(
        families.map(({ name }) => name).filter((name) => !names.includes(name)),
        []
      )
    }).pipe(
      Effect.scoped,
      Effect.provide([Telemetry.layer(), Telemetry.layerClient()]),
      Effect.provideService(Metric.MetricRegistry, new Map())
    )
  )
})

describe("Dashboard", () => {
  const queries: ReadonlyArray<string> = dashboard.panels.flatMap(
    ({ targets }: { readonly targets: ReadonlyArray<{ readonly expr: string }> }) => targets.map(({ expr }) => expr)
  )

  it("The dashboard queries only existing metrics", () => {
    const names = Telemetry.metrics.flatMap(({ name, type }) =>
      type === "histogram" ? ["_bucket", "_count", "_sum"].map((end) => inPrometheus(name) + end) : [inPrometheus(name)]
    )
    const label = new Set(["mcp_method_name", "mcp_task_state", "mcp_task_run_end"])
    const asked = queries.flatMap((query) => query.match(/\bmcp_\w+/g) ?? []).filter((name) => !label.has(name))
    assert.isAtLeast(asked.length, queries.length)
    assert.deepStrictEqual(
      asked.filter((name) => !names.includes(name)),
      []
    )
  })

  it("The dashboard shows every metric", () => {
    const missing = Telemetry.metrics.filter(({ name }) => !queries.some((query) => query.includes(inPrometheus(name))))
    assert.deepStrictEqual(missing, [])
  })

  it("Rates without events are drawn as zero", () => {
    const rates = queries.filter(
      (query) => /\b(rate|increase)\(/.test(query) && !query.startsWith("histogram_quantile")
    )
    assert.isAbove(rates.length, 5)
    assert.deepStrictEqual(
      rates.filter((query) => !query.endsWith("or on () vector(0)")),
      []
    )
  })

  it("Every query can be limited to an instance", () => {
    assert.deepStrictEqual(
      queries.filter((query) => !query.includes('instance=~"$instance"')),
      []
    )
  })

  it("The dashboard queries only labels the metrics have", () => {
    const labels =
      "mcp_method_name gen_ai_tool_name error_type reason network_io_direction le job instance mcp_task_state mcp_task_run_end".split(
        " "
      )
    const asked = queries.flatMap((query) => [
      ...[...query.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = ""]) => (list === "" ? [] : list.split(", "))),
      ...[...query.matchAll(/[{,](\w+)(?:=|!=|=~)"/g)].map(([, label = ""]) => label)
    ])
    assert.deepStrictEqual(
      asked.filter((label) => !labels.includes(label)),
      []
    )
  })
})
