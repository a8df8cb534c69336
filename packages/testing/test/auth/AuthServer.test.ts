import * as AuthServer from "@effect-mcp/testing/auth/AuthServer"
import * as ProtectedResource from "@effect-mcp/testing/auth/ProtectedResource"
import { NodeHttpServer } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { TestClock } from "effect/testing"
import * as Jose from "jose"
import { createHash, randomBytes } from "node:crypto"
import { createServer } from "node:http"

const http = () => NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })
const serve = (options?: AuthServer.Options) => AuthServer.layer(options).pipe(Layer.provide(http()), Layer.fresh)

const resource = "https://mcp.example.com/mcp"

type Headers = { readonly [name: string]: string }
const post = (url: string, form: Headers | ReadonlyArray<readonly [string, string]>, headers: Headers = {}) =>
  Effect.promise(async () => {
    const body = new URLSearchParams(Array.isArray(form) ? form.map(([k, v]) => [k, v]) : { ...(form as Headers) })
    const response = await fetch(url, { method: "POST", body, headers })
    return { status: response.status, headers: response.headers, body: await response.json() }
  })
const getJson = (url: string) =>
  Effect.promise(async () => {
    const response = await fetch(url)
    return { status: response.status, body: response.ok ? await response.json() : undefined }
  })

const getText = (url: string) => Effect.promise(async () => ({ body: await (await fetch(url)).text() }))

const verifier = randomBytes(32).toString("base64url")
const challenge = createHash("sha256").update(verifier).digest("base64url")

const authorizationUrl = (issuer: string, clientId: string, more: Headers = {}) =>
  `${issuer}/authorize?${new URLSearchParams({
    response_type: "code",
    client_id: clientId,
    redirect_uri: "http://127.0.0.1:7777/callback",
    code_challenge: challenge,
    code_challenge_method: "S256",
    state: "state-1",
    scope: "read write",
    resource,
    ...more
  })}`

/** Logs in and exchanges the code. */
const login = Effect.fnUntraced(function* (client: AuthServer.RegisteredClient, more: Headers = {}) {
  const server = yield* AuthServer.AuthServer
  const back = yield* server.visit(authorizationUrl(server.issuer, client.clientId))
  return yield* post(`${server.issuer}/token`, {
    grant_type: "authorization_code",
    code: back.searchParams.get("code") ?? "",
    redirect_uri: "http://127.0.0.1:7777/callback",
    code_verifier: verifier,
    client_id: client.clientId,
    resource,
    ...more
  })
})

const verify = (token: string, jwks: Jose.JSONWebKeySet) =>
  Effect.promise(() => Jose.jwtVerify(token, Jose.createLocalJWKSet(jwks), { currentDate: new Date(0) }))

