/** The endpoint as a fetch handler, and cross-origin pages. */
import * as Progress from "@effect-mcp/core/Progress"
import * as Http from "../../src/http/RouterEndpoint.ts"
import * as McpServer from "@effect-mcp/server/McpServer"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Queue } from "effect"
import { echo, open, sent } from "./support/http.ts"
import * as Puppet from "./support/puppet.ts"
import { callOf, initialize } from "./support/session.ts"

const url = "http://localhost:3000/mcp"
const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" }

interface Init {
  readonly method?: string
  readonly headers?: { readonly [name: string]: string }
  readonly body?: string
}

/** A server as a Worker would define it, and its `fetch`. */
const worker = (features: Layer.Layer<never, never, McpServer.Registries>, options: Partial<Http.Options> = {}) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const server = Layer.fresh(McpServer.layer({ name: "worker", version: "1", features }))
        return Http.toWebHandler(server, { path: "/mcp", ...options })
      }),
      ({ dispose }) => Effect.promise(dispose)
    ),
    ({ dispose, handler }) => ({
      dispose: Effect.promise(dispose),
      fetch: (init: Init, where = url) =>
        Effect.promise(() =>
          handler(new Request(where, { method: "POST", ...init, headers: { ...headers, ...init.headers } }))
        )
    })
  )
const textsOf = (headers: object = {}): { readonly [name: string]: string } =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
const bodyOf = (response: Response) => Effect.promise(() => response.text())
const jsonOf = (response: Response): Effect.Effect<any> => Effect.promise(() => response.json())

describe("Fetch handler", () => {
  it.live("The fetch handler serves both eras", () =>
    Effect.gen(function* () {
      const { fetch } = yield* worker(echo)
      const { body, headers } = sent("tools/call", { name: "echo", arguments: { text: "hei" } })
      const modern = yield* fetch({ headers: textsOf(headers), body: String(body) })
      assert.strictEqual((yield* jsonOf(modern)).result.content[0].text, "hei")

      const opened = yield* fetch({ body: JSON.stringify(initialize("2025-11-25")) })
      const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" }
      assert.strictEqual((yield* jsonOf(opened)).result.protocolVersion, "2025-11-25")
      const reply = yield* fetch({ headers: session, body: JSON.stringify(callOf("echo", { text: "hallo" })) })
      assert.strictEqual((yield* jsonOf(reply)).result.content[0].text, "hallo")
      assert.strictEqual((yield* fetch({ method: "DELETE", headers: session })).status, 204)
    })
  )

  it.live("A request without a Host header uses the host of its URL, which must be listed", () =>
    Effect.gen(function* () {
      const { fetch } = yield* worker(echo, { allowedHosts: ["mcp.example.com"] })
      const body = JSON.stringify(initialize("2025-11-25"))
      assert.strictEqual((yield* fetch({ body }, "https://mcp.example.com/mcp")).status, 200)
      assert.strictEqual((yield* fetch({ body }, "https://evil.example.com/mcp")).status, 403)
    })
  )

  it.live("Cancelling a stream ends a 2026-07-28 request, but not a session's", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const { fetch } = yield* worker(puppet.layer)
      const opened = yield* fetch({ body: JSON.stringify(initialize("2025-11-25")) })
      const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" }
      const meta = { progressToken: 1 }
      const old = { headers: session, body: JSON.stringify(callOf("puppet", { name: "old" }, 1, meta)) }
      const { body, headers } = sent("tools/call", { name: "puppet", arguments: { name: "new" }, _meta: meta })
      const modern = { headers: textsOf(headers), body: String(body) }
      for (const [name, request] of [
        ["old", old],
        ["new", modern]
      ] as const) {
        yield* puppet.tell(name, Progress.report(1))
        const response = yield* fetch(request)
        assert.strictEqual(response.headers.get("content-type"), "text/event-stream")
        const reader = response.body?.getReader()
        yield* Effect.promise(async () => reader?.read())
        yield* Effect.promise(async () => reader?.cancel())
      }
      assert.deepStrictEqual(yield* Queue.take(puppet.ended), ["new", "interrupted"])
      yield* puppet.tell("old", Puppet.answer("done"))
      assert.deepStrictEqual(yield* Queue.take(puppet.ended), ["old", "done"])
    })
  )

  it.effect("The fetch handler starts no timer before its first request", () =>
    Effect.gen(function* () {
      const { setInterval, setTimeout } = globalThis
      let timers = 0
      const counted = () => void timers++
      Object.assign(globalThis, { setTimeout: counted, setInterval: counted })
      yield* Effect.ensuring(
        Effect.promise(async () => {
          const web = Http.toWebHandler(McpServer.layer({ name: "web", version: "1", features: echo }), {
            path: "/mcp"
          })
          for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
          await web.dispose()
        }),
        Effect.sync(() => Object.assign(globalThis, { setInterval, setTimeout }))
      )
      assert.strictEqual(timers, 0)
    })
  )

  it.live("Disposing the fetch handler closes everything open", () =>
    Effect.gen(function* () {
      const { dispose, fetch } = yield* worker(echo)
      const opened = yield* fetch({ body: JSON.stringify(initialize("2025-11-25")) })
      const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" }
      const stream = yield* fetch({ method: "GET", headers: { ...session, accept: "text/event-stream" } })
      yield* dispose
      assert.include(yield* bodyOf(stream), "id: 0-0")
    })
  )
})

