/**
 * Limits on the memory clients can make a server hold, in bytes per session, per caller and in total, and released afterwards.
 */
import * as Resources from "@effect-mcp/core/Resources"
import type { Sink } from "@effect-mcp/core/Transport"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as McpServer from "@effect-mcp/server/McpServer"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Scope, Stream } from "effect"
import { connect, serve, session, versions } from "../support/raw.ts"
import { join, metaOf } from "../support/modern.ts"

const ann = { subject: "ann", scopes: [], claims: { iss: "https://a.example" } }
const ann2 = { subject: "ann", scopes: [], claims: { iss: "https://b.example" } }
const watched = Resources.layerTemplate(
  { uriTemplate: "x:{+id}", name: "x" },
  () => Effect.succeed(""),
  () => Stream.never
)
const initialize = (version: string, clientInfo: object = {}, capabilities: object = {}) => ({
  protocolVersion: version,
  clientInfo: { name: "large", version: "0", ...clientInfo },
  capabilities
})
const data = (limit: string, given: number, allowed: number) => ({ limit, given, allowed })

describe("initialize limits", () => {
  for (const version of versions()) {
    for (const [what, params] of [
      ["names", initialize(version, { name: "n".repeat(20_000) })],
      ["capabilities", initialize(version, {}, { experimental: { x: { y: "y".repeat(20_000) } } })]
    ] as const) {
      it.effect(`initialize is rejected if its ${what} exceed the per-client byte limit (${version})`, () =>
        Effect.gen(function* () {
          const client = yield* session(watched, { handshake: false })
          const error = yield* client.refused("initialize", params)
          assert.strictEqual(error.code, McpError.LimitExceeded)
          const { given } = error.data as { readonly given: number }
          assert.isAbove(given, 20_000)
          assert.deepStrictEqual(error.data, data("clientBytes", given, 16 * 1024))
          assert.include(error.message, `${given}, limit 16384`)
          // The session can still be opened, and the rejected attempt holds no bytes.
          assert.strictEqual(client.session.kept, 0)
          yield* client.request("initialize", initialize(version))
          assert.isBelow(client.session.kept, 200)
        })
      )
    }
  }

  it.effect("Only the client's icons that fit the limit are kept", () =>
    Effect.gen(function* () {
      const server = yield* serve({ features: watched })
      const icon = (bytes: number) => ({ src: `data:image/png;base64,${"A".repeat(bytes)}` })
      for (const [bytes, kept] of [
        [100, true],
        [50_000, false]
      ] as const) {
        const client = yield* connect(server, { handshake: false })
        yield* client.request("initialize", initialize("2025-11-25", { title: "Large", icons: [icon(bytes)] }))
        const info = client.session.negotiated?.clientInfo
        assert.deepStrictEqual([info?.title, info?.icons !== undefined], ["Large", kept])
      }
    })
  )

  it.effect("The initialize size limit counts UTF-8 bytes, not characters", () =>
    Effect.gen(function* () {
      const client = yield* session(watched, { handshake: false })
      const error = yield* client.refused("initialize", initialize("2025-11-25", { name: "\u20ac".repeat(6000) }))
      assert.strictEqual(error.code, McpError.LimitExceeded)
      yield* client.request("initialize", initialize("2025-11-25", { name: "a".repeat(6000) }))
    })
  )

  it.effect("The bytes held for initialize are released when it fails or the session ends", () =>
    Effect.gen(function* () {
      let greets = 0
      const server = yield* serve({
        features: watched,
        limits: { totalBytes: 300 },
        onInitialize: (answer) =>
          greets++ === 0 ? Effect.fail(McpError.internalError("not yet")) : Effect.succeed(answer)
      })
      const open = (scope: Scope.Scope) =>
        Effect.tap(Scope.provide(connect(server, { handshake: false }), scope), (client) =>
          Effect.exit(client.request("initialize", initialize("2025-11-25", { name: "n".repeat(150) })))
        )
      const first = yield* Scope.make()
      const client = yield* open(first)
      assert.deepStrictEqual([greets, client.session.kept], [1, 0])
      yield* client.request("initialize", initialize("2025-11-25", { name: "n".repeat(150) }))
      const second = yield* Scope.make()
      const refused = yield* open(second)
      assert.isUndefined(refused.session.negotiated)
      yield* Scope.close(first, Exit.void)
      assert.isDefined((yield* open(second)).session.negotiated)
    })
  )
})

