import { McpClient } from "@effect-mcp/client"
import { Memory, Peer, Prompt, Prompts, Sampling, Tool, Tools } from "@effect-mcp/core"
import { Telemetry } from "@effect-mcp/operate"
import * as Revision from "@effect-mcp/protocol/Revision"
import { McpServer } from "@effect-mcp/server"
import * as McpTest from "@effect-mcp/testing/McpTest"
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Logger, Metric, Schema, Scope, Tracer } from "effect"
import { FetchHttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import { listener, portOf } from "../support/served.ts"

const Slow = Tool.make("slow", { description: "Takes three seconds" })
const Fails = Tool.make("fails", { description: "Fails" })
const Asks = Tool.make("asks", { description: "Asks the model" })
const Greet = Prompt.make("greet", { description: "Greets" })

const features = Layer.mergeAll(
  Tools.layer(Slow, () => Effect.as(Effect.sleep("3 seconds"), "done")),
  Tools.layer(Fails, () => Effect.fail(new Tools.ToolFailure({ message: "It failed" }))),
  Tools.layer(Asks, () => Effect.as(Sampling.createMessage({ maxTokens: 1, messages: [] }), "asked")),
  Prompts.layer(Greet, () => Effect.succeed("Hello"))
)
const model = Sampling.layer(() =>
  Effect.succeed({ role: "assistant" as const, model: "m", content: { type: "text" as const, text: "hi" } })
)

/** With a separate registry. */
const measured = <A, E, R>(effect: Effect.Effect<A, E, R | Scope.Scope>) =>
  Effect.scoped(effect).pipe(
    Effect.provide([Telemetry.layer(), Telemetry.layerClient(), model]),
    Effect.provideService(Metric.MetricRegistry, new Map())
  )

/** The series of a metric, without their units. */
const series = (name: string) =>
  Effect.map(Metric.snapshot, (all) =>
    all.flatMap(({ attributes, id, state }) => {
      const { unit: _, ...rest } = attributes ?? {}
      return id === name ? [{ attributes: rest, state }] : []
    })
  )

const one = (name: string, method: string, more: Readonly<Record<string, string>> = {}) =>
  Effect.map(series(name), (all) => {
    const found = all.filter(({ attributes }) =>
      Object.entries({ "mcp.method.name": method, ...more }).every(([key, value]) => attributes[key] === value)
    )
    assert.strictEqual(found.length, 1, JSON.stringify(all))
    const [{ attributes, state } = assert.fail()] = found
    assert("sum" in state)
    return { attributes, count: state.count, sum: state.sum }
  })

const gauge = (name: string) =>
  Effect.map(series(name), ([found]) => {
    assert(found !== undefined && "value" in found.state, name)
    return Number(found.state.value)
  })

describe.each(Revision.all)("Metrics in $version", (revision) => {
  it.effect("Metrics measure requests on both sides, by method, tool, revision and error", () =>
    measured(
      Effect.gen(function* () {
        const client = yield* McpTest.connect(features, revision)
        const call = yield* Effect.forkChild(client.callToolByName("slow"))
        yield* quiesce
        assert.strictEqual(yield* gauge("mcp.server.active_requests"), 1)
        assert.strictEqual(yield* gauge("mcp.client.active_requests"), 1)
        yield* TestClock.adjust("3 seconds")
        yield* Fiber.join(call)
        assert.strictEqual(yield* gauge("mcp.server.active_requests"), 0)
        yield* client.callToolByName("fails")
        yield* Effect.exit(client.callToolByName("missing"))
        yield* client.getPrompt(Greet, {})
        for (const end of ["server", "client"]) {
          const name = `mcp.${end}.operation.duration`
          const common = { "mcp.method.name": "tools/call", "mcp.protocol.version": revision.version }
          const execute = { ...common, "gen_ai.operation.name": "execute_tool" }
          assert.deepStrictEqual(yield* one(name, "tools/call", { "gen_ai.tool.name": "slow" }), {
            attributes: { ...execute, "gen_ai.tool.name": "slow" },
            count: 1,
            sum: 3
          })
          const { attributes: failed } = yield* one(name, "tools/call", { "error.type": "tool_error" })
          assert.deepStrictEqual(failed, { ...execute, "gen_ai.tool.name": "fails", "error.type": "tool_error" })
          // A name without a successful request is arbitrary client text.
          const { attributes: missing } = yield* one(name, "tools/call", { "error.type": "-32602" })
          assert.deepStrictEqual(missing, {
            ...execute,
            "error.type": "-32602",
            "rpc.response.status_code": "-32602"
          })
          const { attributes: prompt } = yield* one(name, "prompts/get")
          assert.strictEqual(prompt["gen_ai.prompt.name"], "greet")
        }
      })
    )
  )

  it.effect("Metrics measure questions, sessions and bytes in both directions", () =>
    measured(
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const client = yield* Scope.provide(McpTest.connect(features, revision), scope)
        yield* client.callToolByName("asks")
        assert.strictEqual(yield* gauge("mcp.server.active_sessions"), 1)
        assert.strictEqual(yield* gauge("mcp.client.active_sessions"), 1)
        if (revision.era === "stateful") {
          assert.strictEqual((yield* one("mcp.client.operation.duration", "sampling/createMessage")).count, 1)
          assert.strictEqual((yield* one("mcp.server.operation.duration", "sampling/createMessage")).count, 1)
        } else {
          const { count } = yield* one("mcp.server.operation.duration", "tools/call")
          assert.strictEqual(count, 2, "each round is a request")
        }
        yield* TestClock.adjust("1 minute")
        yield* Scope.close(scope, yield* Effect.exit(Effect.void))
        const [session] = yield* series("mcp.server.session.duration")
        assert(session !== undefined && "sum" in session.state)
        assert.strictEqual(session.state.sum, 60)
        const [connection] = yield* series("mcp.client.session.duration")
        assert(connection !== undefined && "sum" in connection.state)
        assert.deepStrictEqual(
          [connection.state.sum, connection.attributes["mcp.protocol.version"]],
          [60, revision.version]
        )
        assert.strictEqual(yield* gauge("mcp.client.active_sessions"), 0)
      })
    )
  )

  it.effect("Metrics stay bounded, whatever names a client sends", () =>
    measured(
      Effect.gen(function* () {
        const client = yield* McpTest.connect(features, revision)
        for (let i = 0; i < 50; i++) {
          yield* Effect.exit(client.callToolByName(`tool-${i}`))
        }
        const all = yield* series("mcp.server.operation.duration")
        assert.isBelow(all.length, 6)
      })
    )
  )
})

