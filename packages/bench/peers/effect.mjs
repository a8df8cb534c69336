// Effect 4.1 built-in McpServer: layerHttp (2025 sessions + 2026), layerHttpRequestScoped (2026), layerStdio.
// Handlers of a toolkit are written with Effect.fn, as in the documentation of Effect. Deep imports, so that cold start pays only for what is used.
import { setTimeout } from "node:timers/promises"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as References from "effect/References"
import * as Schema from "effect/Schema"
import * as McpProtocol from "effect/ai/McpProtocol"
import * as McpSchema from "effect/ai/McpSchema"
import * as McpServer from "effect/ai/McpServer"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as C from "./contract.mjs"

const tk = Toolkit.make(
  Tool.make(C.add.name, {
    description: C.add.description,
    parameters: Schema.Struct({ a: Schema.Number, b: Schema.Number }),
    success: Schema.Struct({ sum: Schema.Number })
  }),
  ...C.fillers.map((name) =>
    Tool.make(name, {
      description: C.descriptionOf(name),
      parameters: Schema.Struct({
        query: Schema.String.annotate({ description: C.queryDescription }),
        limit: Schema.optional(Schema.Number.annotate({ description: C.limitDescription }))
      }),
      success: Schema.Struct({ ok: Schema.Boolean })
    })
  )
)
const handlers = tk.toLayer({
  [C.add.name]: Effect.fn("Bench.add")(function* ({ a, b }) {
    return { sum: a + b }
  }),
  ...Object.fromEntries(C.fillers.map((n) => [n, () => Effect.succeed({ ok: true })]))
})
// echo, wait and flood go through addTool: Toolkit always adds structuredContent, which would double echo's payload.
const decodeEcho = Schema.decodeUnknownEffect(Schema.Struct({ text: Schema.String }))
const decodeFlood = Schema.decodeUnknownEffect(Schema.Struct({ n: Schema.Number }))
const invalid = (e) => new McpSchema.InvalidParams({ message: e.message })
const extra = Layer.effectDiscard(
  Effect.gen(function* () {
    const server = yield* McpServer.McpServer
    const json = Schema.decodeUnknownSync(McpSchema.ToolJson)
    yield* server.addTool({
      tool: new McpSchema.Tool({ ...C.echo, inputSchema: json(C.echoSchema) }),
      annotations: Context.empty(),
      handle: (p) =>
        decodeEcho(p).pipe(
          Effect.mapError(invalid),
          Effect.map(({ text }) => new McpSchema.CallToolResult({ content: [{ type: "text", text }] }))
        )
    })
    yield* server.addTool({
      tool: new McpSchema.Tool({ ...C.wait, inputSchema: json(C.echoSchema) }),
      annotations: Context.empty(),
      handle: (p) =>
        Effect.gen(function* () {
          const { text } = yield* Effect.mapError(decodeEcho(p), invalid)
          yield* Effect.promise(() => setTimeout(C.waits))
          return new McpSchema.CallToolResult({ content: [{ type: "text", text }] })
        })
    })
    yield* server.addTool({
      tool: new McpSchema.Tool({ ...C.flood, inputSchema: json(C.floodSchema) }),
      annotations: Context.empty(),
      handle: (p) =>
        Effect.gen(function* () {
          const { n } = yield* Effect.mapError(decodeFlood(p), invalid)
          const ctx = yield* McpSchema.McpRequestContext
          const progressToken = ctx.requestMetadata?.progressToken
          if (progressToken !== undefined)
            for (let i = 1; i <= n; i++)
              yield* server.notifications["notifications/progress"]({ progressToken, progress: i, total: n })
          return new McpSchema.CallToolResult({ content: [{ type: "text", text: "done" }] })
        })
    })
  })
)
const registrations = Layer.mergeAll(
  McpServer.toolkit(tk).pipe(Layer.provide(handlers)),
  extra,
  McpServer.resource({
    uri: C.resource.uri,
    name: C.resource.name,
    mimeType: C.resource.mimeType,
    content: Effect.succeed(C.resource.text)
  })
)
const quiet = C.flag("notrace")
  ? Layer.mergeAll(Layer.succeed(References.MinimumLogLevel, "Error"), Layer.succeed(References.TracerEnabled, false))
  : Layer.succeed(References.MinimumLogLevel, "Error")

if (C.flag("stdio")) {
  const NodeStdio = await import("@effect/platform-node/NodeStdio")
  const NodeRuntime = await import("@effect/platform-node/NodeRuntime")
  McpServer.layerStdio({
    ...C.info,
    protocols: [McpProtocol.v2026_07_28, McpProtocol.v2025_11_25],
    registrations
  }).pipe(
    Layer.provide(NodeStdio.layer),
    Layer.provide(Layer.succeed(Logger.LogToStderr, true)),
    Layer.provide(quiet),
    Layer.launch,
    NodeRuntime.runMain
  )
} else {
  const { createServer } = await import("node:http")
  const NodeHttpServer = await import("@effect/platform-node/NodeHttpServer")
  const NodeRuntime = await import("@effect/platform-node/NodeRuntime")
  const HttpRouter = await import("effect/http/HttpRouter")
  const HttpServer = await import("effect/http/HttpServer")
  const make = C.flag("scoped")
    ? McpServer.layerHttpRequestScoped({ ...C.info, path: "/mcp", protocols: [McpProtocol.v2026_07_28], registrations })
    : McpServer.layerHttp({
        ...C.info,
        path: "/mcp",
        protocols: [McpProtocol.v2026_07_28, McpProtocol.v2025_11_25],
        allowSessionTermination: true,
        registrations
      })
  let node
  HttpRouter.serve(make, { disableLogger: true, disableListenLog: true }).pipe(
    Layer.provide(
      Layer.effectDiscard(
        Effect.gen(function* () {
          const s = yield* HttpServer.HttpServer
          C.ready(s.address.port)
        })
      )
    ),
    Layer.provide(
      NodeHttpServer.layer(
        () => {
          node = createServer()
          node.keepAliveTimeout = 0
          return node
        },
        { port: 0, host: "127.0.0.1" }
      )
    ),
    Layer.provide(quiet),
    Layer.launch,
    NodeRuntime.runMain
  )
}