describe("Subscriptions", () => {
  const subscribing = (limits: McpServer.Options<never, never>["limits"]) =>
    Effect.map(
      serve({ features: watched, limits }),
      (server) =>
        (principal?: typeof ann, version = "2025-11-25") =>
          connect(server, { version, ...(principal === undefined ? undefined : { principal }) })
    )

  for (const version of versions()) {
    it.effect(`A session's subscriptions are limited by URI length, count and total bytes (${version})`, () =>
      Effect.gen(function* () {
        const open = yield* subscribing({ sessionBytes: 3000, subscriptions: 3, uriBytes: 1000 })
        const client = yield* open(undefined, version)
        const refused = (uri: string) =>
          Effect.map(client.refused("resources/subscribe", { uri }), (error) => [error.code, error.data])
        const bytes = client.session.kept
        assert.deepStrictEqual(yield* refused(`x:${"a".repeat(999)}`), [
          McpError.LimitExceeded,
          data("uriBytes", 1001, 1000)
        ])
        yield* client.request("resources/subscribe", { uri: `x:${"b".repeat(998)}` })
        yield* client.request("resources/subscribe", { uri: "x:c" })
        assert.deepStrictEqual(yield* refused(`x:${"d".repeat(998)}`), [
          McpError.LimitExceeded,
          data("sessionBytes", bytes + 1512 + 515 + 1512, 3000)
        ])
        // Subscribing twice counts once.
        yield* client.request("resources/subscribe", { uri: "x:c" })
        yield* client.request("resources/subscribe", { uri: "x:d" })
        assert.deepStrictEqual(yield* refused("x:e"), [McpError.LimitExceeded, data("subscriptions", 4, 3)])
        yield* client.request("resources/unsubscribe", { uri: "x:c" })
        yield* client.request("resources/unsubscribe", { uri: "x:c" })
        yield* client.request("resources/subscribe", { uri: "x:e" })
        assert.strictEqual(client.session.kept, bytes + 1512 + 515 + 515)
      })
    )
  }

  it.effect("A principal's sessions share one subscription limit", () =>
    Effect.gen(function* () {
      const open = yield* subscribing({ callerBytes: 3000 })
      const large = (letter: string) => ({ uri: `x:${letter.repeat(1000)}` })
      const first = yield* open(ann)
      const second = yield* open(ann)
      yield* first.request("resources/subscribe", large("a"))
      const error = yield* second.refused("resources/subscribe", large("a"))
      assert.strictEqual((error.data as { readonly limit: string }).limit, "callerBytes")
      for (const client of [yield* open(ann2), yield* open(), yield* open()]) {
        yield* client.request("resources/subscribe", large("a"))
      }
      yield* first.request("resources/unsubscribe", large("a"))
      yield* second.request("resources/subscribe", large("a"))
    })
  )
})

describe("Anonymous callers", () => {
  const large = { uri: `x:${"a".repeat(1000)}` }
  const limits = { callerBytes: 3000 }
  const limitOf = ({ data }: McpError.McpError) => (data as { readonly limit: string }).limit

  it.effect("Anonymous sessions from one address share one subscription limit", () =>
    Effect.gen(function* () {
      const server = yield* serve({ features: watched, limits })
      const open = (address: string) => connect(server, { address })
      const first = yield* open("2001:db8::1")
      yield* first.request("resources/subscribe", large)
      const neighbour = yield* open("2001:db8::2")
      assert.strictEqual(limitOf(yield* neighbour.refused("resources/subscribe", large)), "callerBytes")
      yield* (yield* open("2001:db8:1::1")).request("resources/subscribe", large)
      yield* first.request("resources/unsubscribe", large)
      yield* neighbour.request("resources/subscribe", large)
    })
  )

  it.effect("A sessionless subscriptions/listen counts against its address (2026-07-28)", () =>
    Effect.gen(function* () {
      const server = yield* serve({ features: watched, limits })
      const listen = (address: string) => {
        const sent: Array<any> = []
        const params = { notifications: { resourceSubscriptions: [large.uri] }, _meta: metaOf() }
        const request = { jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params } as const
        const sink: Sink = { send: (message) => void sent.push(message), writable: () => true, ready: Effect.void }
        const answered = McpServer.dispatch(server)(request, {}, sink, { address })
        return Effect.as(Effect.forkChild(answered, { startImmediately: true }), sent)
      }
      yield* listen("192.0.2.1")
      const [refused] = yield* listen("192.0.2.1")
      assert.strictEqual(refused.error.data.limit, "callerBytes")
      const [acknowledged] = yield* listen("192.0.2.2")
      assert.strictEqual(acknowledged.method, "notifications/subscriptions/acknowledged")
    })
  )
})

