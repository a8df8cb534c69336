/**
 * Arguments that are also sent in headers (2026-07-28): how the client learns of them, and how it handles servers that are wrong.
 */
import * as ClientMiddleware from "@effect-mcp/client/ClientMiddleware"
import * as Http from "@effect-mcp/client/Http"
import * as McpClient from "@effect-mcp/client/McpClient"
import * as Tool from "@effect-mcp/core/Tool"
import { type Citation, verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schema, Stream } from "effect"
import * as Modern from "../support/modern.ts"
import * as Raw from "../transport/http/support/raw.ts"

const [, http] = Raw.clients[0]!
const test = (title: string, body: Effect.Effect<void, unknown, any>, options?: Citation) =>
  it.effect(title, () => Effect.provide(Effect.scoped(body), http) as Effect.Effect<void, unknown>, options)

const Route = Tool.make("route", {
  description: "Says where.",
  input: { region: Schema.String.annotate({ "x-mcp-header": "Region" }), other: Schema.optionalKey(Schema.String) }
})

const listed = (header: string, name = "route") => ({
  name,
  inputSchema: {
    type: "object",
    properties: {
      region: { type: "string", "x-mcp-header": header },
      place: {
        type: "object",
        properties: {
          floor: { type: "integer", "x-mcp-header": "Floor" },
          open: { type: "boolean", "x-mcp-header": "Open" }
        }
      },
      other: { type: "string" }
    }
  }
})
const page = (tools: ReadonlyArray<object>, ttlMs = 0) => ({
  resultType: "complete",
  tools,
  ttlMs,
  cacheScope: "private"
})
const called = { resultType: "complete", content: [] }
const mismatch = (id: unknown) => ({ jsonrpc: "2.0", id, error: { code: -32020, message: "Header mismatch" } })

const open = Effect.fnUntraced(function* (options: McpClient.Options = {}) {
  const server = yield* Raw.open
  const opened = yield* Effect.forkScoped(McpClient.open(Http.open({ url: server.url }), options))
  yield* (yield* server.next).result(Modern.discovered())
  return { server, client: yield* Fiber.join(opened) }
})
const fork = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })
const params = ({ headers }: Raw.Hit) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith("mcp-param-")))

describe("Middleware headers", () => {
  test(
    "Middleware headers are sent with every request, including the handshake",
    Effect.gen(function* () {
      const tenant = ClientMiddleware.layer({ request: (_, next) => next({ headers: { "x-tenant": "acme" } }) })
      const server = yield* Raw.open
      const opened = yield* Effect.forkScoped(Effect.provide(McpClient.open(Http.open({ url: server.url })), tenant))
      const discover = yield* server.next
      yield* discover.result(Modern.discovered())
      const client = yield* Fiber.join(opened)
      const asked = yield* fork(client.callToolByName("t", {}, { headers: { "x-mine": "1" } }))
      const list = yield* server.next
      yield* list.result(page([]))
      const post = yield* server.next
      yield* post.result(called)
      yield* Fiber.join(asked)
      for (const { headers } of [discover, list, post]) assert.strictEqual(headers["x-tenant"], "acme")
      assert.strictEqual(post.headers["x-mine"], "1")
    })
  )
})

