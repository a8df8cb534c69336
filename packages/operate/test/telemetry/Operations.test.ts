/** Durations of requests equal Effect's own histograms in any history, although successes find their series by a faster path. */
import { Telemetry } from "@effect-mcp/operate"
import * as McpError from "@effect-mcp/protocol/McpError"
import { currentObserver } from "@effect-mcp/server/internal/observing"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Metric, Schema } from "effect"

const Request = Schema.Struct({
  method: Schema.Literals(["tools/call", "prompts/get", "ping", "acme/sum"]),
  name: Schema.Literals(["echo", "add", "ping"]),
  revision: Schema.Literals(["2025-11-25", "2026-07-28", "1999-01-01"]),
  transport: Schema.Literals(["http", "stdio", "memory"]),
  end: Schema.Literals(["succeeds", "succeeds", "succeeds", "isError", "fails"]),
  seconds: Schema.Literals([0, 0.003, 0.01, 0.07, 400])
})
/** Events between requests: the program removes all series from its registry, or reads them. */
const Step = Schema.Union([Request, Request, Request, Schema.Literals(["clear", "read"])])

const network: Readonly<Record<string, object>> = {
  http: { "network.transport": "tcp", "network.protocol.name": "http" },
  stdio: { "network.transport": "pipe" }
}

const exits = {
  succeeds: Exit.succeed({ content: [] }),
  isError: Exit.succeed({ content: [], isError: true }),
  fails: Exit.fail(McpError.invalidParams("no"))
}

/** The attributes of each request by the rules alone; `shown` has the names and methods that have not failed. */
const attributesOf = ({ end, method, name, revision, transport }: typeof Request.Type, shown: Set<string>) => {
  const isTool = method === "tools/call"
  const target = isTool || method === "prompts/get" ? name : undefined
  const isNamed = (text: string) => (end !== "fails" ? shown.add(text).has(text) : shown.has(text))
  const error = { succeeds: {}, isError: { "error.type": "tool_error" } }
  return {
    "mcp.method.name": method !== "acme/sum" || isNamed("method acme/sum") ? method : "_OTHER",
    ...(revision === "1999-01-01" ? {} : { "mcp.protocol.version": revision }),
    ...network[transport],
    ...(isTool ? { "gen_ai.operation.name": "execute_tool" } : {}),
    ...(end === "fails" ? { "error.type": "-32602", "rpc.response.status_code": "-32602" } : error[end]),
    ...(target !== undefined && isNamed(`name ${target}`)
      ? { [isTool ? "gen_ai.tool.name" : "gen_ai.prompt.name"]: target }
      : {}),
    unit: "s"
  }
}

/** The histograms of requests in a registry, as exporters see them. */
const read = (context: Context.Context<never>) =>
  Metric.snapshotUnsafe(context)
    .filter(({ id }) => id === "mcp.server.operation.duration")
    .map(({ attributes, state }) => ({ attributes, state }))
    .toSorted((a, b) => (JSON.stringify(a.attributes) < JSON.stringify(b.attributes) ? -1 : 1))

const registry = () => Context.make(Metric.MetricRegistry, new Map())

it.effect.prop(
  "Any request history has the same durations as in Effect's own histograms",
  [Schema.Array(Step).check(Schema.isMinLength(20), Schema.isMaxLength(80))],
  ([history]) =>
    Effect.gen(function* () {
      const [ours, plain] = [registry(), registry()]
      const layer = Layer.provide(Telemetry.layer(), Layer.succeedContext(ours))
      const observer = yield* Effect.provide(currentObserver, yield* Layer.build(layer))
      const shown = new Set<string>()
      for (const step of history) {
        if (step === "read") assert.deepStrictEqual(read(ours), read(plain))
        else if (step === "clear")
          for (const context of [ours, plain]) Context.get(context, Metric.MetricRegistry).clear()
        else {
          const { end, method, name, revision, seconds, transport } = step
          const request = { jsonrpc: "2.0" as const, id: 1, method, params: { name } }
          const principal = { subject: undefined, scopes: [], claims: {} }
          const times = { arrived: 0, interrupted: undefined, waited: 0, duration: seconds * 1000 }
          const received = { request, envelope: {}, principal, session: undefined, transport, revision, ...times }
          observer?.request?.(received, exits[end])
          const attributes = attributesOf(step, shown)
          const own = Metric.histogram("mcp.server.operation.duration", {
            boundaries: Telemetry.boundaries,
            attributes
          })
          own.updateUnsafe((seconds * 1000) / 1000, plain)
        }
      }
      assert.deepStrictEqual(read(ours), read(plain))
    }).pipe(Effect.scoped),
  { arbitrary: { runs: 100, size: 40, seed: 20261123 } }
)
