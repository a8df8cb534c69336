import { NodeHttpServer } from "@effect/platform-node"
import { Progress, Tool, Tools } from "@effect-mcp/core"
import { Telemetry } from "@effect-mcp/operate"
import * as Revision from "@effect-mcp/protocol/Revision"
import { EventStore, McpServer } from "@effect-mcp/server"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Latch, Layer, Logger, Metric } from "effect"
import { HttpServer } from "effect/http"
import { createServer } from "node:http"

const flows = Tools.layer(
  Tool.make("flows", { description: "Reports" }),
  Effect.fnUntraced(function* () {
    for (let i = 1; i <= 20; i++) yield* Progress.report(i, { message: "ä".repeat(100) })
    return "done"
  })
)

/** Returns the value of the series with a direction, or of the only series. */
const valueOf = (name: string, direction?: string) =>
  Effect.map(Metric.snapshot, (all) => {
    const found = all.find(({ attributes, id }) => id === name && attributes?.["network.io.direction"] === direction)
    const state = found?.state
    if (state !== undefined && "count" in state) return Number(state.count)
    return state !== undefined && "value" in state ? Number(state.value) : assert.fail(name)
  })

/** An event store in memory that keeps nothing while `kept` is closed. */
const slow = (kept: Latch.Latch) => {
  const memory = EventStore.makeMemory()
  return Layer.succeed(EventStore.EventStore, {
    ...memory,
    append: (key, events, text) => Effect.andThen(kept.await, memory.append(key, events, text))
  })
}

/** Posts messages as a client that has a session, and reads whole responses. */
const start = Effect.fnUntraced(function* (version: string, kept: Latch.Latch) {
  const server = McpServer.layer({ name: "test", version: "1", features: flows })
  const context = yield* Layer.build(
    McpServer.serveHttp(McpServer.layerHttp({ path: "/mcp" }), { disableLogger: true, disableListenLog: true }).pipe(
      Layer.provide([Layer.provide(server, Telemetry.layer()), slow(kept)]),
      Layer.provideMerge(Layer.orDie(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }))),
      Layer.provide(Logger.layer([]))
    )
  )
  const { address } = Context.get(context, HttpServer.HttpServer)
  const url = `http://127.0.0.1:${address._tag === "UnixPathAddress" ? 0 : address.port}/mcp`
  const accept = "application/json, text/event-stream"
  const post = (message: object, headers: Readonly<Record<string, string>>) =>
    Effect.promise(async () => {
      const body = JSON.stringify({ jsonrpc: "2.0", ...message })
      const sent = { method: "POST", headers: { "content-type": "application/json", accept, ...headers }, body }
      const response = await fetch(url, sent)
      const type = response.headers.get("content-type")
      return { session: response.headers.get("mcp-session-id"), type, text: await response.text(), body }
    })
  const clientInfo = { name: "test", version: "1" }
  const params = { protocolVersion: version, capabilities: {}, clientInfo }
  const { session } = yield* post({ id: 1, method: "initialize", params }, {})
  const headers = { "mcp-session-id": session ?? "", "mcp-protocol-version": version }
  yield* post({ method: "notifications/initialized" }, headers)
  return (message: object) => post(message, headers)
})

const call = { id: 2, method: "tools/call", params: { name: "flows", arguments: {}, _meta: { progressToken: 1 } } }

const stateful = Revision.all.filter(({ era, version }) => era === "stateful" && version !== "2024-11-05")

describe.each(stateful)("Event stream metrics in $version", ({ version }) => {
  it.live("Metrics count the bytes of the request and its events", () =>
    Effect.gen(function* () {
      const post = yield* start(version, yield* Latch.make(true))
      const [received, sent] = [yield* valueOf("mcp.server.io", "receive"), yield* valueOf("mcp.server.io", "transmit")]
      const { body, text, type } = yield* post(call)
      assert.strictEqual(type, "text/event-stream")
      assert.isAbove(Buffer.byteLength(text), 20 * 200)
      assert.strictEqual((yield* valueOf("mcp.server.io", "transmit")) - sent, Buffer.byteLength(text))
      assert.strictEqual((yield* valueOf("mcp.server.io", "receive")) - received, Buffer.byteLength(body))
    }).pipe(Effect.scoped, Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.live("Metrics show how far the event store lags until it catches up", () =>
    Effect.gen(function* () {
      const kept = yield* Latch.make(false)
      const post = yield* start(version, kept)
      const { text } = yield* post(call)
      const lag = valueOf("mcp.server.event_store.lag")
      assert.isAtLeast(yield* lag, text.length, "characters of all events, which are not kept")
      yield* kept.open
      assert.strictEqual(yield* Effect.repeat(lag, { until: (bytes) => bytes === 0 }), 0)
    }).pipe(Effect.scoped, Effect.provideService(Metric.MetricRegistry, new Map()))
  )
})
