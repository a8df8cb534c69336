import * as ClientIdentity from "@effect-mcp/auth/client/ClientIdentity"
import type { AuthorizationServer } from "@effect-mcp/auth/client/Metadata"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import * as Jose from "jose"

const issuer = "https://auth.example.com"
const metadata = (...methods: ReadonlyArray<string>): AuthorizationServer =>
  methods.length === 0 ? { issuer } : { issuer, token_endpoint_auth_methods_supported: methods }

const secret = { clientId: "id", clientSecret: Redacted.make("secret") }
const signing = Effect.fnUntraced(function* (algorithm = "ES256") {
  const pair = yield* Effect.promise(() => Jose.generateKeyPair(algorithm, { extractable: true }))
  const pem = yield* Effect.promise(() => Jose.exportPKCS8(pair.privateKey))
  const jwk = yield* Effect.promise(() => Jose.exportJWK(pair.privateKey))
  return { ...pair, pem, jwk }
})

describe("Client identity", () => {
  it("A client prefers its registered authentication method", () => {
    const method = ClientIdentity.methodOf
    assert.strictEqual(method(secret, metadata()), "client_secret_basic")
    assert.strictEqual(method(secret, metadata("client_secret_post", "client_secret_basic")), "client_secret_basic")
    assert.strictEqual(method(secret, metadata("client_secret_post")), "client_secret_post")
    assert.strictEqual(method(secret, metadata("none")), "none")
    assert.strictEqual(method({ clientId: "id" }, metadata()), "none")
    assert.strictEqual(method({ ...secret, method: "client_secret_post" }, metadata()), "client_secret_post")
    assert.strictEqual(
      method({ ...secret, method: "client_secret_post" }, metadata("client_secret_basic")),
      "client_secret_basic"
    )
    assert.strictEqual(method({ ...secret, method: "none" }, metadata("client_secret_basic")), "none")
    const signingKey = { key: Redacted.make(""), algorithm: "ES256" }
    assert.strictEqual(method({ ...secret, signingKey }, metadata("private_key_jwt")), "private_key_jwt")
  })

  it.effect("Basic authentication form-encodes both parts and puts nothing into the body", () =>
    Effect.gen(function* () {
      const credentials = { clientId: "a:b c", clientSecret: Redacted.make("p%q/é") }
      const { headers, parameters } = yield* ClientIdentity.prove(credentials, metadata())
      assert.strictEqual(headers["authorization"], `Basic ${Buffer.from("a%3Ab+c:p%25q%2F%C3%A9").toString("base64")}`)
      assert.deepStrictEqual(parameters, {})
    })
  )

  it.effect("A secret in the body is sent with the client id", () =>
    Effect.gen(function* () {
      const proof = yield* ClientIdentity.prove(secret, metadata("client_secret_post"))
      assert.deepStrictEqual(proof, { parameters: { client_id: "id", client_secret: "secret" }, headers: {} })
    })
  )

  it.effect("A public client sends only its id", () =>
    Effect.gen(function* () {
      const proof = yield* ClientIdentity.prove({ clientId: "id" }, metadata("none"))
      assert.deepStrictEqual(proof, { parameters: { client_id: "id" }, headers: {} })
    })
  )

  for (const form of ["pem", "jwk"] as const)
    it.effect(`An assertion is signed, limited to its issuer and valid for a minute (${form})`, () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(1_700_000_000_000)
        const { jwk, pem, publicKey } = yield* signing()
        const key = Redacted.make(form === "pem" ? pem : JSON.stringify(jwk))
        const { headers, parameters } = yield* ClientIdentity.prove(
          { clientId: "id", signingKey: { key, algorithm: "ES256", keyId: "k1" } },
          metadata("private_key_jwt")
        )
        assert.deepStrictEqual(headers, {})
        assert.strictEqual(
          parameters["client_assertion_type"],
          "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
        )
        const verified = yield* Effect.promise(() =>
          Jose.jwtVerify(parameters["client_assertion"] ?? "", publicKey, {
            audience: issuer,
            issuer: "id",
            subject: "id",
            currentDate: new Date(1_700_000_030_000)
          })
        )
        assert.deepStrictEqual(
          [verified.payload.iat, verified.payload.exp, verified.protectedHeader.kid],
          [1_700_000_000, 1_700_000_060, "k1"]
        )
        assert.match(verified.payload.jti ?? "", /^[0-9a-f-]{36}$/)
      })
    )

  it.effect("A key that cannot sign fails without revealing any of its text", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        ClientIdentity.prove(
          { clientId: "id", signingKey: { key: Redacted.make('{"kty":"hunter2"}'), algorithm: "ES256" } },
          metadata("private_key_jwt")
        )
      )
      assert.match(error.message, /private key of the client id cannot sign/)
      assert.notMatch(`${error.message}${JSON.stringify(error)}${String(error.cause)}`, /hunter2/)
    })
  )

  it.effect("A missing secret is named in the error", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        ClientIdentity.prove({ clientId: "id", method: "client_secret_basic" }, metadata())
      )
      assert.match(error.message, /the client id has no secret/)
    })
  )
})
