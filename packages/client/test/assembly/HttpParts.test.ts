/** A client over HTTP without what its first call does not run: when it is loaded, what waits for it, and what fails where it is missing. */
import { NotLoaded } from "@effect-mcp/client/ClientError"
import * as Http from "@effect-mcp/client/Http"
import * as McpClient from "@effect-mcp/client/McpClient"
import type * as Revision from "@effect-mcp/protocol/Revision"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { HttpClient } from "effect/http"
import { vi } from "vitest"
import * as Parts from "../../src/transport/http/RareParts.ts"
import * as Sse from "../../src/transport/http/SseTransport.ts"
import { quiesce } from "../support/connected.ts"
import * as Fake from "../support/fake.ts"

const rejected = (): Promise<unknown> => Promise.reject(new TypeError("Failed to fetch dynamically imported module"))

/** The import of the rare parts of HTTP. */
const module = vi.hoisted(() => ({ loads: 0, load: (): Promise<unknown> => Promise.resolve() }))
/** The import of HTTP with SSE. */
const sse = vi.hoisted(() => ({ load: (): Promise<unknown> => Promise.resolve() }))
vi.mock("../../src/transport/http/loadRareParts.ts", async () => {
  const { imported } = await import("../../src/internal/Late.ts")
  return { rareParts: { loaded: () => undefined, load: imported(() => (module.loads++, module.load())) } }
})
vi.mock("../../src/transport/http/loadSse.ts", async () => {
  const { imported } = await import("../../src/internal/Late.ts")
  return { loadSse: imported(() => sse.load()) }
})

const fine = { resultType: "complete", content: [{ type: "text", text: "fine" }] }

/** A refusal whose body does not end, and whether the client has closed it. */
const endless = () => {
  let closed = false
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode("{")),
    cancel: () => void (closed = true)
  })
  return { response: new Response(body, { status: 400 }), isClosed: () => closed }
}

/** A server that speaks HTTP with SSE alone. */
const older = () => {
  let stream: ReadableStreamDefaultController<Uint8Array> | undefined
  const say = (event: string, data: string) =>
    stream?.enqueue(new TextEncoder().encode(`event: ${event}\ndata: ${data}\n\n`))
  return Fake.client(({ message, request }) => {
    if (message === undefined) {
      const body = new ReadableStream<Uint8Array>({ start: (controller) => void (stream = controller) })
      say("endpoint", "/messages")
      return new Response(body, { headers: { "content-type": "text/event-stream" } })
    }
    if (!request.url.endsWith("/messages")) return new Response(null, { status: 405 })
    const serverInfo = { name: "older", version: "1" }
    const result = { protocolVersion: "2024-11-05", capabilities: { tools: {} }, serverInfo }
    const answer = message.method === "initialize" ? { result } : { error: { code: -32601, message: "Unknown" } }
    if (message.id !== undefined) say("message", JSON.stringify({ jsonrpc: "2.0", id: message.id, ...answer }))
    return new Response(null, { status: 202 })
  })
}

/** A client, and what its server has heard since it was connected. */
const connected = Effect.fnUntraced(function* (
  version: Revision.Version,
  answer: (posted: Fake.Posted) => Response = ({ message }) => Fake.result(message, fine)
) {
  const heard: Array<string> = []
  const http = Fake.server(version, (posted) => {
    heard.push(posted.message.params?.name ?? posted.message.method)
    return answer(posted)
  })
  const client = yield* McpClient.open(Http.open({ url: "https://mcp.example.com/mcp" }), {
    reconnect: false,
    listsTools: false
  }).pipe(Effect.provideService(HttpClient.HttpClient, http), Effect.provideService(Http.ServerEraCache, new Map()))
  return { client, heard }
})

