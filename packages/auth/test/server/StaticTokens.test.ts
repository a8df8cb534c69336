/** Tokens and API keys from an operator, over HTTP, and principals from custom middleware. */
import * as Auth from "@effect-mcp/auth/server/Auth"
import * as Credentials from "@effect-mcp/auth/server/Credentials"
import * as Prompt from "@effect-mcp/core/Prompt"
import { Principal } from "@effect-mcp/core/Principal"
import * as Prompts from "@effect-mcp/core/Prompts"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpServer from "@effect-mcp/server/McpServer"
import { since } from "@effect-mcp/spec/Requirement"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Layer, Logger, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { HttpRouter, HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import { createHash } from "node:crypto"
import { inspect } from "node:util"
import { openAt, request } from "./support/protected.ts"

const alice = "alice-0123456789abcdef"
const bob = "bob_0123456789.abcdef=="

const whoami = Tools.layer(Tool.make("whoami", { description: "Who calls." }), () =>
  Effect.map(Auth.caller, ({ claims, scopes, subject }) => JSON.stringify([subject, scopes, claims]))
)
const seen = Tools.layer(Tool.make("seen", { description: "Everything that a handler can see of its request." }), () =>
  Effect.gen(function* () {
    const { envelope } = yield* RequestContext
    return JSON.stringify([envelope, yield* Principal, { ...envelope.headers }])
  })
)
const write = Tools.layer(Tool.make("write", { description: "Writes." }), () => Effect.succeed("written")).pipe(
  Auth.requires("write")
)
const hidden = Prompts.layer(Prompt.make("hidden", { description: "For writers." }), () => Effect.succeed("?")).pipe(
  Auth.requires({ scopes: ["write"], hide: true })
)
const features = Layer.mergeAll(whoami, seen, write, hidden)

const sha256 = (token: string): string => createHash("sha256").update(token).digest("hex")

const tokens: ReadonlyArray<Auth.StaticToken> = [
  { token: Redacted.make(alice), subject: "alice", scopes: ["read", "write"], claims: { team: "a" } },
  { sha256: sha256(bob), subject: "bob", scopes: ["read"] }
]
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const textOf = (reply: { readonly json: any }): any => JSON.parse(reply.json.result.content[0].text)

const keys = (options: Partial<Auth.TokensOptions> = {}) => Auth.layerTokens({ tokens, ...options })

describe.each(since("2024-11-05"))("Static tokens at %s", (revision) => {
  const open = openAt(revision)

  it.effect("A static token identifies its caller, scopes and claims, whether stored as token or hash", () =>
    Effect.gen(function* () {
      const { call } = yield* open({ features, auth: keys() })
      assert.deepStrictEqual(textOf(yield* call("whoami", bearer(alice))), ["alice", ["read", "write"], { team: "a" }])
      assert.deepStrictEqual(textOf(yield* call("whoami", bearer(bob))), ["bob", ["read"], {}])
    })
  )

  it.effect("A request without its static token gets a 401 that names each header", () =>
    Effect.gen(function* () {
      const auth = keys({ headers: ["authorization", "x-api-key"], scopes: ["read"] })
      const { call, origin, url } = yield* open({ features, auth })
      for (const reply of [yield* call("whoami"), yield* request(url), yield* request(url, { method: "DELETE" })]) {
        assert.strictEqual(reply.status, 401)
        assert.strictEqual(
          reply.headers.get("www-authenticate"),
          'Bearer scope="read", ApiKey scope="read", header="x-api-key"'
        )
        assert.deepStrictEqual(reply.json, {
          error: "unauthorized",
          error_description: "Missing token. Send the header Authorization: Bearer TOKEN, or x-api-key: TOKEN"
        })
      }
      for (const path of ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"]) {
        assert.strictEqual((yield* request(`${origin}${path}`)).status, 404)
      }
    })
  )

  it.effect("A static token is accepted from each configured header and no other", () =>
    Effect.gen(function* () {
      const { call } = yield* open({ features, auth: keys({ headers: ["x-api-key", "x-token"] }) })
      for (const headers of [{ "x-api-key": bob }, { "X-Token": bob }] as ReadonlyArray<Record<string, string>>) {
        assert.strictEqual(textOf(yield* call("whoami", headers))[0], "bob")
      }
      const other = yield* call("whoami", bearer(bob))
      assert.strictEqual(other.status, 401)
      assert.strictEqual(other.headers.get("www-authenticate"), 'ApiKey header="x-api-key", ApiKey header="x-token"')
    })
  )

  it.effect("An unknown static token gets a 401 that does not repeat the token", () =>
    Effect.gen(function* () {
      const { call } = yield* open({ features, auth: keys({ headers: ["authorization", "x-api-key"] }) })
      const wrong = [alice.slice(0, -1), `${alice}0`, alice.toUpperCase(), sha256(bob), "a", "x".repeat(8192)]
      for (const token of wrong) {
        for (const headers of [bearer(token), { "x-api-key": token }] as ReadonlyArray<Record<string, string>>) {
          const reply = yield* call("whoami", headers)
          assert.strictEqual(reply.status, 401)
          const challenge = reply.headers.get("www-authenticate") ?? ""
          assert.match(challenge, /^Bearer error="invalid_token", error_description="Invalid token\. /)
          if (token.length > 1) assert.notInclude(reply.text + challenge, token)
        }
      }
    })
  )

  it.effect("A static token that is malformed, duplicated or in the query gets a 400", () =>
    Effect.gen(function* () {
      const { call, url } = yield* open({ features, auth: keys({ headers: ["authorization", "x-api-key"] }) })
      const malformed: ReadonlyArray<Record<string, string>> = [
        { authorization: `Bearer ${alice} ${bob}` },
        { authorization: `Bearer ${alice}, Bearer ${bob}` },
        { authorization: "Bearer " },
        { authorization: `DPoP ${alice}` },
        { "x-api-key": "" },
        { "x-api-key": `${alice}, ${bob}` },
        { "x-api-key": `Bearer ${alice}` },
        { ...bearer(alice), "x-api-key": alice },
        { ...bearer(alice), "x-api-key": bob }
      ]
      for (const headers of malformed) {
        const reply = yield* call("whoami", headers)
        assert.strictEqual(reply.status, 400, JSON.stringify(headers).slice(0, 80))
        assert.strictEqual(reply.json.error, "invalid_request")
        assert.notInclude(reply.text, alice)
      }
      const query = yield* request(`${url}?access_token=${alice}`, { method: "POST", headers: { "x-api-key": alice } })
      assert.strictEqual(query.status, 400)
    })
  )

  it.effect("A static token without a required scope gets a 403", () =>
    Effect.gen(function* () {
      const all = yield* open({ features, auth: keys({ scopes: ["write"] }) })
      const refused = yield* all.call("whoami", bearer(bob))
      assert.strictEqual(refused.status, 403)
      assert.strictEqual(
        refused.headers.get("www-authenticate"),
        'Bearer error="insufficient_scope", error_description="The token is missing required scopes: write", scope="write"'
      )
      const { call, post } = yield* open({ features, auth: keys() })
      const reply = yield* call("write", bearer(bob))
      assert.strictEqual(reply.status, 403)
      assert.match(reply.headers.get("www-authenticate") ?? "", /^Bearer error="insufficient_scope", .*scope="write"$/)
      assert.strictEqual((yield* call("write", bearer(alice))).status, 200)
      const listed = yield* post("prompts/list", {}, bearer(bob))
      assert.deepStrictEqual(listed.json.result.prompts, [])
    })
  )

  it.effect("A static token is hidden from handlers", () =>
    Effect.gen(function* () {
      const auth = keys({ headers: ["authorization", "x-api-key"] })
      const { call } = yield* open({ features, auth })
      for (const headers of [bearer(alice), { "x-api-key": alice }] as ReadonlyArray<Record<string, string>>) {
        const reply = yield* call("seen", headers)
        assert.strictEqual(reply.status, 200)
        assert.notInclude(reply.text, alice)
        assert.notInclude(reply.text, sha256(alice))
      }
    })
  )

  it.effect("Static tokens are optional if anonymous requests are admitted", () =>
    Effect.gen(function* () {
      const { call } = yield* open({ features, auth: keys({ anonymous: true }) })
      assert.strictEqual((yield* call("seen")).status, 200)
      const refused = yield* call("whoami")
      assert.deepStrictEqual([refused.status, refused.headers.get("www-authenticate")], [401, "Bearer"])
    })
  )

  it.effect("A lookup function receives the token's hash and can revoke it", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const known = new Map([[sha256(bob), { subject: "bob" }]])
      const find = (hash: string) =>
        Effect.sync(() => {
          asked.push(hash)
          return known.get(hash)
        })
      const { call } = yield* open({ features, auth: keys({ tokens: find }) })
      assert.strictEqual(textOf(yield* call("whoami", bearer(bob)))[0], "bob")
      known.clear()
      assert.strictEqual((yield* call("whoami", bearer(bob))).status, 401)
      assert.deepStrictEqual([...new Set(asked)], [sha256(bob)])
    })
  )
})

