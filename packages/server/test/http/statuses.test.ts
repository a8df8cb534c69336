/** Responses over HTTP: statuses, errors, and admission. */
import { EncodedResult } from "@effect-mcp/core/EncodedResult"
import * as Extension from "@effect-mcp/core/Extension"
import * as Extensions from "@effect-mcp/core/Extensions"
import { Principal } from "@effect-mcp/core/Principal"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import { verifies } from "@effect-mcp/spec/verifies"
import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Queue, Schema } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import * as Middleware from "../../src/features/Middleware.ts"
import { call, echo, isFetch, isNodes, open, region, sent } from "./support/http.ts"

const version = "io.modelcontextprotocol/protocolVersion"
const capabilities = "io.modelcontextprotocol/clientCapabilities"
const newest = { revisions: ["2026-07-28"] } as const
const fails = (name: string, error: McpError.McpError) =>
  Tools.layer(Tool.make(name, { description: "Fails." }), () => Effect.fail(error))
const features = Layer.mergeAll(
  echo,
  region,
  fails("refuses", McpError.methodNotFound("nothing")),
  fails("needs_sampling", McpError.missingClientCapability({ sampling: {} }))
)

describe("POSTs in 2026-07-28", () => {
  it.live(
    "A request is answered with one JSON object, alongside the user's routes",
    () =>
      Effect.gen(function* () {
        const { fetch } = yield* open(features)
        const reply = yield* fetch(call("echo", { text: "hei" }))
        assert.strictEqual(reply.status, 200)
        assert.strictEqual(reply.headers["content-type"], "application/json")
        const { id, result } = yield* reply.json
        assert.strictEqual(id, 1)
        assert.deepStrictEqual(result.content, [{ type: "text", text: "hei" }])
        assert.strictEqual(yield* (yield* fetch({ method: "GET", path: "/health" })).text, "well")
      }),
    verifies("http.endpoint.post", "http.post.json-or-sse")
  )

  it.live("The error for an unsupported revision lists the supported ones, even for initialize", () =>
    Effect.gen(function* () {
      const { fetch, post } = yield* open(features, {}, newest)
      const discovered = yield* (yield* post("server/discover")).json
      assert.deepStrictEqual(discovered.result.supportedVersions, ["2026-07-28"])
      const old = { jsonrpc: "2.0", id: 7, method: "initialize", params: { protocolVersion: "2025-11-25" } }
      const reply = yield* fetch({ body: JSON.stringify(old) })
      assert.strictEqual(reply.status, 400)
      assert.deepInclude((yield* reply.json).error, { code: -32020, data: { supported: ["2026-07-28"] } })
    })
  )

  it.live("Unknown methods that middleware does not answer get 404", () =>
    Effect.gen(function* () {
      const answers = Middleware.layer((request, next) => {
        const { method }: { readonly method: string } = request
        if (method === "acme/wrong") return Effect.fail(McpError.invalidParams("Wrong"))
        return method === "acme/known" ? Effect.succeed(EncodedResult.core("complete", { known: true })) : next
      })
      const { post } = yield* open(answers, {}, { ...newest, unknownMethods: "middleware" })
      const status = (method: string) =>
        Effect.flatMap(post(method), (reply) =>
          Effect.map(reply.json, ({ error, result }) => [reply.status, error?.code ?? result.known])
        )
      assert.deepStrictEqual(yield* status("acme/known"), [200, true])
      assert.deepStrictEqual(yield* status("acme/wrong"), [200, -32602])
      assert.deepStrictEqual(yield* status("acme/unknown"), [404, -32601])
    })
  )

  it.live(
    "A notification gets 202, and any other non-request gets 400 with its id",
    () =>
      Effect.gen(function* () {
        const { fetch } = yield* open(features, {}, newest)
        const accepted = yield* fetch({ body: `{"jsonrpc":"2.0","method":"notifications/cancelled"}` })
        assert.strictEqual(accepted.status, 202)
        assert.strictEqual(yield* accepted.text, "")
        const refused: ReadonlyArray<readonly [body: string | Uint8Array, code: number, id: unknown]> = [
          ["", -32700, undefined],
          ["{", -32700, undefined],
          [Uint8Array.of(0x22, 0xff, 0x22), -32700, undefined],
          ["[]", -32600, undefined],
          [`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, -32600, undefined],
          [`{"jsonrpc":"2.0","id":5,"method":1}`, -32600, 5],
          [`{"jsonrpc":"2.0","id":5,"result":{}}`, -32600, undefined],
          [`{"jsonrpc":"2.0","id":5,"result":{},"error":{}}`, -32600, undefined]
        ]
        for (const [body, code, id] of refused) {
          const reply = yield* fetch({ body })
          assert.strictEqual(reply.status, 400, String(body))
          const answer = yield* reply.json
          assert.strictEqual(answer.error.code, code, String(body))
          assert.strictEqual(answer.id, id, String(body))
        }
      }),
    verifies("http.post.accepted", "http.post.not-accepted")
  )

  it.live("A POST with another media type or an oversized body is rejected", () =>
    Effect.gen(function* () {
      const { fetch } = yield* open(features, { maxMessageBytes: 1000 })
      const status = (sent: Parameters<typeof fetch>[0]) => Effect.map(fetch(sent), (reply) => reply.status)
      const accepted = (accept: string) => status(call("echo", { text: "" }, { accept }))
      for (const accept of ["*/*", "text/*, application/json;q=0.5", "APPLICATION/JSON , text/event-stream"]) {
        assert.strictEqual(yield* accepted(accept), 200, accept)
      }
      for (const accept of ["application/json", "text/event-stream", "text/html", "*/*;q=0"]) {
        assert.strictEqual(yield* accepted(accept), 406, accept)
      }
      for (const type of ["text/plain", undefined, "application/jsonx"]) {
        assert.strictEqual(yield* status(call("echo", { text: "" }, { "content-type": type })), 415, type)
      }
      const zipped = yield* fetch(call("echo", { text: "" }, { "content-encoding": "gzip" }))
      assert.deepStrictEqual([zipped.status, zipped.headers["accept-encoding"]], [415, "identity"])
      assert.strictEqual(yield* status(call("echo", { text: "" }, { "content-encoding": "identity" })), 200)
      assert.strictEqual(
        yield* status(call("echo", { text: "" }, { "content-type": "application/json; charset=utf-8" })),
        200
      )
      const large = call("echo", { text: "x".repeat(1000) })
      assert.strictEqual(yield* status(large), 413)
      assert.strictEqual(
        yield* status({ ...large, headers: { ...large.headers, "transfer-encoding": "chunked" } }),
        413
      )
    })
  )

  it.live(
    "Missing headers or metadata get 400, and an unknown method gets 404",
    () =>
      Effect.gen(function* () {
        const { fetch, post } = yield* open(features)
        const answer = (reply: Effect.Success<ReturnType<typeof fetch>>) =>
          Effect.map(reply.json, ({ error, id }) => [reply.status, error?.code, id])
        const refused = (...message: Parameters<typeof post>) => Effect.flatMap(post(...message), answer)
        for (const header of ["mcp-protocol-version", "mcp-method"]) {
          for (const value of [undefined, "other"]) {
            assert.deepStrictEqual(yield* refused("tools/list", {}, { [header]: value }), [400, -32020, 1])
          }
        }
        for (const value of [undefined, "other", "ECHO", "=?base64?!?="]) {
          const wrong = call("echo", { text: "" }, { "mcp-name": value })
          assert.deepStrictEqual(yield* Effect.flatMap(fetch(wrong), answer), [400, -32020, 1])
        }
        const shouting = sent("tools/list", {}, { "mcp-method": undefined, "MCP-METHOD": "tools/list" })
        assert.strictEqual((yield* fetch(shouting)).status, 200)

        // The error for mismatched headers precedes the error for an unsupported version.
        const future = { _meta: { [version]: "2099-01-01" } }
        assert.deepStrictEqual(
          yield* refused("tools/list", future, { "mcp-protocol-version": "2026-07-28" }),
          [400, -32020, 1]
        )
        assert.deepStrictEqual(yield* refused("tools/list", future), [400, -32022, 1])
        assert.deepStrictEqual(yield* refused("tools/list", { _meta: { [version]: "2025-11-25" } }), [400, -32022, 1])
        for (const field of [version, capabilities]) {
          const headers = { "mcp-protocol-version": "2026-07-28" }
          assert.deepStrictEqual(
            yield* refused("tools/list", { _meta: { [field]: undefined } }, headers),
            [400, -32602, 1]
          )
        }
        const removed = ["initialize", "ping", "logging/setLevel", "resources/subscribe", "tasks/get", "prompts/list"]
        for (const method of removed) assert.deepStrictEqual(yield* refused(method), [404, -32601, 1], method)
        const incapable = yield* fetch(call("needs_sampling"))
        assert.deepStrictEqual(yield* answer(incapable), [400, -32021, 1])
      }),
    verifies(
      "http.headers.validated",
      "http.headers.mismatch",
      "http.version.mismatch",
      "http.version.unsupported",
      "http.version.header-invalid",
      "http.version.missing",
      "http.method.unknown",
      "http.status.missing-field",
      "http.status.missing-capability",
      "http.headers.case-insensitive"
    )
  )

  it.live("An extension method is rejected if its name header does not match its params", () =>
    Effect.gen(function* () {
      const handled: Array<string> = []
      const Notes = Extension.make("com.example/notes", {
        requests: {
          read: Extension.request("com.example/notes/read", { params: { title: Schema.String }, nameParam: "title" }),
          count: Extension.request("com.example/notes/count")
        }
      })
      const notes = Extensions.layer(Notes, {
        requests: {
          read: ({ title }) => Effect.sync(() => ({ length: handled.push(title) })),
          count: () => Effect.succeed({})
        }
      })
      const { fetch } = yield* open(notes)
      const declared = { _meta: { [capabilities]: { extensions: { [Notes.id]: {} } } } }
      const read = (name: string | undefined, title: unknown = "café") =>
        sent(Notes.requests.read.method, { title, ...declared }, { "mcp-name": name })
      const answer = (message: ReturnType<typeof read>) =>
        Effect.flatMap(fetch(message), ({ json, status }) => Effect.map(json, ({ error }) => [status, error?.code]))
      for (const name of [undefined, "", "other", "CAFE", "=?base64?!?="]) {
        assert.deepStrictEqual(yield* answer(read(name)), [400, -32020], name)
      }
      assert.deepStrictEqual(handled, [])
      assert.deepStrictEqual(yield* answer(read("=?base64?Y2Fmw6k=?=")), [200, undefined])
      assert.deepStrictEqual(handled, ["café"])
      const other = sent(Notes.requests.count.method, declared, { "mcp-method": Notes.requests.read.method })
      assert.deepStrictEqual(yield* answer(other), [400, -32020])
      assert.deepStrictEqual(yield* answer(sent(Notes.requests.count.method, declared)), [200, undefined])
    })
  )

  it.live(
    "An unsupported version gets -32022 before other headers and params are checked",
    () =>
      Effect.gen(function* () {
        const { fetch, post } = yield* open(features)
        const future = "2099-01-01"
        const answer = (...message: Parameters<typeof post>) =>
          Effect.flatMap(post(...message), (reply) =>
            Effect.map(reply.json, ({ error }) => [reply.status, error.code, error.data?.requested])
          )
        const meta = { _meta: { [version]: future, [capabilities]: undefined } }
        const unserved = [400, -32022, future]
        for (const header of ["mcp-protocol-version", "mcp-method"]) {
          assert.deepStrictEqual(yield* answer("tools/list", meta, { [header]: undefined }), unserved, header)
        }
        assert.deepStrictEqual(yield* answer("tools/list", meta, { "mcp-method": "other" }), unserved)
        const unnamed = { _meta: { [version]: undefined, [capabilities]: undefined } }
        assert.deepStrictEqual(yield* answer("tools/list", unnamed, { "mcp-protocol-version": future }), unserved)
        const argument = yield* fetch(call("region", { region: "nord" }, { "mcp-protocol-version": future }))
        assert.strictEqual((yield* argument.json).error.code, -32020, "header and body ask for different versions")
      }),
    verifies("versioning.unsupported.error", "http.version.unsupported")
  )

  it.live("An error returned by a handler has status 200", () =>
    Effect.gen(function* () {
      const { fetch } = yield* open(features)
      for (const [name, code] of [
        ["refuses", -32601],
        ["no_such_tool", -32602]
      ] as const) {
        const reply = yield* fetch(call(name))
        assert.strictEqual(reply.status, 200, name)
        assert.strictEqual((yield* reply.json).error.code, code, name)
      }
    })
  )

  it.live(
    "Arguments with x-mcp-header must also appear in headers, with the same values",
    () =>
      Effect.gen(function* () {
        const { fetch } = yield* open(features)
        const status = (args: object, headers: { [name: string]: string }) =>
          Effect.flatMap(fetch(call("region", args, headers)), (reply) =>
            Effect.map(reply.json, ({ error }) => [reply.status, error?.code])
          )
        const well = [200, undefined]
        assert.deepStrictEqual(yield* status({}, {}), well)
        assert.deepStrictEqual(yield* status({ region: null }, {}), well)
        assert.deepStrictEqual(yield* status({ region: "nord" }, { "Mcp-Param-Region": "nord" }), well)
        assert.deepStrictEqual(yield* status({ region: "sør" }, { "mcp-param-region": "=?base64?c8O4cg==?=" }), well)
        assert.deepStrictEqual(
          yield* status({ limit: 42 }, { "mcp-param-limit": "42.0", "mcp-param-unknown": "1" }),
          well
        )
        const bad = [400, -32020]
        assert.deepStrictEqual(yield* status({ region: "nord" }, {}), bad)
        assert.deepStrictEqual(yield* status({}, { "mcp-param-region": "nord" }), bad)
        assert.deepStrictEqual(yield* status({ region: "nord" }, { "mcp-param-region": "sør" }), bad)
        assert.deepStrictEqual(yield* status({ region: "Hello" }, { "mcp-param-region": "=?base64?SGVsbG8?=" }), bad)
        assert.deepStrictEqual(yield* status({ limit: 42 }, { "mcp-param-limit": "43" }), bad)
      }),
    verifies(
      "http.params.mismatch",
      "http.params.missing",
      "http.params.validated",
      "http.params.not-expected",
      "http.params.decoded"
    )
  )

  it.live(
    "An integer header must be exactly representable in JavaScript",
    () =>
      Effect.gen(function* () {
        const { fetch } = yield* open(features)
        const status = (limit: number) =>
          Effect.map(fetch(call("region", { limit }, { "mcp-param-limit": `${limit}` })), ({ status }) => status)
        for (const limit of [Number.MAX_SAFE_INTEGER, 0, Number.MIN_SAFE_INTEGER]) {
          assert.strictEqual(yield* status(limit), 200, `${limit}`)
        }
        for (const limit of [2 ** 53, -(2 ** 53), 2 ** 60]) assert.strictEqual(yield* status(limit), 400, `${limit}`)
      }),
    verifies("tools.header.safe-integer")
  )
})

describe("The endpoint", () => {
  it.live(
    "GET and DELETE get 405 in 2026-07-28, and session headers are ignored",
    () =>
      Effect.gen(function* () {
        const { fetch } = yield* open(features, {}, newest)
        for (const method of ["GET", "DELETE", "PUT"]) {
          const reply = yield* fetch({ method })
          assert.strictEqual(reply.status, 405, method)
          assert.strictEqual(reply.headers["allow"], "POST")
        }
        const reply = yield* fetch(call("echo", { text: "" }, { "mcp-session-id": "x", "last-event-id": "3" }))
        assert.strictEqual(reply.status, 200)
        assert.isUndefined(reply.headers["mcp-session-id"])
      }),
    verifies(
      "http.compatibility.get-delete-405",
      "http.compatibility.session-id-ignored",
      "http.compatibility.last-event-id-ignored"
    )
  )

  it.live(
    "An unlisted host or origin is rejected",
    () =>
      Effect.gen(function* () {
        const { fetch, port } = yield* open(features)
        const status = (headers: object) =>
          Effect.map(fetch(call("echo", { text: "" }, { ...headers })), ({ status }) => status)
        for (const host of ["localhost", `localhost:${port}`, `[::1]:${port}`, "127.0.0.1:1"]) {
          assert.strictEqual(yield* status({ host }), 200, host)
          assert.strictEqual(yield* status({ host, origin: `http://${host}` }), 200, host)
        }
        assert.strictEqual(yield* status({ origin: "http://localhost:1234" }), 200)
        for (const host of [
          "evil.example.com",
          `evil.example.com:${port}`,
          "localhost.evil.example.com",
          // The fetch API cannot create a Request with this host, or changes its path.
          ...(isFetch ? [] : ["a@localhost", "localhost/x"])
        ]) {
          assert.strictEqual(yield* status({ host }), 403, host)
          assert.strictEqual(yield* status({ host, origin: `http://${host}` }), 403, host)
        }
        for (const origin of [
          "http://evil.example.com",
          "https://localhost.evil.example.com",
          "null",
          "",
          "file://",
          "http://127.0.0.1.evil.example.com"
        ]) {
          assert.strictEqual(yield* status({ origin }), 403, origin)
        }
        assert.strictEqual(
          (yield* fetch({ method: "GET", headers: { origin: "http://evil.example.com" } })).status,
          403
        )
      }),
    verifies("http.origin.validated", "http.origin.forbidden")
  )

  it.live("Listed hosts and origins are accepted", () =>
    Effect.gen(function* () {
      const { fetch } = yield* open(features, {
        allowedHosts: ["mcp.example.com", "other.example.com:8443"],
        allowedOrigins: ["https://app.example.com"]
      })
      const status = (headers: object) =>
        Effect.map(fetch(call("echo", { text: "" }, { ...headers })), ({ status }) => status)
      const host = "mcp.example.com"
      assert.strictEqual(yield* status({ host }), 200)
      assert.strictEqual(yield* status({ host: "mcp.example.com:8080" }), 200)
      assert.strictEqual(yield* status({ host: "other.example.com:8443" }), 200)
      assert.strictEqual(yield* status({ host: "other.example.com" }), 403)
      assert.strictEqual(yield* status({ host, origin: "https://mcp.example.com" }), 200)
      assert.strictEqual(yield* status({ host, origin: "https://app.example.com" }), 200)
      assert.strictEqual(yield* status({ host, origin: "http://app.example.com" }), 403)
      assert.strictEqual(yield* status({ host, origin: "https://app.example.com.evil.example.com" }), 403)
    })
  )

  it.live("A principal provided by route middleware becomes the request's principal", () =>
    Effect.gen(function* () {
      const who = Tools.layer(Tool.make("who", { description: "Says who asks." }), () =>
        Effect.map(Principal, ({ subject }) => subject ?? "nobody")
      )
      const authenticated = HttpRouter.middleware<{ provides: Principal }>()((handler) =>
        Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
          Effect.provideService(handler, Principal, { subject: headers["x-user"], scopes: [], claims: {} })
        )
      )
      const { fetch } = yield* open(who, { around: Layer.provide(authenticated.layer) })
      for (const [headers, name] of [
        [{ "x-user": "ada" }, "ada"],
        [{}, "nobody"]
      ] as const) {
        const { result } = yield* (yield* fetch(call("who", {}, headers))).json
        assert.strictEqual(result.content[0].text, name)
      }
    })
  )

  it.live(
    "A request over the limits gets 429 with Retry-After",
    () =>
      Effect.gen(function* () {
        const entered = yield* Queue.unbounded<void>()
        const go = yield* Deferred.make<void>()
        const wait = Tools.layer(Tool.make("wait", { description: "Waits." }), () =>
          Effect.as(Effect.andThen(Queue.offer(entered, undefined), Deferred.await(go)), "done")
        )
        const { fetch, post } = yield* open(Layer.merge(wait, echo), { inFlight: 1, subscriptions: 1 })
        const listen = yield* post("subscriptions/listen", { notifications: { toolsListChanged: true } })
        assert.strictEqual(listen.status, 200)
        const second = yield* post("subscriptions/listen", { notifications: {} })
        assert.deepStrictEqual([second.status, second.headers["retry-after"]], [429, "1"])
        assert.strictEqual((yield* second.json).error.code, McpError.LimitExceeded)

        const waiting = yield* Effect.forkChild(fetch(call("wait")), { startImmediately: true })
        yield* Queue.take(entered)
        const over = yield* fetch(call("echo", { text: "" }))
        assert.deepStrictEqual([over.status, over.headers["retry-after"]], [429, "1"])
        yield* Deferred.succeed(go, undefined)
        assert.strictEqual((yield* Fiber.join(waiting)).status, 200)
        assert.strictEqual((yield* fetch(call("echo", { text: "" }))).status, 200)
      }),
    needs(!isNodes, "each node counts its own")
  )
})