describe("Metrics", () => {
  it.effect("Metrics measure how long requests waited for a permit, and count rejected ones", () =>
    measured(
      Effect.gen(function* () {
        const server = { limits: { inFlight: 1, pending: 1 } }
        const client = yield* McpTest.connect(features, "2025-11-25", { server })
        const calls = yield* Effect.forkChild(
          Effect.all(
            [1, 2, 3].map(() => Effect.exit(client.callToolByName("slow"))),
            { concurrency: "unbounded" }
          )
        )
        yield* quiesce
        assert.strictEqual(yield* gauge("mcp.server.pending_requests"), 1)
        yield* TestClock.adjust("3 seconds")
        yield* TestClock.adjust("3 seconds")
        yield* Fiber.join(calls)
        const { count, sum } = yield* one("mcp.server.queue.duration", "tools/call")
        assert.deepStrictEqual([count, sum], [1, 3])
        const refusals = (yield* series("mcp.server.refusals")).flatMap(({ attributes, state }) =>
          "count" in state && state.count > 0 ? [attributes["reason"]] : []
        )
        assert.deepStrictEqual(refusals, ["limit"])
        const { sum: total } = yield* one("mcp.server.operation.duration", "tools/call", {
          "gen_ai.tool.name": "slow"
        })
        assert.strictEqual(total, 3 + 6)
      })
    )
  )

  it.effect("Metrics do not name unknown methods", () =>
    measured(
      Effect.gen(function* () {
        const server = yield* McpServer.McpServer
        const [near, far] = yield* Memory.pair()
        yield* server.connect(far)
        const peer = yield* Peer.make(near, { request: () => Effect.never, notification: () => {} })
        for (let i = 0; i < 50; i++) yield* Effect.exit(peer.request(`made/up-${i}`))
        const all = yield* series("mcp.server.operation.duration")
        assert.deepStrictEqual(
          all.map(({ attributes }) => attributes["mcp.method.name"]),
          ["_OTHER"]
        )
      }).pipe(Effect.provide(McpServer.layer({ name: "test", version: "1", features })))
    )
  )

  it.effect("A program without the telemetry layer has no metrics", () =>
    Effect.gen(function* () {
      const client = yield* McpTest.connect(features, "2025-11-25")
      yield* client.callToolByName("fails")
      assert.deepStrictEqual(yield* Metric.snapshot, [])
    }).pipe(Effect.scoped, Effect.provideService(Metric.MetricRegistry, new Map()))
  )
})

