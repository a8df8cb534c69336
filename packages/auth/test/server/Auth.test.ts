import * as Auth from "@effect-mcp/auth/server/Auth"
import * as JwtVerifier from "@effect-mcp/auth/server/JwtVerifier"
import { Principal } from "@effect-mcp/core/Principal"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import { verifies } from "@effect-mcp/spec/verifies"
import * as AuthServer from "@effect-mcp/testing/auth/AuthServer"
import * as McpTest from "@effect-mcp/testing/McpTest"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Logger, References, Tracer } from "effect"
import { FetchHttpClient, HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { inspect } from "node:util"
import { introspecting, listen, openAt, request, revisions } from "./support/protected.ts"

const whoami = Tools.layer(Tool.make("whoami", { description: "Who calls." }), () =>
  Effect.map(Auth.caller, ({ scopes, subject }) => `${subject} ${scopes.join(",")}`)
)
const seen = Tools.layer(Tool.make("seen", { description: "Everything a handler can see of its request." }), () =>
  Effect.gen(function* () {
    const { envelope } = yield* RequestContext
    // Headers redact themselves in JSON, so a copy shows the values that a handler can read.
    return JSON.stringify([envelope, yield* Principal, { ...envelope.headers }])
  })
)
const features = Layer.mergeAll(whoami, seen)

const textOf = (reply: { readonly json: any }): string => reply.json.result.content[0].text

describe.each(revisions)("Auth at %s", (revision) => {
  const open = openAt(revision)
  it.effect(
    "A request with a valid token is admitted, and handlers see its caller",
    () =>
      Effect.gen(function* () {
        const { bearer, call } = yield* open({ features })
        const reply = yield* call("whoami", yield* bearer({ subject: "alice", scopes: ["a", "b"] }))
        assert.strictEqual(reply.status, 200)
        assert.strictEqual(textOf(reply), "alice a,b")
      }),
    verifies("authorization.server.token-validated", "authorization.server.before-processing")
  )

  it.effect(
    "A request without a token gets a 401 that tells how to get one",
    () =>
      Effect.gen(function* () {
        const { call, origin, url } = yield* open({ features, guard: { scopes: ["use"] } })
        for (const reply of [yield* call("whoami"), yield* request(url), yield* request(url, { method: "DELETE" })]) {
          assert.strictEqual(reply.status, 401)
          assert.strictEqual(
            reply.headers.get("www-authenticate"),
            `Bearer scope="use", resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`
          )
          assert.strictEqual(reply.json.error, "unauthorized")
        }
      }),
    verifies(
      "authorization.server.status-401",
      "authorization.server.unproven-401",
      "authorization.server.challenge-metadata-url",
      "authorization.server.challenge-scope",
      "authorization.server.unauthorized-gets-nothing",
      "best-practices.sessions.requests-verified",
      "best-practices.handles.requests-verified"
    )
  )

  it.effect(
    "A guard serves its metadata before its path and at the root",
    () =>
      Effect.gen(function* () {
        const { origin, server, url } = yield* open({ features, guard: { scopes: ["use"], name: "Files" } })
        for (const path of ["/mcp", ""]) {
          const reply = yield* request(`${origin}/.well-known/oauth-protected-resource${path}`)
          assert.deepStrictEqual(reply.json, {
            resource: url,
            authorization_servers: [server.issuer],
            scopes_supported: ["use"],
            bearer_methods_supported: ["header"],
            resource_name: "Files"
          })
          assert.strictEqual(reply.headers.get("access-control-allow-origin"), "*")
        }
      }),
    verifies(
      "authorization.server.resource-metadata",
      "authorization.server.resource-metadata-issuers",
      "authorization.server.resource-metadata-found"
    )
  )

  it.effect(
    "A token that is currently invalid for its resource gets a 401 with the reason",
    () =>
      Effect.gen(function* () {
        const { bearer, call, server } = yield* open({ features })
        const refused = Effect.fnUntraced(function* (headers: { readonly [name: string]: string }, because: string) {
          const reply = yield* call("whoami", headers)
          assert.strictEqual(reply.status, 401, because)
          const challenge = reply.headers.get("www-authenticate") ?? ""
          assert.include(challenge, 'Bearer error="invalid_token", error_description="')
          assert.include(challenge, because)
          assert.notInclude(reply.text + challenge, headers.authorization?.split(".")[2] ?? "no token")
        })
        yield* refused(yield* bearer({ resources: ["https://other.example.com/mcp"] }), "https://other.example.com/mcp")
        yield* refused(yield* bearer({ lifetime: -60 }), "expiration time")
        yield* server.script({ claims: (_, claims) => ({ ...claims, nbf: 3600 }) })
        yield* refused(yield* bearer(), "Token not yet valid")
        yield* server.script({ claims: (_, claims) => ({ ...claims, iss: "https://evil.example.com" }) })
        yield* refused(yield* bearer(), "issuer")
        yield* server.script({ claims: (_, { aud: _aud, ...claims }) => claims })
        yield* refused(yield* bearer(), "audience")
        yield* server.script({ claims: (_, { exp: _exp, ...claims }) => claims })
        yield* refused(yield* bearer(), "expiration time")
        yield* server.script({ claims: (_, { sub: _sub, client_id: _id, ...claims }) => claims })
        yield* refused(yield* bearer(), "subject")
        yield* refused({ authorization: "Bearer not-a-jwt" }, "a JWT")
      }),
    verifies(
      "authorization.server.invalid-token-401",
      "authorization.server.validation-failure",
      "authorization.server.audience",
      "authorization.server.audience-rejected",
      "authorization.server.no-other-tokens",
      "authorization.server.own-resources",
      "best-practices.passthrough.own-tokens"
    )
  )

  it.effect("Small clock differences are tolerated, larger ones are not", () =>
    Effect.gen(function* () {
      const { bearer, call } = yield* open({ features, guard: { clockSkew: "10 seconds" } })
      const headers = yield* bearer({ lifetime: 60 })
      yield* TestClock.adjust("69 seconds")
      assert.strictEqual((yield* call("whoami", headers)).status, 200)
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* call("whoami", headers)).status, 401)
    })
  )

  it.effect(
    "A malformed credential gets a 400",
    () =>
      Effect.gen(function* () {
        const { bearer, call, server, url } = yield* open({ features })
        const token = (yield* bearer()).authorization?.split(" ")[1] ?? ""
        for (const authorization of [
          "Bearer",
          "Bearer a b",
          `Bearer ${token},Bearer ${token}`,
          "Bearer é",
          "=",
          `Bearer ${"a".repeat(15_000)} x`
        ]) {
          const reply = yield* call("whoami", { authorization })
          assert.strictEqual(reply.status, 400, authorization)
          assert.include(reply.headers.get("www-authenticate"), 'error="invalid_request"')
        }
        const inQuery = yield* request(`${url}?access_token=${token}`, { method: "POST" })
        assert.strictEqual(inQuery.status, 400)
        assert.notInclude(inQuery.text, token)
        assert.strictEqual((yield* call("whoami", { authorization: `Basic ${btoa("a:b")}` })).status, 401)
        assert.strictEqual(yield* server.count("jwks"), 0)
      }),
    verifies("authorization.server.status-400")
  )

  it.effect(
    "The token is hidden from everything behind the guard",
    () =>
      Effect.gen(function* () {
        const { bearer, call } = yield* open({ features })
        const headers = yield* bearer()
        const text = textOf(yield* call("seen", { ...headers, dpop: "proof", "x-other": "seen by handlers" }))
        const [envelope, principal, read] = JSON.parse(text)
        assert.strictEqual(principal.subject, "alice")
        assert.isObject(envelope)
        assert.strictEqual(read["x-other"], "seen by handlers")
        assert.doesNotHaveAnyKeys(read, ["authorization", "dpop"])
        assert.notInclude(text, headers.authorization?.split(" ")[1] ?? "no token")
        assert.notInclude(text, '"dpop"')
      }),
    verifies("authorization.server.no-passthrough", "authorization.server.tokens-stored")
  )

  it.effect("A new signing key is fetched once for all requests that need it", () =>
    Effect.gen(function* () {
      const { bearer, call, server } = yield* open({ features })
      const old = yield* bearer()
      const statuses = (headers: { readonly [name: string]: string }) =>
        Effect.all(
          [1, 2, 3, 4].map(() => Effect.map(call("whoami", headers), ({ status }) => status)),
          {
            concurrency: "unbounded"
          }
        )
      assert.deepStrictEqual(yield* statuses(old), [200, 200, 200, 200])
      assert.strictEqual(yield* server.count("jwks"), 1)
      yield* server.rotateKeys()
      yield* TestClock.adjust("31 seconds")
      assert.deepStrictEqual(yield* statuses(yield* bearer()), [200, 200, 200, 200])
      assert.strictEqual(yield* server.count("jwks"), 2)
      yield* server.rotateKeys({ keep: false })
      yield* TestClock.adjust("11 minutes")
      assert.deepStrictEqual(yield* statuses(old), [401, 401, 401, 401])
    })
  )

  it.effect("Tokens with made-up key ids do not trigger another key fetch", () =>
    Effect.gen(function* () {
      const { bearer, call, server } = yield* open({ features })
      yield* call("whoami", yield* bearer())
      yield* server.rotateKeys({ keep: false })
      const foreign = yield* bearer()
      for (let i = 0; i < 3; i++) assert.strictEqual((yield* call("whoami", foreign)).status, 401)
      assert.strictEqual(yield* server.count("jwks"), 1)
    })
  )

  it.effect("A guard answers 503 if it cannot verify, but keeps its known keys", () =>
    Effect.gen(function* () {
      const { bearer, call, server } = yield* open({ features })
      const headers = yield* bearer({ lifetime: 86_400 })
      const down = Effect.succeed(HttpServerResponse.text("down", { status: 500 }))
      yield* server.script({ intercept: () => down })
      const first = yield* call("whoami", headers)
      assert.deepStrictEqual([first.status, first.headers.get("retry-after")], [503, "5"])
      yield* TestClock.adjust("31 seconds")
      yield* server.script({ intercept: () => Effect.undefined })
      assert.strictEqual((yield* call("whoami", headers)).status, 200)
      yield* server.script({ intercept: () => down })
      yield* TestClock.adjust("30 minutes")
      assert.strictEqual((yield* call("whoami", headers)).status, 200)
      yield* TestClock.adjust("45 minutes")
      assert.strictEqual((yield* call("whoami", headers)).status, 503)
    })
  )

  it.effect("Opaque tokens are introspected, and a revocation applies at once", () =>
    Effect.gen(function* () {
      const { bearer, call, server } = yield* open({
        features,
        issuer: { tokens: "opaque" },
        verifier: introspecting()
      })
      yield* server.register({ clientId: "resource", secret: "s3cret", authMethod: "client_secret_basic" })
      const headers = yield* bearer({ subject: "bob" })
      assert.strictEqual(textOf(yield* call("whoami", headers)), "bob ")
      yield* server.revoke(headers.authorization?.split(" ")[1] ?? "")
      const reply = yield* call("whoami", headers)
      assert.strictEqual(reply.status, 401)
      assert.include(reply.headers.get("www-authenticate"), 'error="invalid_token"')
      // The handshake of an older client is also verified: two messages before and one after.
      assert.strictEqual(yield* server.count("introspect"), revision === "2026-07-28" ? 2 : 5)
      const foreign = yield* bearer({ resources: ["https://other.example.com"] })
      assert.strictEqual((yield* call("whoami", foreign)).status, 401)
    })
  )

  it.effect("Introspection answers are cached for the configured time", () =>
    Effect.gen(function* () {
      const { bearer, call, server } = yield* open({
        features,
        issuer: { tokens: "opaque" },
        verifier: introspecting({ cacheFor: "20 seconds" })
      })
      yield* server.register({ clientId: "resource", secret: "s3cret", authMethod: "client_secret_basic" })
      const headers = yield* bearer({ lifetime: 10 })
      for (let i = 0; i < 3; i++) assert.strictEqual((yield* call("whoami", headers)).status, 200)
      assert.strictEqual(yield* server.count("introspect"), 1)
      yield* TestClock.adjust("20 seconds")
      assert.strictEqual((yield* call("whoami", headers)).status, 401)
      assert.strictEqual(yield* server.count("introspect"), 2)
    })
  )

  it.effect("A guard answers 503 if its own credentials at the authorization server are wrong", () =>
    Effect.gen(function* () {
      const { bearer, call } = yield* open({ features, issuer: { tokens: "opaque" }, verifier: introspecting() })
      assert.strictEqual((yield* call("whoami", yield* bearer())).status, 503)
    })
  )

  it.effect("A guard forwards the authorization server's metadata to 2025-03-26 clients", () =>
    Effect.gen(function* () {
      const { origin, server } = yield* open({ features, routes: Auth.layerLegacyMetadata() })
      const reply = yield* request(`${origin}/.well-known/oauth-authorization-server`)
      assert.deepStrictEqual(reply.json, JSON.parse(JSON.stringify(yield* server.metadata)))
    })
  )

  it.effect("Anonymous callers are admitted if the options allow it", () =>
    Effect.gen(function* () {
      const { bearer, call, origin } = yield* open({ features, guard: { anonymous: true } })
      assert.strictEqual((yield* call("seen")).status, 200)
      const reply = yield* call("whoami")
      assert.strictEqual(reply.status, 401)
      assert.strictEqual(
        reply.headers.get("www-authenticate"),
        `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`
      )
      assert.strictEqual(reply.json.error.code, Auth.Unauthorized)
      assert.strictEqual((yield* call("whoami", yield* bearer())).status, 200)
      assert.strictEqual((yield* call("seen", { authorization: "Bearer bad" })).status, 401)
    })
  )

  it.effect(
    "A token is never written to a log or span",
    () => {
      const said: Array<unknown> = []
      const logger = Logger.make(({ cause, fiber, message }) => {
        said.push(message, cause, fiber.getRef(References.CurrentLogAnnotations))
      })
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          said.push(span.name, span.attributes)
          return span
        }
      })
      return Effect.gen(function* () {
        const { bearer, call, server } = yield* open({ features })
        const good = yield* bearer()
        yield* server.script({ claims: (_, claims) => ({ ...claims, aud: "https://other.example.com" }) })
        const foreign = yield* bearer()
        assert.strictEqual((yield* call("seen", good)).status, 200)
        assert.strictEqual((yield* call("seen", foreign)).status, 401)
        yield* server.script({ intercept: () => Effect.succeed(HttpServerResponse.empty({ status: 500 })) })
        yield* TestClock.adjust("2 hours")
        assert.strictEqual((yield* call("seen", good)).status, 503)
        const all = inspect(said, { depth: 10, maxArrayLength: null, maxStringLength: null })
        assert.include(all, "Rejected with 401")
        assert.include(all, "http.response.status_code")
        assert.include(all, "Failed to verify a token")
        for (const { authorization = "" } of [good, foreign]) {
          const [, claims = "claims", signature = "signature"] = authorization.split(".")
          assert.notInclude(all, claims)
          assert.notInclude(all, signature)
        }
      }).pipe(
        Effect.provide(Logger.layer([logger])),
        Effect.provideService(References.MinimumLogLevel, "All"),
        Effect.provideService(Tracer.Tracer, tracer)
      )
    },
    verifies("authorization.server.tokens-stored")
  )

  it.effect("Resources on one host each have separate rules", () =>
    Effect.gen(function* () {
      const listening = yield* Layer.build(Layer.orDie(listen()))
      const origin = HttpServer.formatAddress(Context.get(listening, HttpServer.HttpServer).address)
      const issued = yield* Layer.build(AuthServer.layer().pipe(Layer.provide(Layer.orDie(listen()))))
      const { issue, issuer } = Context.get(issued, AuthServer.AuthServer)
      const resource = (name: string) =>
        Auth.protect(
          HttpRouter.add(
            "GET",
            `/${name}`,
            Effect.map(Principal, ({ subject }) => HttpServerResponse.text(`${name} ${subject}`))
          ),
          { root: name === "one" }
        ).pipe(Layer.provide(Auth.layer({ resource: `${origin}/${name}`, authorizationServers: [issuer] })))
      const app = HttpRouter.serve(Layer.merge(resource("one"), resource("two")), {
        disableListenLog: true,
        disableLogger: true
      })
      yield* Effect.provideContext(
        Layer.build(Layer.provide(app, JwtVerifier.layer().pipe(Layer.provide(FetchHttpClient.layer)))),
        listening
      )
      for (const [at, audience, status] of [
        ["one", "one", 200],
        ["one", "two", 401],
        ["two", "one", 401],
        ["two", "two", 200]
      ] as const) {
        const authorization = `Bearer ${yield* issue({ resources: [`${origin}/${audience}`] })}`
        const reply = yield* request(`${origin}/${at}`, { headers: { authorization } })
        assert.strictEqual(reply.status, status)
        if (status === 200) assert.strictEqual(reply.text, `${at} alice`)
        else assert.include(reply.headers.get("www-authenticate"), `oauth-protected-resource/${at}"`)
      }
      const atRoot = yield* request(`${origin}/.well-known/oauth-protected-resource`)
      assert.strictEqual(atRoot.json.resource, `${origin}/one`)
    })
  )

  it.effect(
    "An OPTIONS request without a token gets a readable 401 unless it is a preflight",
    () =>
      Effect.gen(function* () {
        const { call, origin, url } = yield* open({ features })
        const asking = { origin: "https://page.example.com", "access-control-request-method": "POST" }
        const preflight = yield* request(url, { method: "OPTIONS", headers: asking })
        assert.notStrictEqual(preflight.status, 401)
        const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`
        const allowed = yield* request(metadata, { method: "OPTIONS", headers: asking })
        assert.strictEqual(allowed.status, 204)
        assert.strictEqual(allowed.headers.get("access-control-allow-headers"), "*")
        for (const headers of [{}, { origin: asking.origin }, { "access-control-request-method": "POST" }]) {
          const none = yield* request(url, { method: "OPTIONS", headers })
          assert.strictEqual(none.status, 401, "an OPTIONS that is no preflight")
        }
        const refused = yield* call("whoami", { origin: asking.origin })
        assert.strictEqual(refused.headers.get("access-control-allow-origin"), "*")
        assert.include(refused.headers.get("access-control-expose-headers"), "WWW-Authenticate")
      }),
    verifies("authorization.server.status-401")
  )

  it.effect("CORS preflights are left to the endpoint", () =>
    Effect.gen(function* () {
      const page = "https://page.example.com"
      const { bearer, call, url } = yield* open({
        features,
        endpoint: { cors: true, allowedOrigins: [page] },
        guard: { scopes: ["use"] }
      })
      const asking = { "access-control-request-method": "POST", "access-control-request-headers": "authorization" }
      const allowed = yield* request(url, { method: "OPTIONS", headers: { ...asking, origin: page } })
      assert.deepStrictEqual([allowed.status, allowed.headers.get("access-control-allow-origin")], [204, page])
      const called = yield* call("whoami", { ...(yield* bearer({ scopes: ["use"] })), origin: page })
      assert.deepStrictEqual([called.status, called.headers.get("access-control-allow-origin")], [200, page])
      assert.include(called.headers.get("access-control-expose-headers"), "DPoP-Nonce")
      const refused = yield* call("whoami", { ...(yield* bearer()), origin: page })
      assert.deepStrictEqual([refused.status, refused.headers.get("access-control-allow-origin")], [403, "*"])
    })
  )

  it.effect("A server without HTTP always has the same caller", () =>
    Effect.gen(function* () {
      const Who = Tool.make("whoami", { description: "Who calls." })
      const local = Auth.layerLocal({ subject: "me", scopes: ["files:write"] })
      const client = yield* McpTest.connect(
        whoami.pipe(Auth.requires("files:write"), Layer.provide(local)),
        "2025-11-25"
      )
      const { content } = yield* client.callTool(Who, {})
      assert.deepStrictEqual(content, [{ type: "text", text: "me files:write" }])
      const less = Auth.layerLocal({ subject: "me" })
      const refused = yield* McpTest.connect(
        whoami.pipe(Auth.requires("files:write"), Layer.provide(less)),
        "2026-07-28"
      )
      const error = yield* Effect.flip(refused.callTool(Who, {}))
      assert.include(String(error), "files:write")
    })
  )

  it.effect.each([
    { resource: "not a url" },
    { resource: "https://a.example/mcp#x" },
    { authorizationServers: ["login"] as const },
    { scopes: ["offline_access"] }
  ])(
    "Invalid options are rejected: %j",
    (guard) =>
      Effect.gen(function* () {
        const exit = yield* Effect.exit(open({ features, guard }))
        assert.strictEqual(exit._tag, "Failure")
      }),
    verifies("authorization.server.no-offline-access")
  )
})