describe.each(since("2024-11-05").filter((version) => version !== "2026-07-28"))("Sessions in %s", (revision) => {
  it.effect("A session belongs to the subject of the token that opened it, not to other tokens", () =>
    Effect.gen(function* () {
      const second = { token: Redacted.make("alice-second-0123456789"), subject: "alice" }
      const { call } = yield* openAt(revision)({ features, auth: keys({ tokens: [...tokens, second] }) })
      assert.strictEqual((yield* call("whoami", bearer(bob), {}, bearer(alice))).status, 404)
      const same = yield* call("whoami", bearer("alice-second-0123456789"), {}, bearer(alice))
      assert.strictEqual(same.status, 200)
    })
  )
})

describe("Auth.layerTokens", () => {
  it("A token longer than 16384 characters is not read", () => {
    assert.isTrue(Credentials.isToken("x".repeat(16_384)))
    assert.isFalse(Credentials.isToken("x".repeat(16_385)))
  })

  const problemOf = (options: Auth.TokensOptions) =>
    Effect.map(Effect.exit(Layer.build(Auth.layerTokens(options))), (exit) =>
      Exit.isFailure(exit) ? Cause.pretty(exit.cause).split("\n")[0] : undefined
    )

  it.effect("Contradictory static token options are rejected without naming a token", () =>
    Effect.gen(function* () {
      const make = (token: string, subject = "alice") => ({ tokens: [{ token: Redacted.make(token), subject }] })
      for (const [options, reason] of [
        [make("two words"), /token of "alice" must consist of/],
        [make(""), /token of "alice" must consist of/],
        [make(alice, ""), /subject of a token must not be empty/],
        [{ tokens: [{ sha256: "ABC", subject: "alice" }] }, /64 lowercase/],
        [{ tokens: [...tokens, { sha256: sha256(alice), subject: "eve" }] }, /token of "eve" is listed twice/],
        [{ tokens, headers: ["X-Api-Key"] }, /header names in lower case/]
      ] as ReadonlyArray<readonly [Auth.TokensOptions, RegExp]>) {
        const problem = yield* problemOf(options)
        assert.match(problem ?? "", reason)
        assert.notInclude(problem ?? "", alice)
      }
      assert.isUndefined(yield* problemOf({ tokens }))
    })
  )

  it.effect("A guessable static token is logged as a warning, and no token is kept in memory", () => {
    const logged: Array<string> = []
    const logger = Logger.make(({ message }) => void logged.push(String(message)))
    return Effect.gen(function* () {
      const short = { token: Redacted.make("secret"), subject: "carol" }
      const context = yield* Layer.build(Auth.layerTokens({ tokens: [...tokens, short] }))
      assert.deepStrictEqual(logged, ["The token of carol is too short. Use at least 16 characters"])
      assert.notInclude(inspect(context, { depth: null, showHidden: true }), alice)
    }).pipe(Effect.provide(Logger.layer([logger])))
  })
})

