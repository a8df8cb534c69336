import * as Introspection from "@effect-mcp/auth/server/Introspection"
import * as JwtVerifier from "@effect-mcp/auth/server/JwtVerifier"
import { TokenVerifier } from "@effect-mcp/auth/server/TokenVerifier"
import * as AuthServer from "@effect-mcp/testing/auth/AuthServer"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer, Redacted, Schema } from "effect"
import { FetchHttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import * as Jose from "jose"
import { listen } from "./support/protected.ts"

const resource = "https://mcp.example.com/mcp"
const issuers = ["https://auth.example.com"]

const issuer = (options?: AuthServer.Options) =>
  Layer.fresh(AuthServer.layer(options)).pipe(Layer.provide(Layer.orDie(listen())))

const verify = (token: string, issuer = issuers[0] ?? "") =>
  Effect.flatMap(TokenVerifier, ({ verify }) => verify(Redacted.make(token), { issuers: [issuer], resource }))

describe("JwtVerifier", () => {
  it.effect("A verifier fails with its name if the authorization server does not respond in time", () =>
    Effect.gen(function* () {
      const server = yield* AuthServer.AuthServer
      const asked = yield* Deferred.make<void>()
      yield* server.script({
        intercept: ({ kind }) =>
          kind === "jwks" ? Effect.andThen(Deferred.succeed(asked, undefined), Effect.never) : Effect.undefined
      })
      const token = yield* server.issue({ resources: [resource] })
      const failing = yield* Effect.forkChild(Effect.flip(verify(token, server.issuer)))
      yield* Deferred.await(asked)
      yield* TestClock.adjust("20 seconds")
      const error = yield* Fiber.join(failing)
      assert.strictEqual(error._tag, "VerifierUnavailable")
      assert.include(error.message, `${server.issuer}/jwks: Cannot fetch the authorization server's keys: expected`)
      assert.notInclude(error.message, token)
    }).pipe(Effect.provide([JwtVerifier.layer().pipe(Layer.provide(FetchHttpClient.layer)), issuer()]))
  )

  it.effect.each(["http://keys.example.com/jwks", "/jwks", "", 7, undefined])(
    "A verifier never fetches keys from %j",
    (jwks_uri) =>
      Effect.gen(function* () {
        const server = yield* AuthServer.AuthServer
        yield* server.script({ metadata: (document) => ({ ...document, jwks_uri }) })
        const error = yield* Effect.flip(verify(yield* server.issue(), server.issuer))
        assert.strictEqual(error._tag, "VerifierUnavailable")
        assert.include(error.message, "jwks_uri")
      }).pipe(Effect.provide([JwtVerifier.layer().pipe(Layer.provide(FetchHttpClient.layer)), issuer()]))
  )

  it.effect("Keys are found at the configured URL or through the issuer's metadata", () =>
    Effect.gen(function* () {
      const server = yield* AuthServer.AuthServer
      const told = JwtVerifier.layer({ jwksUri: (issuer) => `${issuer}/jwks` })
      const token = yield* server.issue({ resources: [resource] })
      for (const [layer, metadata] of [
        [told, 0],
        [JwtVerifier.layer(), 1]
      ] as const) {
        const provided = Layer.provide(layer, FetchHttpClient.layer)
        const claims = yield* Effect.provide(verify(token, server.issuer), provided)
        assert.strictEqual(claims.sub, "alice")
        assert.strictEqual(yield* server.count("metadata"), metadata)
      }
    }).pipe(Effect.provide(issuer({ path: "/tenant", discovery: ["openid-appended"] })))
  )

  it.effect("A token that names no key is checked with every matching key", () =>
    Effect.gen(function* () {
      const pairs = yield* Effect.promise(() => Promise.all([1, 2, 3].map(() => Jose.generateKeyPair("ES256"))))
      const keys = yield* Effect.promise(() => Promise.all(pairs.map(({ publicKey }) => Jose.exportJWK(publicKey))))
      const layer = JwtVerifier.layerKeys({ keys: keys.slice(0, 2) })
      const signed = pairs.map(({ privateKey }) =>
        Effect.promise(() =>
          new Jose.SignJWT({ iss: issuers[0] ?? "", exp: 1 }).setProtectedHeader({ alg: "ES256" }).sign(privateKey)
        )
      )
      for (const [index, token] of signed.entries()) {
        const exit = yield* Effect.exit(Effect.provide(verify(yield* token), layer))
        assert.strictEqual(exit._tag, index < 2 ? "Success" : "Failure")
      }
    })
  )

  it.effect("Only signatures are cached, so that removing a key invalidates its tokens", () =>
    Effect.gen(function* () {
      const server = yield* AuthServer.AuthServer
      const tokens = yield* Effect.all([1, 2, 3].map(() => server.issue({ resources: [resource] })))
      const { verify } = yield* TokenVerifier
      const check = (token: string, issuers: ReadonlyArray<string>) =>
        Effect.exit(verify(Redacted.make(token), { issuers, resource }))
      for (let round = 0; round < 3; round++) {
        for (const token of tokens) assert.strictEqual((yield* check(token, [server.issuer]))._tag, "Success")
        assert.strictEqual((yield* check(tokens[0] ?? "", issuers))._tag, "Failure")
      }
      const claims = yield* verify(Redacted.make(tokens[0] ?? ""), { issuers: [server.issuer], resource })
      assert.throws(() => Object.assign(claims, { sub: "root" }))
      yield* server.rotateKeys({ keep: false })
      yield* TestClock.adjust("10 minutes")
      for (const token of tokens) assert.strictEqual((yield* check(token, [server.issuer]))._tag, "Failure")
    }).pipe(Effect.provide([JwtVerifier.layer({ remembered: 2 }).pipe(Layer.provide(FetchHttpClient.layer)), issuer()]))
  )

  it.effect("A full signature cache evicts the oldest", () =>
    Effect.gen(function* () {
      const server = yield* AuthServer.AuthServer
      const { verify } = yield* TokenVerifier
      const claimsOf = (token: string) => verify(Redacted.make(token), { issuers: [server.issuer], resource })
      const tokens = yield* Effect.all([1, 2, 3].map(() => server.issue({ resources: [resource] })))
      const first = yield* Effect.forEach(tokens, claimsOf)
      // Cached claims are the same object; evicted ones are read again. Newest first, because each read may evict one.
      const again = yield* Effect.forEach(tokens.toReversed(), claimsOf)
      assert.deepStrictEqual(
        again.map((claims, index) => claims === first.toReversed()[index]),
        [true, true, false]
      )
    }).pipe(Effect.provide([JwtVerifier.layer({ remembered: 2 }).pipe(Layer.provide(FetchHttpClient.layer)), issuer()]))
  )

  // Changes every character except the last, which may contain unused bits.
  const place = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000 }))
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
  it.effect.prop("A token is accepted only exactly as it was signed", [place, place], ([at, to]) =>
    Effect.gen(function* () {
      const { keys, token } = yield* signedOnce
      const index = at % (token.length - 1)
      const character = alphabet[to % alphabet.length] ?? "A"
      const changed = token.slice(0, index) + character + token.slice(index + 1)
      const exit = yield* Effect.exit(Effect.provide(verify(changed), JwtVerifier.layerKeys(keys)))
      assert.strictEqual(exit._tag, changed === token ? "Success" : "Failure")
    })
  )
})

