/** Errors with a custom status, and the HTTP request that handlers see, in every revision served over HTTP. */
import { RequestContext } from "@effect-mcp/core/RequestContext"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Middleware from "@effect-mcp/server/Middleware"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import type { OutgoingHttpHeaders } from "node:http"
import { call, type Client, open, type Reply } from "../support/http.ts"
import { callOf, openSession, revisions } from "../support/session.ts"

class User extends Context.Service<User, string>()("test/User") {}

const challenge = `Bearer realm="notes", error="invalid_token"`
const say = Effect.asSome(User)
const tool = (name: string) => Tools.layer(Tool.make(name, { description: "" }), () => Effect.as(say, name))
/** Rejects requests based on the header `x-user`. */
const user = Middleware.provide(
  User,
  Effect.gen(function* () {
    const { http, outbound } = yield* RequestContext
    const name = http?.headers["x-user"]
    if (name === "early") outbound.notify("notifications/message", { level: "info", data: "begun" })
    if (name === undefined) return yield* McpError.unauthorized("Log in first", { challenge })
    if (name === "hostile") return yield* McpError.unauthorized("no", { challenge: "Bearer\r\nx-injected: 1" })
    if (name !== "ada") return yield* McpError.forbidden("Not you", { data: { name } })
    return name
  })
)
const seen = Tools.layer(Tool.make("seen", { description: "" }), () =>
  Effect.map(RequestContext, ({ http }) =>
    JSON.stringify({
      ...http,
      headers: { a: http?.headers["x-a"], none: typeof http?.headers["constructor"], proto: http?.headers["__proto__"] }
    })
  )
)
const features = Layer.merge(Layer.provide(tool("whoami"), user), seen)

type Calls = (name: string, headers: OutgoingHttpHeaders) => Effect.Effect<Reply>

/** Calls of a tool by POST, in one revision. */
const callsIn = (version: string, client: Client): Effect.Effect<Calls> =>
  version === "2026-07-28"
    ? Effect.succeed((name, headers) => client.fetch(call(name, {}, headers)))
    : Effect.map(
        openSession(client, version as (typeof revisions)[number]),
        ({ post }) =>
          (name, headers) =>
            post(callOf(name), headers)
      )

for (const version of [...revisions, "2026-07-28"]) {
  describe(`Errors with a custom status (${version})`, () => {
    it.live("A custom status error sets the status, the challenge and a JSON-RPC body", () =>
      Effect.gen(function* () {
        const client = yield* open(features)
        const calls = yield* callsIn(version, client)
        const refused = yield* calls("whoami", {})
        assert.strictEqual(refused.status, 401)
        assert.strictEqual(refused.headers["www-authenticate"], challenge)
        assert.deepInclude((yield* refused.json).error, { code: -31401, message: "Log in first" })
        const forbidden = yield* calls("whoami", { "x-user": "eve" })
        assert.strictEqual(forbidden.status, 403)
        assert.isUndefined(forbidden.headers["www-authenticate"])
        assert.deepStrictEqual((yield* forbidden.json).error, {
          code: -31403,
          message: "Not you",
          data: { name: "eve" }
        })
        assert.strictEqual((yield* calls("whoami", { "x-user": "ada" })).status, 200)
      })
    )

    it.live("A custom status error cannot inject headers through its challenge", () =>
      Effect.gen(function* () {
        const client = yield* open(features)
        const reply = yield* (yield* callsIn(version, client))("whoami", { "x-user": "hostile" })
        assert.strictEqual(reply.status, 401)
        assert.strictEqual(reply.headers["www-authenticate"], "Bearer??x-injected: 1")
        assert.isUndefined(reply.headers["x-injected"])
      })
    )

    it.live("A custom status error is a plain JSON-RPC error once the response has started", () =>
      Effect.gen(function* () {
        const client = yield* open(features)
        const reply = yield* (yield* callsIn(version, client))("whoami", { "x-user": "early" })
        assert.strictEqual(reply.status, 200)
        assert.match(yield* reply.text, /"code":-31403/)
      })
    )
  })

  describe(`The handler's HTTP request (${version})`, () => {
    it.live("A handler's HTTP request contains method, URL, headers and address as plain data", () =>
      Effect.gen(function* () {
        const client = yield* open(features)
        const reply = yield* (yield* callsIn(version, client))("seen", { "x-a": "a, b" })
        const { content } = (yield* reply.json).result
        const { address, headers, method, url } = JSON.parse(content[0].text)
        assert.strictEqual(method, "POST")
        assert.match(url, /\/mcp$/)
        assert.deepStrictEqual(headers, { a: "a, b", none: "undefined" })
        if (address !== undefined) assert.match(address, /127\.0\.0\.1$/)
      })
    )
  })
}

describe("Batches (2025-03-26)", () => {
  it.live("A batch keeps status 200 if one of its answers has a custom status", () =>
    Effect.gen(function* () {
      const client = yield* open(features)
      const { post } = yield* openSession(client, "2025-03-26")
      const reply = yield* post([callOf("whoami", {}, 1), callOf("seen", {}, 2)])
      assert.strictEqual(reply.status, 200)
      assert.lengthOf(yield* reply.json, 2)
    })
  )
})