describe("Token lookup functions", () => {
  const find = (tokens: any, more: Partial<Auth.TokensOptions> = {}) =>
    openAt("2026-07-28")({ features, auth: keys({ tokens, ...more }) })

  it.effect.each([
    ["throws", () => assert.fail("no database"), 500],
    ["dies", () => Effect.die("no database"), 500],
    ["finds an owner without a name", () => Effect.succeed({ scopes: ["read"] }), 500],
    ["returns scopes as a string", () => Effect.succeed({ subject: "ada", scopes: "already" }), 500],
    ["finds null", () => Effect.succeed(null), 401]
  ] as const)("No caller is admitted if the lookup %s", ([, tokens, status]) =>
    Effect.gen(function* () {
      const { call } = yield* find(tokens, { scopes: ["read"] })
      assert.strictEqual((yield* call("whoami", bearer(alice))).status, status)
    }).pipe(Effect.provide(Logger.layer([])))
  )

  it.effect("A lookup times out after half a minute with a 503", () =>
    Effect.gen(function* () {
      const asked = yield* Deferred.make<void>()
      const { call } = yield* find(() => Effect.andThen(Deferred.succeed(asked, undefined), Effect.never))
      const calling = yield* Effect.forkChild(call("whoami", bearer(alice)))
      yield* Deferred.await(asked)
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual((yield* Fiber.join(calling)).status, 503)
    }).pipe(Effect.provide(Logger.layer([])))
  )
})