describe("subscriptions/listen", () => {
  const listening = Effect.gen(function* () {
    let looked = 0
    const features = Layer.merge(
      watched,
      Resources.layer({ uri: "y:", name: "y", visible: () => ++looked > 0 }, Effect.succeed(""), Stream.never)
    )
    return { features, looked: () => looked }
  })

  it.effect("subscriptions/listen with 150 000 URIs is rejected before any lookup (2026-07-28)", () =>
    Effect.gen(function* () {
      const { features, looked } = yield* listening
      const client = yield* join(yield* serve({ features }))
      const resourceSubscriptions = Array.from({ length: 150_000 }, (_, n) => (n === 0 ? "y:" : `x:${n}`))
      const error = yield* client.refused("subscriptions/listen", { notifications: { resourceSubscriptions } })
      assert.strictEqual(error.code, McpError.LimitExceeded)
      const { given } = error.data as { readonly given: number }
      assert.deepStrictEqual(error.data, data("sessionBytes", given, 1024 * 1024))
      assert.isAbove(given, 150_000 * 512)
      assert.strictEqual(looked(), 0)
    })
  )

  it.effect("subscriptions/listen is rejected if a URI or the rest of the request is too long (2026-07-28)", () =>
    Effect.gen(function* () {
      const { features } = yield* listening
      const client = yield* join(yield* serve({ features }))
      const refused = (params: object) =>
        Effect.map(client.refused("subscriptions/listen", params), ({ data }) => (data as any).limit)
      assert.strictEqual(
        yield* refused({ notifications: { resourceSubscriptions: [`x:${"a".repeat(9000)}`] } }),
        "uriBytes"
      )
      assert.strictEqual(
        yield* refused({ notifications: {}, _meta: { "example.com/x": "x".repeat(1024 * 1024) } }),
        "sessionBytes"
      )
    })
  )

  it.effect("subscriptions/listen counts against its connection and caller only while open (2026-07-28)", () =>
    Effect.gen(function* () {
      const { features } = yield* listening
      const server = yield* serve({ features, limits: { callerBytes: 4000, sessionBytes: 3000 } })
      const wanted = { resourceSubscriptions: [`x:${"a".repeat(900)}`] }
      const limitOf = (client: { readonly refused: any }) =>
        Effect.map(
          client.refused("subscriptions/listen", { notifications: wanted }) as Effect.Effect<McpError.McpError>,
          ({ data }) => (data as any).limit
        )
      const first = yield* join(server, { principal: ann })
      const open = yield* first.listen(wanted)
      assert.strictEqual(open.messages().length, 1)
      assert.strictEqual(yield* limitOf(first), "sessionBytes")
      const second = yield* join(server, { principal: ann })
      assert.strictEqual(yield* limitOf(second), "callerBytes")
      assert.strictEqual((yield* (yield* join(server)).listen(wanted)).messages().length, 1)
      yield* open.cancel
      assert.strictEqual(first.session.kept, 0)
      assert.strictEqual((yield* second.listen(wanted)).messages().length, 1)
    })
  )

  it.effect("subscriptions/listen in its own POST counts against its caller until it ends (2026-07-28)", () =>
    Effect.gen(function* () {
      const { features } = yield* listening
      const server = yield* serve({ features, limits: { callerBytes: 3000 } })
      const wanted = { resourceSubscriptions: [`x:${"a".repeat(900)}`] }
      const client = yield* join(server, { principal: ann })
      const sent: Array<JsonRpc.Message | ReadonlyArray<JsonRpc.Message>> = []
      const sink: Sink = {
        send: (message) => void sent.push(message),
        writable: () => true,
        ready: Effect.void
      }
      const request = {
        jsonrpc: "2.0",
        id: 1,
        method: "subscriptions/listen",
        params: { notifications: wanted, _meta: metaOf() }
      } as const
      const post = yield* Effect.forkChild(McpServer.dispatch(server)(request, { principal: ann }, sink), {
        startImmediately: true
      })
      assert.strictEqual(sent.length, 1)
      const error = yield* client.refused("subscriptions/listen", { notifications: wanted })
      assert.strictEqual((error.data as any).limit, "callerBytes")
      yield* Fiber.interrupt(post)
      assert.strictEqual((yield* client.listen(wanted)).messages().length, 1)
    })
  )
})