describe("Cross-origin pages", () => {
  const origin = "https://app.example.com"
  const preflight = {
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "content-type,mcp-session-id,mcp-param-region,last-event-id"
    }
  }

  it.live("A page from an allowed origin can send requests and read the session id", () =>
    Effect.gen(function* () {
      const { fetch } = yield* open(echo, { cors: true, allowedOrigins: [origin] })
      const asked = yield* fetch(preflight)
      assert.strictEqual(asked.status, 204)
      assert.strictEqual(asked.headers["access-control-allow-origin"], origin)
      assert.strictEqual(
        asked.headers["access-control-allow-headers"],
        preflight.headers["access-control-request-headers"]
      )
      assert.strictEqual(asked.headers["access-control-allow-methods"], "GET, POST, DELETE")
      const reply = yield* fetch({ headers: { origin }, body: JSON.stringify(initialize("2025-11-25")) })
      assert.strictEqual(reply.status, 200)
      assert.strictEqual(reply.headers["access-control-allow-origin"], origin)
      assert.include(reply.headers["access-control-expose-headers"], "Mcp-Session-Id")
    })
  )

  it.live("A page from another origin gets no response the browser accepts", () =>
    Effect.gen(function* () {
      const { fetch } = yield* open(echo, { cors: true })
      assert.isUndefined((yield* fetch(preflight)).headers["access-control-allow-origin"])
      const reply = yield* fetch({ headers: { origin }, body: JSON.stringify(initialize("2025-11-25")) })
      assert.strictEqual(reply.status, 403)
      assert.isUndefined(reply.headers["access-control-allow-origin"])
      const closed = yield* open(echo, { allowedOrigins: [origin] })
      assert.strictEqual((yield* closed.fetch(preflight)).status, 405)
    })
  )

  it.live("Cookies are accepted only from explicitly listed origins", () =>
    Effect.gen(function* () {
      const { fetch } = yield* open(echo, { cors: { credentials: true }, allowedOrigins: ["*", `${origin}/`] })
      const allowed = (origin: string) =>
        Effect.map(
          fetch({ ...preflight, headers: { ...preflight.headers, origin } }),
          ({ headers }) => headers["access-control-allow-origin"]
        )
      assert.strictEqual(yield* allowed(origin), origin)
      assert.isUndefined(yield* allowed("https://evil.example.com"))
      assert.isUndefined(yield* allowed("http://localhost:1234"))
    })
  )
})