describe("Principals from other middleware", () => {
  const refused = HttpServerResponse.empty({ status: 401, headers: { "www-authenticate": "Cookie" } })
  const signedIn = HttpRouter.middleware<{ provides: Principal }>()((route) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ cookies: { user } }) =>
      user === undefined
        ? Effect.succeed(refused)
        : Effect.provideService(route, Principal, { subject: user, scopes: ["read"], claims: {} })
    )
  )
  const app = McpServer.layerHttp({ path: "/mcp" }).pipe(
    Layer.provide(signedIn.layer),
    Layer.provide(McpServer.layer({ name: "own", version: "1", features })),
    Layer.provide([Auth.layerPrincipal({ scopes: ["read"] }), HttpServer.layerServices])
  )

  it.live("Another middleware's principal becomes the caller and needs the required scopes", () =>
    Effect.gen(function* () {
      const { dispose, handler } = HttpRouter.toWebHandler(app, { disableLogger: true })
      yield* Effect.addFinalizer(() => Effect.promise(dispose))
      const call = (name: string, headers: Record<string, string>) =>
        Effect.promise(async () => {
          const _meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
            "io.modelcontextprotocol/clientCapabilities": {}
          }
          const params = { name, arguments: {}, _meta }
          const response = await handler(
            new Request("http://localhost/mcp", {
              method: "POST",
              headers: {
                "content-type": "application/json",
                accept: "application/json, text/event-stream",
                "mcp-protocol-version": "2026-07-28",
                "mcp-method": "tools/call",
                "mcp-name": name,
                ...headers
              },
              body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params })
            })
          )
          const text = await response.text()
          return { status: response.status, json: text === "" ? undefined : JSON.parse(text) }
        })
      assert.strictEqual((yield* call("whoami", {})).status, 401)
      assert.deepStrictEqual(textOf(yield* call("whoami", { cookie: "user=ada" })), ["ada", ["read"], {}])
      const lacking = yield* call("write", { cookie: "user=ada" })
      assert.strictEqual(lacking.json.error.code, Auth.InsufficientScope)
    }).pipe(Effect.scoped)
  )
})