describe("Argument headers", () => {
  test(
    "An argument header defined by a Tool value is sent without asking the server",
    Effect.gen(function* () {
      const { client, server } = yield* open()
      for (const [region, header] of [
        ["nord", "nord"],
        ["sør", "=?base64?c8O4cg==?="],
        [" padded ", "=?base64?IHBhZGRlZCA=?="],
        ["a\nb", "=?base64?YQpi?="],
        ["=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="],
        ["", ""]
      ] as const) {
        const asked = yield* fork(client.callTool(Route, { region, other: "x" }, { headers: { "x-mine": "1" } }))
        const post = yield* server.next
        assert.strictEqual(post.message.method, "tools/call")
        assert.deepStrictEqual(params(post), { "mcp-param-region": header })
        assert.strictEqual(post.headers["x-mine"], "1")
        assert.strictEqual(post.message.params.arguments.region, region)
        yield* post.result(called)
        yield* Fiber.join(asked)
      }
    }),
    verifies(
      "http.params.mirrored",
      "http.params.encoded",
      "http.params.base64",
      "http.params.markers",
      "http.params.marker-escaped"
    )
  )

  test(
    "An argument header defined by the server's list is sent",
    Effect.gen(function* () {
      const { client, server } = yield* open()
      const args = { region: "nord", place: { floor: -7, open: false }, other: "x" }
      const first = yield* fork(client.callToolByName("route", args))
      const list = yield* server.next
      assert.strictEqual(list.message.method, "tools/list")
      yield* list.result(page([listed("Region")]))
      const post = yield* server.next
      assert.deepStrictEqual(params(post), {
        "mcp-param-region": "nord",
        "mcp-param-floor": "-7",
        "mcp-param-open": "false"
      })
      yield* post.result(called)
      yield* Fiber.join(first)
      const second = yield* fork(client.callToolByName("route", { region: null, place: { open: true } }))
      const again = yield* server.next
      assert.deepStrictEqual(params(again), { "mcp-param-open": "true" })
      yield* again.result(called)
      yield* Fiber.join(second)
    }),
    verifies("http.params.exact-path", "http.params.omitted")
  )

  test(
    "A bare request also sends argument headers",
    Effect.gen(function* () {
      const { client, server } = yield* open()
      const asked = yield* fork(client.request("tools/call", { name: "route", arguments: { region: "nord" } }))
      yield* (yield* server.next).result(page([listed("Region")]))
      const post = yield* server.next
      assert.deepStrictEqual(params(post), { "mcp-param-region": "nord" })
      yield* post.result(called)
      assert.deepStrictEqual(yield* Fiber.join(asked), { content: [] })
    })
  )

  test(
    "A tool that is not listed or cannot be listed is called without argument headers",
    Effect.gen(function* () {
      const { client, server } = yield* open()
      for (const refuse of [false, true]) {
        const asked = yield* fork(client.callToolByName(`hidden ${refuse}`, { region: "nord" }))
        const list = yield* server.next
        if (refuse) yield* list.json({ jsonrpc: "2.0", id: list.message.id, error: { code: -32603, message: "No" } })
        else yield* list.result(page([listed("Region")]))
        const post = yield* server.next
        assert.deepStrictEqual(params(post), {})
        yield* post.result(called)
        yield* Fiber.join(asked)
      }
      // It was looked up once.
      const again = yield* fork(client.callToolByName("hidden true"))
      yield* (yield* server.next).result(called)
      yield* Fiber.join(again)
    })
  )

  for (const [by, call] of [
    ["name", (client: McpClient.McpClient["Service"]) => client.callToolByName("route", { region: "nord" })],
    ["contract", (client: McpClient.McpClient["Service"]) => client.callTool(Route, { region: "nord" })]
  ] as const) {
    test(
      `An argument header that a call by ${by} got wrong is looked up and retried once`,
      Effect.gen(function* () {
        const { client, server } = yield* open()
        const listing = yield* fork(Stream.runDrain(client.listTools))
        yield* (yield* server.next).result(page([listed("Region")], 60_000))
        yield* Fiber.join(listing)
        const asked = yield* fork(call(client))
        const first = yield* server.next
        assert.deepStrictEqual(params(first), { "mcp-param-region": "nord" })
        yield* first.json(mismatch(first.message.id), 400)
        const list = yield* server.next
        assert.strictEqual(list.message.method, "tools/list")
        yield* list.result(page([listed("Area")]))
        const second = yield* server.next
        assert.deepStrictEqual(params(second), { "mcp-param-area": "nord" })
        assert.notStrictEqual(second.message.id, first.message.id)
        // One retry is enough.
        yield* second.json(mismatch(second.message.id), 400)
        assert.deepInclude(yield* Effect.flip(Fiber.join(asked)), { code: -32020 })
        assert.strictEqual(yield* server.waiting, 0)
      }),
      verifies("http.params.refreshed")
    )
  }

  const invalid = [
    listed("", "empty"),
    listed("two words", "spaced"),
    listed("Floor", "twice"),
    { name: "number", inputSchema: { type: "object", properties: { a: { type: "number", "x-mcp-header": "A" } } } },
    {
      name: "hidden",
      inputSchema: { type: "object", anyOf: [{ properties: { a: { type: "string", "x-mcp-header": "A" } } }] }
    }
  ]

  test(
    "A tool with an invalid argument header is removed from the list and reported",
    Effect.gen(function* () {
      const dropped: Array<string> = []
      const { client, server } = yield* open({ dropped: (reason) => void dropped.push(reason) })
      const listing = yield* fork(Stream.runCollect(client.listTools))
      yield* (yield* server.next).result(page([invalid[0]!, listed("Region"), ...invalid.slice(1)]))
      assert.deepStrictEqual(
        (yield* Fiber.join(listing)).map(({ name }) => name),
        ["route"]
      )
      assert.strictEqual(dropped.length, invalid.length)
      for (const [index, { name }] of invalid.entries()) {
        assert.include(dropped[index], name)
        assert.include(dropped[index], "x-mcp-header")
        assert.deepInclude(yield* Effect.flip(client.callToolByName(name, {})), { _tag: "InvalidResult" })
      }
      assert.strictEqual(yield* server.waiting, 0)
    }),
    verifies("tools.header.rejected", "tools.header.excluded", "tools.header.logged")
  )

  it.effect("A tool with an invalid header stays listed and callable on a wire without headers", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { client, server } = yield* Modern.connected({
          answers: { "tools/list": () => page(invalid), "tools/call": () => called }
        })
        assert.strictEqual((yield* Stream.runCollect(client.listTools)).length, invalid.length)
        yield* client.callToolByName("empty", { region: "nord" })
        yield* client.callToolByName("unheard of", {})
        assert.deepStrictEqual(Modern.methods(server), ["server/discover", "tools/list", "tools/call", "tools/call"])
      })
    )
  )

  test(
    "A tool with an invalid header stays listed and callable in a session",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const opened = yield* Effect.forkScoped(
        McpClient.open(Http.open({ url: server.url }), { revisions: ["2025-11-25"] })
      )
      yield* (yield* server.next).result({
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "raw", version: "1" }
      })
      yield* (yield* server.take("POST")).status(202)
      yield* (yield* server.take("GET")).status(405)
      const client = yield* Fiber.join(opened)
      const listing = yield* fork(Stream.runCollect(client.listTools))
      yield* (yield* server.take("POST")).result({ tools: invalid })
      assert.strictEqual((yield* Fiber.join(listing)).length, invalid.length)
      const asked = yield* fork(client.callTool(Route, { region: "nord" }))
      const post = yield* server.take("POST")
      assert.deepStrictEqual(params(post), {})
      yield* post.result({ content: [] })
      yield* Fiber.join(asked)
    })
  )
})
