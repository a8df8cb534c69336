/** A third-party extension, from our client: its request, notification, setting and hook. */
import { ClientExtension } from "@effect-mcp/client"
import { Memory, Tools } from "@effect-mcp/core"
import { Add } from "@effect-mcp/examples/calculator"
import { meter } from "@effect-mcp/examples/meter/features"
import { Meter } from "@effect-mcp/examples/meter/meter"
import { Gateway } from "@effect-mcp/gateway"
import { Revision } from "@effect-mcp/protocol"
import { McpServer } from "@effect-mcp/server"
import { McpTest } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Option, Stream } from "effect"
import { readFileSync } from "node:fs"

const add = Tools.layer(Add, ({ a, b }) => Effect.succeed({ sum: a + b }))
const features = Layer.fresh(Layer.merge(add, meter))
const file = (name: string) => readFileSync(new URL(`../src/meter/${name}.ts`, import.meta.url), "utf8")

it("The extension fits in 55 short lines, including the server's half", () => {
  const lines = (file("meter") + file("features")).trimEnd().split("\n").length
  assert.isAtMost(lines, 55)
})

/** A gateway in front of a server with the extension. */
const gateway = Layer.unwrap(
  Effect.map(McpServer.McpServer, (server) =>
    Gateway.layer({
      connector: Effect.gen(function* () {
        const [client, end] = yield* Memory.pair()
        yield* server.connect(end)
        return client
      })
    })
  )
).pipe(Layer.provide(McpServer.layer({ name: "metered", version: "1.0.0", features })))

describe.each(Revision.all)("com.acme/meter extension through a gateway in $version", (revision) => {
  it.effect("Calls through a gateway are charged to the client's budget, and rejected once it is exceeded", () =>
    Effect.gen(function* () {
      const { callTool, notifications, request } = yield* McpTest.join(revision)
      const charged = yield* Effect.forkChild(
        Stream.runCollect(Stream.take(notifications(Meter.notifications.charged), 2)),
        { startImmediately: true }
      )
      yield* callTool(Add, { a: 1, b: 2 })
      yield* callTool(Add, { a: 3, b: 4 })
      const refused = yield* Effect.flip(callTool(Add, { a: 5, b: 6 }))
      assert.strictEqual(refused.message, "The budget of 2 is spent")
      assert.deepStrictEqual(yield* request(Meter.requests.spent, {}), { total: 2 })
      assert.deepStrictEqual(
        (yield* Fiber.join(charged)).map(({ total }) => total),
        [1, 2]
      )
    }).pipe(
      Effect.provide(
        Layer.provideMerge(Layer.fresh(gateway), ClientExtension.layer(Meter, { settings: { budget: 2 } }))
      )
    )
  )
})

describe.each(Revision.all)("com.acme/meter extension in $version", (revision) => {
  it.effect("Calls are charged to the client's budget, the client is notified, and excess calls are rejected", () =>
    Effect.gen(function* () {
      const { callTool, notifications, request, serverSettings } = yield* McpTest.connect(features, revision)
      assert.isTrue(Option.isSome(yield* serverSettings(Meter)))
      const charged = yield* Effect.forkChild(
        Stream.runCollect(Stream.take(notifications(Meter.notifications.charged), 2)),
        { startImmediately: true }
      )
      assert.deepStrictEqual(yield* request(Meter.requests.spent, {}), { total: 0 })
      assert.deepStrictEqual(yield* callTool(Add, { a: 1, b: 2 }), { sum: 3 })
      assert.deepStrictEqual(yield* callTool(Add, { a: 3, b: 4 }), { sum: 7 })
      const refused = yield* Effect.flip(callTool(Add, { a: 5, b: 6 }))
      assert.strictEqual(refused.message, "The budget of 2 is spent")
      assert.deepStrictEqual(yield* request(Meter.requests.spent, {}), { total: 2 })
      assert.deepStrictEqual(yield* Fiber.join(charged), [
        { tool: "add", total: 1 },
        { tool: "add", total: 2 }
      ])
    }).pipe(Effect.provide(ClientExtension.layer(Meter, { settings: { budget: 2 } })))
  )

  it.effect("Calls from a client that did not declare the extension are free, and its requests are rejected", () =>
    Effect.gen(function* () {
      const { callTool, raw } = yield* McpTest.connect(features, revision)
      assert.deepStrictEqual(yield* callTool(Add, { a: 1, b: 2 }), { sum: 3 })
      const refused = yield* Effect.flip(raw.request(Meter.requests.spent.method))
      assert.propertyVal(refused, "code", revision.rules.missingCapability === "error" ? -32021 : -32601)
    })
  )
})