describe("AuthServer", () => {
  it.effect("Exchanging a code with its verifier returns a token for the approved resource and scopes", () =>
    Effect.gen(function* () {
      const server = yield* AuthServer.AuthServer
      const client = yield* server.register()
      const back = yield* server.visit(authorizationUrl(server.issuer, client.clientId))
      assert.strictEqual(back.origin + back.pathname, "http://127.0.0.1:7777/callback")
      assert.strictEqual(back.searchParams.get("state"), "state-1")
      assert.strictEqual(back.searchParams.get("iss"), server.issuer)
      const { body, status } = yield* login(client)
      assert.strictEqual(status, 200)
      assert.strictEqual(body.scope, "read write")
      const { payload, protectedHeader } = yield* verify(body.access_token, yield* server.jwks)
      assert.strictEqual(protectedHeader.typ, "at+jwt")
      assert.deepInclude(payload, { iss: server.issuer, sub: "alice", aud: resource, client_id: client.clientId })
      assert.strictEqual(yield* server.count("authorization_code"), 1)
    }).pipe(Effect.provide(serve()))
  )

  it.effect("A wrong verifier is rejected, and reusing a code revokes its tokens", () =>
    Effect.gen(function* () {
      const server = yield* AuthServer.AuthServer
      const client = yield* server.register()
      const wrong = yield* login(client, { code_verifier: "x".repeat(43) })
      assert.strictEqual(wrong.body.error, "invalid_grant")
      const back = yield* server.visit(authorizationUrl(server.issuer, client.clientId))
      const code = { code: back.searchParams.get("code") ?? "" }
      const first = yield* login(client, code)
      const again = yield* login(client, code)
      assert.strictEqual(again.body.error, "invalid_grant")
      const refreshed = yield* post(`${server.issuer}/token`, {
        grant_type: "refresh_token",
        refresh_token: first.body.refresh_token,
        client_id: client.clientId
      })
      assert.strictEqual(refreshed.body.error, "invalid_grant")
    }).pipe(Effect.provide(serve()))
  )

  it.effect("Refresh tokens are rotated, and reusing one revokes its family", () =>
    Effect.gen(function* () {
      const server = yield* AuthServer.AuthServer
      const client = yield* server.register()
      const first = yield* login(client)
      const refresh = (token: string) =>
        post(`${server.issuer}/token`, {
          grant_type: "refresh_token",
          refresh_token: token,
          client_id: client.clientId
        })
      const second = yield* refresh(first.body.refresh_token)
      assert.notStrictEqual(second.body.refresh_token, first.body.refresh_token)
      assert.strictEqual((yield* refresh(first.body.refresh_token)).body.error, "invalid_grant")
      assert.strictEqual((yield* refresh(second.body.refresh_token)).body.error, "invalid_grant")
      assert.strictEqual(yield* server.count("refresh_token"), 3)
    }).pipe(Effect.provide(serve()))
  )

  it.effect("A secret is accepted only with the client's registered method", () =>
    Effect.gen(function* () {
      const server = yield* AuthServer.AuthServer
      const client = yield* server.register({ authMethod: "client_secret_basic", secret: "s" })
      const basic = { authorization: `Basic ${btoa(`${client.clientId}:s`)}` }
      const grant = { grant_type: "client_credentials", scope: "read", resource }
      const ok = yield* post(`${server.issuer}/token`, grant, basic)
      assert.strictEqual(ok.status, 200)
      assert.isUndefined(ok.body.refresh_token)
      const inForm = { ...grant, client_id: client.clientId, client_secret: "s" }
      assert.strictEqual((yield* post(`${server.issuer}/token`, inForm)).status, 401)
      assert.strictEqual((yield* post(`${server.issuer}/token`, inForm, basic)).body.error, "invalid_request")
    }).pipe(Effect.provide(serve()))
  )

  it.effect("A client key's assertion is accepted once, and only for this server", () =>
    Effect.gen(function* () {
      const server = yield* AuthServer.AuthServer
      const { privateKey, publicKey } = yield* Effect.promise(() => Jose.generateKeyPair("ES256"))
      const jwk = yield* Effect.promise(() => Jose.exportJWK(publicKey))
      const client = yield* server.register({ authMethod: "private_key_jwt", jwks: { keys: [jwk] } })
      const ask = (audience: string, jti: string) =>
        Effect.flatMap(
          Effect.promise(() =>
            new Jose.SignJWT({ iss: client.clientId, sub: client.clientId, aud: audience, jti, exp: 60 })
              .setProtectedHeader({ alg: "ES256" })
              .sign(privateKey)
          ),
          (client_assertion) =>
            post(`${server.issuer}/token`, {
              grant_type: "client_credentials",
              client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
              client_assertion
            })
        )
      assert.strictEqual((yield* ask(server.issuer, "1")).status, 200)
      assert.strictEqual((yield* ask(server.issuer, "1")).status, 401)
      assert.strictEqual((yield* ask("https://other.example.com", "2")).status, 401)
    }).pipe(Effect.provide(serve()))
  )

  it.effect("An ID token is exchanged for an ID-JAG, which a trusting server accepts", () =>
    Effect.gen(function* () {
      const idp = yield* AuthServer.AuthServer
      yield* Effect.gen(function* () {
        const server = yield* AuthServer.AuthServer
        yield* server.trust(idp.issuer, yield* idp.jwks)
        const client = yield* server.register({ authMethod: "client_secret_post", secret: "s" })
        yield* idp.register(client)
        const credentials = { client_id: client.clientId, client_secret: "s" }
        const exchanged = yield* post(`${idp.issuer}/token`, {
          grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
          requested_token_type: "urn:ietf:params:oauth:token-type:id-jag",
          subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
          subject_token: yield* idp.idToken({ subject: "bob", clientId: client.clientId }),
          audience: server.issuer,
          resource,
          scope: "read",
          ...credentials
        })
        assert.strictEqual(exchanged.body.token_type, "N_A")
        const granted = yield* post(`${server.issuer}/token`, {
          grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
          assertion: exchanged.body.access_token,
          ...credentials
        })
        const { payload } = yield* verify(granted.body.access_token, yield* server.jwks)
        assert.deepInclude(payload, { iss: server.issuer, sub: "bob", aud: resource, scope: "read" })
      }).pipe(Effect.provide(serve()))
    }).pipe(Effect.provide(serve()))
  )

  it.effect("The server registers clients, serves every well-known path and rotates its keys", () =>
    Effect.gen(function* () {
      const server = yield* AuthServer.AuthServer
      const origin = new URL(server.issuer).origin
      const urls = [
        `${origin}/.well-known/oauth-authorization-server/tenant1`,
        `${origin}/.well-known/openid-configuration/tenant1`,
        `${origin}/tenant1/.well-known/openid-configuration`
      ]
      for (const url of urls) assert.strictEqual((yield* getJson(url)).body.issuer, server.issuer)
      const registered = yield* Effect.promise(async () => {
        const response = await fetch(`${server.issuer}/register`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ redirect_uris: ["http://localhost/cb"], application_type: "native" })
        })
        return await response.json()
      })
      assert.isString(registered.client_id)
      const before = yield* getJson(`${server.issuer}/jwks`)
      yield* server.rotateKeys()
      const after = yield* getJson(`${server.issuer}/jwks`)
      assert.strictEqual(after.body.keys.length, before.body.keys.length + 1)
      yield* server.rotateKeys({ keep: false })
      assert.strictEqual((yield* getJson(`${server.issuer}/jwks`)).body.keys.length, 1)
    }).pipe(Effect.provide(serve({ path: "/tenant1", discovery: ["oauth", "openid", "openid-appended"] })))
  )

  it.effect("A client id that is the URL of its metadata document is accepted", () =>
    Effect.gen(function* () {
      const server = yield* AuthServer.AuthServer
      const clientId = "https://client.example.com/metadata.json"
      const redirect_uris = ["http://127.0.0.1/callback"]
      yield* server.script({ document: (url) => Effect.succeed({ client_id: url, redirect_uris }) })
      const back = yield* server.visit(authorizationUrl(server.issuer, clientId))
      assert.isTrue(back.searchParams.has("code"))
      yield* server.script({ document: () => Effect.succeed({ client_id: "https://other/", redirect_uris }) })
      assert.strictEqual((yield* getJson(authorizationUrl(server.issuer, clientId))).status, 400)
    }).pipe(Effect.provide(serve()))
  )

  it.effect("Introspection returns active tokens, and no details of expired or revoked ones", () =>
    Effect.gen(function* () {
      const server = yield* AuthServer.AuthServer
      const client = yield* server.register({ authMethod: "client_secret_post", secret: "s" })
      const introspect = (token: string) =>
        post(`${server.issuer}/introspect`, { token, client_id: client.clientId, client_secret: "s" })
      const token = yield* server.issue({ subject: "carol", resources: [resource], scopes: ["read"] })
      assert.deepInclude((yield* introspect(token)).body, {
        active: true,
        sub: "carol",
        aud: resource,
        scope: "read"
      })
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual((yield* introspect(token)).body, { active: false })
      const other = yield* server.issue()
      yield* server.revoke(other)
      assert.deepStrictEqual((yield* introspect(other)).body, { active: false })
      assert.deepStrictEqual((yield* introspect("made up")).body, { active: false })
    }).pipe(Effect.provide(serve({ tokens: "opaque" })))
  )

  it.effect("A token is bound to a proven key after a nonce challenge", () =>
    Effect.gen(function* () {
      const server = yield* AuthServer.AuthServer
      yield* server.script({ dpopNonce: "n1" })
      const client = yield* server.register({ authMethod: "client_secret_post", secret: "s" })
      const { privateKey, publicKey } = yield* Effect.promise(() => Jose.generateKeyPair("ES256"))
      const jwk = yield* Effect.promise(() => Jose.exportJWK(publicKey))
      const ask = (claims: Jose.JWTPayload) =>
        Effect.flatMap(
          Effect.promise(() =>
            new Jose.SignJWT({ htm: "POST", htu: `${server.issuer}/token`, iat: 0, jti: "1", ...claims })
              .setProtectedHeader({ alg: "ES256", typ: "dpop+jwt", jwk })
              .sign(privateKey)
          ),
          (dpop) =>
            post(
              `${server.issuer}/token`,
              { grant_type: "client_credentials", client_id: client.clientId, client_secret: "s" },
              { dpop }
            )
        )
      const first = yield* ask({})
      assert.strictEqual(first.body.error, "use_dpop_nonce")
      assert.strictEqual(first.headers.get("dpop-nonce"), "n1")
      const second = yield* ask({ nonce: "n1" })
      assert.strictEqual(second.body.token_type, "DPoP")
      const { payload } = yield* verify(second.body.access_token, yield* server.jwks)
      const jkt = yield* Effect.promise(() => Jose.calculateJwkThumbprint(jwk))
      assert.deepStrictEqual(payload.cnf, { jkt })
      assert.strictEqual((yield* ask({ nonce: "n1" })).body.error, "invalid_dpop_proof")
      assert.strictEqual((yield* ask({ nonce: "n1", jti: "2", htm: "GET" })).body.error, "invalid_dpop_proof")
    }).pipe(Effect.provide(serve()))
  )

  it.effect("A script can make the server answer wrongly", () =>
    Effect.gen(function* () {
      const server = yield* AuthServer.AuthServer
      const client = yield* server.register()
      yield* server.script({
        redirect: (params) => params.set("iss", "https://evil.example.com"),
        metadata: (document) => ({ ...document, code_challenge_methods_supported: undefined }),
        lifetime: -1
      })
      const back = yield* server.visit(authorizationUrl(server.issuer, client.clientId))
      assert.strictEqual(back.searchParams.get("iss"), "https://evil.example.com")
      const { body } = yield* getJson(`${server.issuer}/.well-known/oauth-authorization-server`)
      assert.notProperty(body, "code_challenge_methods_supported")
      yield* server.script({ approve: () => ({ error: "access_denied" }) })
      const denied = yield* server.visit(authorizationUrl(server.issuer, client.clientId))
      assert.strictEqual(denied.searchParams.get("error"), "access_denied")
      yield* server.script({ intercept: () => Effect.succeed(HttpServerResponse.text("{}", { status: 500 })) })
      assert.strictEqual((yield* login(client, { code: "x" }).pipe(Effect.exit))._tag, "Failure")
      assert.strictEqual((yield* getJson(`${server.issuer}/jwks`)).status, 500)
    }).pipe(Effect.provide(serve()))
  )

  it.effect("The server can be mounted at the root, as in 2025-03-26", () =>
    Effect.gen(function* () {
      const app = Layer.merge(
        AuthServer.layerRoutes({ discovery: [] }),
        HttpRouter.add("GET", "/mcp", HttpServerResponse.text("the server"))
      )
      const context = yield* Layer.build(
        HttpRouter.serve(app, { disableLogger: true, disableListenLog: true }).pipe(Layer.provide(http()), Layer.fresh)
      )
      const server = Context.get(context, AuthServer.AuthServer)
      const client = yield* server.register()
      const { body } = yield* Effect.provideContext(login(client), context)
      assert.isString(body.access_token)
      assert.strictEqual((yield* getText(`${server.issuer}/mcp`)).body, "the server")
      assert.strictEqual((yield* getJson(`${server.issuer}/.well-known/oauth-authorization-server`)).status, 404)
    })
  )

  it("A resource's metadata URL has the well-known suffix before the path", () => {
    const { metadataUrl } = ProtectedResource
    const suffix = ".well-known/oauth-protected-resource"
    assert.strictEqual(metadataUrl("https://a.example/public/mcp"), `https://a.example/${suffix}/public/mcp`)
    assert.strictEqual(metadataUrl("https://a.example"), `https://a.example/${suffix}`)
  })
})
