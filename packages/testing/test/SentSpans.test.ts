import { Log, Progress, Resources, Tool, Tools } from "@effect-mcp/core"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import * as Memory from "@effect-mcp/core/Memory"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpTest from "@effect-mcp/testing/McpTest"
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Queue, Stream, Tracer } from "effect"

interface Recorded {
  readonly span: Tracer.Span
  readonly events: Array<readonly [name: string, attributes: unknown]>
}

/** A tracer that records every span with its events. */
const recording = () => {
  const recorded: Array<Recorded> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      const events: Recorded["events"] = []
      const event = span.event.bind(span)
      span.event = (name, time, attributes) => {
        events.push([name, attributes])
        event(name, time, attributes)
      }
      recorded.push({ span, events })
      return span
    }
  })
  const all = (name: string, kind: Tracer.SpanKind) =>
    recorded.filter(({ span }) => span.name === name && span.kind === kind)
  const one = (name: string, kind: Tracer.SpanKind) => {
    const [found] = all(name, kind)
    assert(found !== undefined, `${name} among ${recorded.map(({ span }) => span.name).join(", ")}`)
    return found
  }
  return { all, one, layer: Layer.succeed(Tracer.Tracer, tracer) }
}

const parentOf = ({ span: { parent } }: Recorded): string | undefined =>
  parent._tag === "Some" ? parent.value.spanId : undefined

/** A pair of transports that records the messages the client receives. */
const recordedWire = (received: Array<JsonRpc.Message>) =>
  Effect.map(Memory.pair(), ([client, server]) => {
    const send: typeof server.sink.send = (message, ...rest) => {
      received.push(...[message].flat())
      server.sink.send(message, ...rest)
    }
    return [client, { ...server, sink: Object.assign(Object.create(server.sink), { send }) }] as const
  })

const Talks = Tool.make("talks", { description: "Logs, and sends a notification of its own" })
const Counts = Tool.make("counts", { description: "Reports a thousand steps" })
const own = "notifications/com.example/own"

const features = Layer.mergeAll(
  Tools.layer(
    Talks,
    Effect.fnUntraced(function* () {
      yield* Log.warning("swordfish")
      const { outbound } = yield* RequestContext
      outbound.notify(own, { word: "swordfish" })
      // Called like promise code does.
      yield* Effect.promise(() => Promise.resolve().then(() => outbound.notify(own, { word: "swordfish" })))
      return "said"
    })
  ),
  Tools.layer(
    Counts,
    Effect.fnUntraced(function* () {
      for (let step = 1; step <= 1000; step++) yield* Progress.report(step, { total: 1000, message: "swordfish" })
      return "counted"
    })
  )
)