describe("Rare parts of HTTP", () => {
  it.effect("A client that calls a tool of a server without sessions and closes does not load them", () =>
    Effect.gen(function* () {
      module.loads = 0
      module.load = rejected
      const { client } = yield* connected("2026-07-28")
      assert.isUndefined((yield* client.callToolByName("a", {})).isError)
      assert.strictEqual(module.loads, 0)
    })
  )

  it.effect(
    "A request that is refused fails with NotLoaded where they are missing, and the next one loads them again",
    () =>
      Effect.gen(function* () {
        const { client } = yield* connected("2026-07-28", ({ message }) =>
          message.params.name === "a" ? Fake.json({}, 401) : Fake.result(message, fine)
        )
        module.load = rejected
        const error = yield* Effect.flip(client.callToolByName("a", {}))
        assert.instanceOf(error, NotLoaded)
        assert.include(error.message, "Failed to fetch dynamically imported module")
        assert.isUndefined((yield* client.callToolByName("b", {})).isError)
        module.load = () => Promise.resolve(Parts)
        assert.propertyVal(yield* Effect.flip(client.callToolByName("a", {})), "_tag", "Unauthorized")
      })
  )

  it.effect(
    "A client does not connect to a server with sessions where they are missing, and does so at the next try",
    () =>
      Effect.gen(function* () {
        module.load = rejected
        assert.instanceOf(yield* Effect.flip(connected("2025-11-25")), NotLoaded)
        module.load = () => Promise.resolve(Parts)
        const { client } = yield* connected("2025-11-25")
        assert.strictEqual(client.revision.version, "2025-11-25")
        assert.isUndefined((yield* client.callToolByName("a", {})).isError)
      })
  )

  it.effect("An option of streams that is no duration fails the connection to a server with sessions", () =>
    Effect.gen(function* () {
      module.load = () => Promise.resolve(Parts)
      const http = Fake.server("2025-11-25", ({ message }) => Fake.result(message, fine))
      const connector = Http.open({ url: "https://mcp.example.com/mcp", resume: { delay: "1e3 millis" } })
      const error = yield* Effect.flip(McpClient.open(connector, { reconnect: false })).pipe(
        Effect.provideService(HttpClient.HttpClient, http),
        Effect.provideService(Http.ServerEraCache, new Map())
      )
      assert.include(error.message, "1e3 millis")
    })
  )

  it.effect("Messages that wait for them reach the server in their order", () =>
    Effect.gen(function* () {
      const gate = Promise.withResolvers<typeof Parts>()
      const { client, heard } = yield* connected("2026-07-28", ({ message }) =>
        message.id === undefined ? new Response(null, { status: 202 }) : Fake.result(message, fine)
      )
      module.load = () => gate.promise
      yield* client.raw.notify("x/first", {})
      yield* client.raw.notify("x/second", {})
      const call = yield* Effect.forkChild(client.callToolByName("third", {}), { startImmediately: true })
      yield* quiesce
      assert.deepStrictEqual(heard, [])
      gate.resolve(Parts)
      yield* Fiber.join(call)
      assert.deepStrictEqual(heard, ["x/first", "x/second", "third"])
    })
  )

  it.effect(
    "A response that waits for them is closed where they are missing, and where its request is interrupted",
    () =>
      Effect.gen(function* () {
        let refusal = endless()
        const { client } = yield* connected("2026-07-28", () => refusal.response)
        module.load = rejected
        assert.instanceOf(yield* Effect.flip(client.callToolByName("a", {})), NotLoaded)
        assert.isTrue(refusal.isClosed())

        refusal = endless()
        module.load = () => new Promise(() => undefined)
        const call = yield* Effect.forkChild(client.callToolByName("a", {}), { startImmediately: true })
        yield* quiesce
        assert.isFalse(refusal.isClosed())
        yield* Fiber.interrupt(call)
        yield* quiesce
        assert.isTrue(refusal.isClosed())
      })
  )

  it.effect("A client that is closed while it waits for them before a handshake has sent nothing of that", () =>
    Effect.gen(function* () {
      const gate = Promise.withResolvers<typeof Parts>()
      let loads = 0
      // The refusal of the probe is read, and the handshake waits.
      module.load = () => (loads++ === 0 ? Promise.resolve(Parts) : gate.promise)
      const posted: Array<string> = []
      const http = Fake.client(({ message }) => {
        posted.push(message.method)
        return Fake.json({}, 400)
      })
      const open = Http.open({ url: "https://mcp.example.com/mcp", transport: "streamable" })
      const connecting = yield* Effect.forkChild(
        Effect.scoped(McpClient.open(open, { reconnect: false })).pipe(
          Effect.provideService(HttpClient.HttpClient, http),
          Effect.provideService(Http.ServerEraCache, new Map())
        ),
        { startImmediately: true }
      )
      yield* quiesce
      assert.deepStrictEqual([posted, loads], [["server/discover"], 2])
      yield* Fiber.interrupt(connecting)
      gate.resolve(Parts)
      yield* quiesce
      assert.deepStrictEqual(posted, ["server/discover"])
    })
  )
})

describe("HTTP with SSE as a part of its own", () => {
  it.effect(
    "Wherever a client needs it and it is missing, the client fails with NotLoaded; the next try connects",
    () =>
      Effect.gen(function* () {
        module.load = () => Promise.resolve(Parts)
        const url = "https://mcp.example.com/sse"
        const servers = new Map<string, Http.KnownTransport>()
        const connect = (transport: "auto" | "sse") => {
          const open = McpClient.open(Http.open({ url, transport }), { reconnect: false })
          return open.pipe(
            Effect.map(({ revision }) => revision.version),
            Effect.scoped,
            Effect.provideService(HttpClient.HttpClient, older()),
            Effect.provideService(Http.ServerEraCache, servers)
          )
        }
        // By choice, by a refused handshake, and for a server that is known to speak it alone.
        for (const transport of ["sse", "auto", "auto"] as const) {
          sse.load = rejected
          assert.instanceOf(yield* Effect.flip(connect(transport)), NotLoaded)
          sse.load = () => Promise.resolve(Sse)
          assert.strictEqual(yield* connect(transport), "2024-11-05")
        }
        assert.deepStrictEqual([...servers.values()], ["sse"])
      })
  )
})