const made = (async () => {
  const { privateKey, publicKey } = await Jose.generateKeyPair("ES256")
  const token = await new Jose.SignJWT({ iss: issuers[0] ?? "", sub: "alice", exp: 1 })
    .setProtectedHeader({ alg: "ES256", typ: "at+jwt" })
    .sign(privateKey)
  return { token, keys: { keys: [await Jose.exportJWK(publicKey)] } }
})()
const signedOnce = Effect.promise(() => made)

describe("Introspection", () => {
  it.effect("Introspection requires an audience, from the token or the options", () =>
    Effect.gen(function* () {
      const server = yield* AuthServer.AuthServer
      yield* server.register({ clientId: "resource", secret: "s3cret", authMethod: "client_secret_post" })
      yield* server.script({ claims: (_, { aud: _aud, iss: _iss, ...claims }) => claims })
      const token = yield* server.issue()
      const credentials = { clientId: "resource", clientSecret: Redacted.make("s3cret"), method: "post" as const }
      for (const assumeAudience of [undefined, resource]) {
        const layer = Introspection.layer({ credentials, assumeAudience }).pipe(Layer.provide(FetchHttpClient.layer))
        const claims = yield* Effect.provide(verify(token, server.issuer), layer)
        assert.strictEqual(claims.aud, assumeAudience)
        assert.strictEqual(claims.iss, server.issuer)
      }
    }).pipe(Effect.provide(issuer({ tokens: "opaque" })))
  )

  for (const cacheFor of [0, "1 minute"] as const)
    it.effect(`An introspection answer never applies to another server's token, cached for ${cacheFor}`, () =>
      Effect.gen(function* () {
        const credentials = { clientId: "resource", clientSecret: Redacted.make("s3cret") }
        const servers = yield* Effect.forEach([1, 2], () =>
          Effect.gen(function* () {
            const built = yield* Layer.build(issuer({ tokens: "opaque" }))
            const server = Context.get(built, AuthServer.AuthServer)
            yield* server.register({ ...credentials, secret: "s3cret", authMethod: "client_secret_basic" })
            yield* server.script({ claims: (_, { iss: _iss, ...claims }) => claims })
            return server
          })
        )
        const [one, other] = servers
        const verifier = yield* Layer.build(
          Introspection.layer({ credentials, cacheFor }).pipe(Layer.provide(FetchHttpClient.layer))
        )
        const token = (yield* one?.issue({ resources: [resource] }) ?? Effect.die("no server")) ?? ""
        const ask = (server = one) => Effect.provideContext(verify(token, server?.issuer), verifier)
        assert.strictEqual((yield* ask()).iss, one?.issuer)
        assert.strictEqual((yield* ask()).iss, one?.issuer)
        const error = yield* Effect.flip(ask(other))
        assert.strictEqual(error._tag, "InvalidToken")
      })
    )

  it.effect("Introspection credentials are form-encoded in any alphabet", () =>
    Effect.gen(function* () {
      const server = yield* AuthServer.AuthServer
      const clientId = "resource: a+b %"
      const secret = "p:ä&ss=?"
      yield* server.register({ clientId, secret, authMethod: "client_secret_basic" })
      const layer = Introspection.layer({ credentials: { clientId, clientSecret: Redacted.make(secret) } }).pipe(
        Layer.provide(FetchHttpClient.layer)
      )
      const claims = yield* Effect.provide(verify(yield* server.issue(), server.issuer), layer)
      assert.strictEqual(claims.active, true)
    }).pipe(Effect.provide(issuer({ tokens: "opaque" })))
  )
})