describe.each(Revision.all)("Spans of sent notifications in $version", (revision) => {
  const session = revision.era === "stateful" ? { "mcp.session.id": "session-1" } : {}

  it.effect("A handler's notification has a span under its request, continued by the receiver's span", () => {
    const { all, layer, one } = recording()
    return Effect.gen(function* () {
      const client = yield* McpTest.connect(features, revision)
      yield* client.setLogLevel("info")
      yield* client.callTool(Talks, {})
      yield* quiesce
      const call = one("tools/call talks", "server")
      for (const method of ["notifications/message", own]) {
        const sent = all(method, "client")
        const received = all(method, "server")
        assert.lengthOf(sent, method === own ? 2 : 1)
        for (const [index, one] of sent.entries()) {
          assert.strictEqual(parentOf(one), call.span.spanId)
          assert.strictEqual(one.span.status._tag, "Ended")
          const attributes = Object.fromEntries(one.span.attributes)
          assert.deepStrictEqual(attributes, {
            "mcp.method.name": method,
            "mcp.protocol.version": revision.version,
            ...session
          })
          assert(received[index] !== undefined)
          assert.strictEqual(parentOf(received[index]), one.span.spanId)
        }
      }
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("A client's notification has a span, continued by the server's span", () => {
    const { all, layer, one } = recording()
    return Effect.gen(function* () {
      const client = yield* McpTest.connect(features, revision)
      const caller = yield* Effect.withSpan(Effect.andThen(client.raw.notify(own), Effect.currentSpan), "caller")
      yield* quiesce
      const sent = one(own, "client")
      assert.strictEqual(parentOf(sent), caller.spanId)
      assert.strictEqual(sent.span.attributes.get("mcp.protocol.version"), revision.version)
      assert.strictEqual(parentOf(one(own, "server")), sent.span.spanId)
      if (revision.era === "stateless") return
      const opened = one("notifications/initialized", "client")
      assert.deepStrictEqual(all("notifications/initialized", "server").map(parentOf), [opened.span.spanId])
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("A notification that names its sender's span is forwarded in that span's trace", () => {
    const { layer, one } = recording()
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"
    return Effect.gen(function* () {
      const client = yield* McpTest.connect(features, revision)
      yield* client.raw.notify(own, { _meta: { traceparent } })
      yield* quiesce
      const sent = one(own, "client")
      assert.strictEqual(sent.span.traceId, "0af7651916cd43dd8448eb211c80319c")
      assert.strictEqual(parentOf(sent), "00f067aa0ba902b7")
      assert.strictEqual(parentOf(one(own, "server")), sent.span.spanId)
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("A resource update has a span even though no fiber sends it", () => {
    const { layer, one } = recording()
    return Effect.gen(function* () {
      const changes = yield* Queue.unbounded<void>()
      const memo = Resources.layer({ uri: "memo://one", name: "one" }, Effect.succeed("1"), Stream.fromQueue(changes))
      const client = yield* McpTest.connect(memo, revision)
      const watching = yield* Effect.forkChild(
        Stream.runCollect(
          Stream.take(
            Stream.filter(client.watchResource("memo://one"), ({ _tag }) => _tag === "Updated"),
            1
          )
        )
      )
      yield* quiesce
      yield* Queue.offer(changes, undefined)
      yield* Fiber.join(watching)
      const sent = one("notifications/resources/updated", "client")
      assert.deepInclude(Object.fromEntries(sent.span.attributes), {
        "mcp.method.name": "notifications/resources/updated",
        "mcp.protocol.version": revision.version
      })
      assert.strictEqual(parentOf(one("notifications/resources/updated", "server")), sent.span.spanId)
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("Progress is recorded as up to 128 events on its request's span, without trace context", () => {
    const { all, layer, one } = recording()
    const received: Array<JsonRpc.Message> = []
    return Effect.gen(function* () {
      const client = yield* McpTest.connect(features, revision, { wire: recordedWire(received) })
      let last = 0
      yield* client.callTool(Counts, {}, { onProgress: ({ progress }) => (last = progress) })
      assert.strictEqual(last, 1000)
      const { events } = one("tools/call counts", "server")
      assert.lengthOf(events, 128)
      assert.deepStrictEqual(events[0], [
        "notifications/progress",
        { "mcp.progress.value": 1, "mcp.progress.total": 1000 }
      ])
      assert.lengthOf(all("notifications/progress", "client"), 0)
      const sent = received.filter((message) => "method" in message && message.method === "notifications/progress")
      assert.lengthOf(sent, 1000)
      assert.isFalse(sent.some((message) => "params" in message && isJsonObject(message.params?._meta)))
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("A notification has no trace context if the program has no tracer", () => {
    const received: Array<JsonRpc.Message> = []
    return Effect.gen(function* () {
      const client = yield* McpTest.connect(features, revision, { wire: recordedWire(received) })
      yield* client.setLogLevel("info")
      yield* Effect.withSpan(client.callTool(Talks, {}), "caller")
      const sent = received.filter((message) => "method" in message)
      assert.lengthOf(sent, 3)
      assert.isFalse(JSON.stringify(sent).includes("traceparent"))
    })
  })
})