describe("Call arguments", () => {
  const Login = Tool.make("login", { description: "Logs in", input: { user: Schema.String, password: Schema.String } })
  const recordedOf = (layer: Layer.Layer<never>) =>
    Effect.gen(function* () {
      const spans: Array<Tracer.Span> = []
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          spans.push(span)
          return span
        }
      })
      yield* Effect.gen(function* () {
        const client = yield* McpTest.connect(
          Tools.layer(Login, () => Effect.succeed("done")),
          "2025-11-25"
        )
        yield* client.callTool(Login, { user: "ada", password: "swordfish" })
      }).pipe(Effect.scoped, Effect.provide(layer), Effect.provideService(Tracer.Tracer, tracer))
      return spans
        .filter(({ name }) => name === "tools/call login")
        .map(({ attributes }) => attributes.get("gen_ai.tool.call.arguments"))
    })

  it.effect("Spans include call arguments only on request, with redacted fields removed", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* recordedOf(Layer.empty), [undefined, undefined])
      const recorded = '{"user":"ada","password":"[redacted]"}'
      const asked = yield* recordedOf(Telemetry.layerArguments({ redact: ["password"] }))
      assert.deepStrictEqual(asked, [recorded, recorded])
    })
  )
})

describe("Metrics over HTTP", () => {
  it.live("Metrics count body bytes and endpoint rejections, and end with their layers", () =>
    Effect.gen(function* () {
      yield* Effect.gen(function* () {
        const server = McpServer.layer({ name: "test", version: "1", features })
        const context = yield* Layer.build(
          McpServer.serveHttp(McpServer.layerHttp({ path: "/mcp" }), {
            disableLogger: true,
            disableListenLog: true
          }).pipe(
            Layer.provide(Layer.provide(server, Telemetry.layer())),
            Layer.provideMerge(listener),
            Layer.provide(Logger.layer([]))
          )
        )
        const url = `http://127.0.0.1:${portOf(context)}/mcp`
        const client = McpClient.layerHttp({ url, revisions: ["2025-11-25"] })
        const { callToolByName } = Context.get(
          yield* Layer.build(Layer.provide(client, FetchHttpClient.layer)),
          McpClient.McpClient
        )
        yield* callToolByName("fails")
        yield* Effect.promise(() => fetch(url, { method: "POST", headers: { origin: "https://evil.example" } }))
        const refused = (yield* series("mcp.server.refusals")).map(({ attributes, state }) => [
          attributes["reason"],
          "count" in state && state.count
        ])
        // The first two exist from the start, so that Prometheus sees their first increase.
        assert.sameDeepMembers(refused, [
          ["limit", 0],
          ["unauthorized", 0],
          ["forbidden", 1]
        ])
        for (const { attributes, state } of yield* series("mcp.server.io")) {
          assert.isAbove(Number("count" in state && state.count), 100, attributes["network.io.direction"])
        }
        const { attributes } = yield* one("mcp.server.operation.duration", "tools/call")
        assert.deepInclude(attributes, { "network.transport": "tcp", "network.protocol.name": "http" })
      }).pipe(Effect.scoped)
      const kinds = (yield* Metric.snapshot).filter(({ type }) => type === "Gauge")
      assert.deepStrictEqual(kinds, [])
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )
})

describe("Reconnecting clients", () => {
  it.effect("A client counts each replaced connection", () =>
    measured(
      Effect.gen(function* () {
        const { connect } = yield* McpServer.McpServer
        const wires: Array<Scope.Closeable> = []
        const connector = Effect.gen(function* () {
          const scope = yield* Scope.make()
          const [near, far] = yield* Scope.provide(Memory.pair(), scope)
          yield* Scope.provide(connect(far), scope)
          wires.push(scope)
          return near
        })
        const client = yield* McpClient.open(connector, { revisions: ["2025-11-25"] })
        yield* client.callToolByName("fails")
        for (const scope of wires) yield* Scope.close(scope, Exit.void)
        yield* quiesce
        const call = yield* Effect.forkChild(client.callToolByName("fails"))
        yield* TestClock.adjust("5 seconds")
        yield* Fiber.join(call)
        const [reconnects] = yield* series("mcp.client.reconnects")
        assert.deepInclude(reconnects?.state, { count: 1 })
      }).pipe(Effect.provide(McpServer.layer({ name: "test", version: "1", features })))
    )
  )
})
