/** A client, a gateway and a server as three services, whose spans and metrics reach one collector on loopback. */
import { McpClient } from "@effect-mcp/client"
import * as Http from "@effect-mcp/client/Http"
import { Elicitation, Log, Tool, Tools } from "@effect-mcp/core"
import { Gateway } from "@effect-mcp/gateway"
import { Telemetry } from "@effect-mcp/operate"
import * as Revision from "@effect-mcp/protocol/Revision"
import { McpServer } from "@effect-mcp/server"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Metric, Schema, Scope } from "effect"
import { FetchHttpClient } from "effect/http"
import { Otlp } from "effect/observability"
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { listener, portOf } from "../support/served.ts"

interface OtlpSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly service: string
}

interface OtlpMetric {
  readonly name: string
  readonly unit: string
  readonly histogram?: { readonly dataPoints: ReadonlyArray<{ readonly count: number }> }
}

/** Decodes OTLP over HTTP with JSON. */
const collector = Effect.gen(function* () {
  const spans: Array<OtlpSpan> = []
  const metrics: Array<OtlpMetric & { readonly service: string }> = []
  const serviceOf = ({ attributes }: { attributes: ReadonlyArray<{ key: string; value: { stringValue: string } }> }) =>
    attributes.find(({ key }) => key === "service.name")?.value.stringValue ?? ""
  const server = createServer((request, response) => {
    let body = ""
    request.on("data", (part) => (body += part))
    request.on("end", () => {
      const sent = JSON.parse(body)
      for (const { resource, scopeSpans } of sent.resourceSpans ?? [])
        for (const scope of scopeSpans)
          for (const span of scope.spans) spans.push({ ...span, service: serviceOf(resource) })
      for (const { resource, scopeMetrics } of sent.resourceMetrics ?? [])
        for (const scope of scopeMetrics)
          for (const metric of scope.metrics) metrics.push({ ...metric, service: serviceOf(resource) })
      response.writeHead(200, { "content-type": "application/json" }).end("{}")
    })
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () => Effect.sync(() => server.close())
  )
  const { port } = server.address() as AddressInfo
  return { spans, metrics, url: `http://127.0.0.1:${port}` }
})

/** Exports a service with this name and a separate registry. Closing the scope sends the rest. */
const exporting = (baseUrl: string, serviceName: string) =>
  Layer.merge(
    Layer.provide(
      Otlp.layerJson({
        baseUrl,
        resource: { serviceName },
        tracerExportInterval: "1 hour",
        metricsExportInterval: "1 hour"
      }),
      FetchHttpClient.layer
    ),
    Layer.empty
  ).pipe(Layer.provideMerge(Layer.succeed(Metric.MetricRegistry, new Map())))

const Book = Tool.make("book", { description: "Books a table" })
const book = Tools.layer(Book, () =>
  Effect.andThen(
    Log.warning("Booking"),
    Effect.map(Elicitation.form("For whom?", Schema.Struct({ name: Schema.String })), ({ name }) => name)
  )
)
const user = Elicitation.layer({ form: () => Effect.succeed({ action: "accept" as const, content: { name: "Ada" } }) })

const serve = (server: Layer.Layer<McpServer.McpServer>, telemetry: Layer.Layer<never>) =>
  Effect.map(
    Layer.build(
      McpServer.serveHttp(McpServer.layerHttp({ path: "/mcp" }), { disableLogger: true, disableListenLog: true }).pipe(
        Layer.provide(Layer.provide(server, Telemetry.layer())),
        Layer.provideMerge(listener),
        Layer.provide(telemetry)
      )
    ),
    (context) => {
      return `http://127.0.0.1:${portOf(context)}/mcp`
    }
  )

const run = (version: Revision.Version) =>
  Effect.gen(function* () {
    const { metrics, spans, url } = yield* collector
    const scope = yield* Scope.make()
    yield* Effect.gen(function* () {
      const upstream = yield* serve(
        McpServer.layer({ name: "server", version: "1", features: book }),
        exporting(url, "server")
      )
      const gateway = yield* serve(
        Layer.provide(
          Gateway.layer({ connector: Http.open({ url: upstream }), client: { revisions: [version] } }),
          FetchHttpClient.layer
        ),
        exporting(url, "gateway")
      )
      const context = yield* Layer.build(
        McpClient.layerHttp({ url: gateway, revisions: [version] }).pipe(
          Layer.provide([FetchHttpClient.layer, user, Telemetry.layerClient()]),
          Layer.provideMerge(exporting(url, "client"))
        )
      )
      const { callToolByName } = Context.get(context, McpClient.McpClient)
      const { content } = yield* Effect.provideContext(Effect.withSpan(callToolByName("book"), "caller"), context)
      assert.deepInclude(content[0], { text: "Ada" })
    }).pipe(Scope.provide(scope))
    yield* Scope.close(scope, yield* Effect.exit(Effect.void))
    return { metrics, spans }
  })

/** Formats the protocol's spans as a tree of text. HTTP spans are left out, and their children move up. */
const printed = (tree: ReadonlyArray<OtlpSpan>): string => {
  const kinds: Readonly<Record<number, string>> = { 2: "server", 3: "client" }
  const below = (parent: string | undefined, depth: number): ReadonlyArray<string> =>
    tree
      .filter(({ parentSpanId, spanId }) => spanId !== parent && (parentSpanId || undefined) === parent)
      .toSorted((a, b) => (BigInt(a.startTimeUnixNano) < BigInt(b.startTimeUnixNano) ? -1 : 1))
      .flatMap(({ kind, name, service, spanId }) => {
        if (/^(?:http|POST|GET|notifications)/.test(name)) return below(spanId, depth)
        const line = `${"  ".repeat(depth)}${service}: ${name} ${kinds[kind] ?? ""}`.trimEnd()
        return [line, ...below(spanId, depth + 1)]
      })
  return below(undefined, 0).join("\n")
}

describe.each(Revision.withElicitation)("Telemetry over HTTP in $version", ({ era, version }) => {
  it.live("A call's spans form one tree, from the client through the gateway to the question and answer", () =>
    Effect.gen(function* () {
      const { metrics, spans } = yield* run(version)
      const caller = spans.find(({ name }) => name === "caller")
      assert(caller !== undefined)
      const tree = spans.filter(({ traceId }) => traceId === caller.traceId)
      const parentOf = ({ parentSpanId }: OtlpSpan) => tree.find(({ spanId }) => spanId === parentSpanId)
      assert.deepStrictEqual(
        tree.filter((span) => span !== caller && parentOf(span) === undefined).map(({ name }) => name),
        []
      )
      const path = (span: OtlpSpan): ReadonlyArray<string> => {
        const parent = parentOf(span)
        const { kind, name, service } = span
        const here = `${service} ${name} ${kind === 3 ? "client" : kind === 2 ? "server" : ""}`.trim()
        return parent === undefined ? [here] : [...path(parent), here]
      }
      const call = [
        "client caller",
        "client tools/call book client",
        "gateway tools/call book server",
        "gateway tools/call book client",
        "server tools/call book server"
      ]
      const paths = tree.filter(({ name }) => name !== "caller").map(path)
      assert.deepInclude(
        paths.filter((path) => !path.some((step) => step.startsWith("gateway http"))),
        call
      )
      const answered = paths.filter((path) => path.at(-1) === "client elicitation/create server")
      assert.isAtLeast(answered.length, 1)
      if (era === "stateful") {
        assert.deepInclude(paths, [...call, "server elicitation/create client", "gateway elicitation/create server"])
        // The gateway asks in the fiber of the call that it answers.
        const asked = ["gateway elicitation/create client", "client elicitation/create server"]
        assert.deepInclude(answered, [...call.slice(0, 3), ...asked])
      }
      if (era === "stateful") {
        // The gateway passes the message on in the call that it belongs to.
        const told = paths.filter((path) => path.at(-1)?.includes("notifications/message"))
        const sent = "notifications/message client"
        assert.sameDeepMembers(told, [
          [...call, `server ${sent}`],
          [...call, `server ${sent}`, "gateway notifications/message server"],
          [...call.slice(0, 3), `gateway ${sent}`],
          [...call.slice(0, 3), `gateway ${sent}`, "client notifications/message server"]
        ])
      }
      if (version === "2025-11-25") {
        const page = readFileSync(new URL("../../../docs/pages/operations.md", import.meta.url), "utf8")
        assert.include(page, `\n${printed(tree)}\n`, printed(tree))
      }
      const operations = metrics.filter(({ name }) => name === "mcp.server.operation.duration")
      assert.includeMembers(
        operations.map(({ service }) => service),
        ["server", "gateway"]
      )
      assert.isTrue(operations.every(({ histogram, unit }) => unit === "s" && histogram !== undefined))
    }).pipe(Effect.scoped)
  )
})
