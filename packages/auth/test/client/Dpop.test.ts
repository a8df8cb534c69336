import * as Dpop from "@effect-mcp/auth/client/Dpop"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import * as Jose from "jose"
import { createHash } from "node:crypto"
import * as World from "./support/world.ts"

const claims = (proof: string | undefined) => Jose.decodeJwt(proof ?? "")
const header = (proof: string | undefined) => Jose.decodeProtectedHeader(proof ?? "")

/** A world in which tokens are bound to keys. */
const bound = (parts: Partial<World.Parts> = {}) => {
  const world = World.make({ token: (body) => ({ ...body, token_type: "DPoP" }), ...parts })
  world.parts.as = { ...world.parts.as, dpop_signing_alg_values_supported: ["none", "HS256", "ES256"] }
  return world
}
const proofs = (world: World.World, url: string) => world.at(url).map((hit) => hit.headers["dpop"])

describe.each(World.revisions)("DPoP at %s", (revision) => {
  const newClient = World.clientAt(revision)
  it.effect("A proof names method, URL, token and nonce and is signed by its key", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_700_000_000_000)
      const key = yield* Dpop.generate("ES256")
      const proof = yield* Dpop.proof(key, {
        method: "GET",
        url: new URL("https://mcp.example.com/mcp?x=1#y"),
        accessToken: Redacted.make("token"),
        nonce: "n"
      })
      const { jwk } = header(proof)
      assert.hasAllKeys(jwk, ["kty", "crv", "x", "y"])
      const publicKey = yield* Effect.promise(() => Jose.importJWK(jwk ?? {}, "ES256"))
      const { payload, protectedHeader } = yield* Effect.promise(() =>
        Jose.jwtVerify(proof, publicKey, { currentDate: new Date(1_700_000_000_000) })
      )
      assert.strictEqual(protectedHeader.typ, "dpop+jwt")
      assert.deepInclude(payload, {
        htm: "GET",
        htu: "https://mcp.example.com/mcp",
        iat: 1_700_000_000,
        nonce: "n",
        ath: createHash("sha256").update("token").digest("base64url")
      })
    })
  )

  for (const algorithm of ["ES256", "EdDSA", "RS256"])
    it.effect(`A restored ${algorithm} key makes valid proofs and hides its private part`, () =>
      Effect.gen(function* () {
        const key = yield* Dpop.generate(algorithm)
        const again = yield* Dpop.restore(key.secret)
        const request = { method: "POST", url: new URL(World.server) }
        const shown = header(yield* Dpop.proof(again, request)).jwk
        assert.deepStrictEqual(shown, header(yield* Dpop.proof(key, request)).jwk)
        assert.doesNotHaveAnyKeys(shown, ["d", "p", "q", "dp", "dq", "qi", "k"])
      })
    )

  it("A client without a private key signs with no algorithm", () => {
    assert.isUndefined(Dpop.choose(["none", "HS256"]))
    assert.isUndefined(Dpop.choose(undefined))
    assert.strictEqual(Dpop.choose(["RS256", "ES256"]), "ES256")
  })

  it("Nonces of the authorization server and the resource are kept apart", () => {
    const nonces = Dpop.nonces()
    const url = new URL(World.server)
    assert.isTrue(nonces.learn("issuer", url, { "dpop-nonce": "a" }))
    assert.isFalse(nonces.learn("issuer", url, { "dpop-nonce": "a" }))
    assert.isFalse(nonces.learn("issuer", url, { "dpop-nonce": "a b" }))
    assert.isFalse(nonces.learn("issuer", url, {}))
    assert.strictEqual(nonces.get("issuer", url), "a")
    assert.isUndefined(nonces.get("resource", url))
    assert.isUndefined(nonces.get("issuer", new URL("https://other.example.com")))
  })

  it.effect("Every request carries a new proof and the DPoP scheme", () =>
    Effect.gen(function* () {
      const world = bound()
      const client = yield* newClient(world, { dpop: "prefer" })
      yield* client.ask()
      yield* client.ask()
      const sent = world.at(World.server).slice(1)
      assert.isTrue(sent.every((hit) => hit.headers["authorization"] === "DPoP at-1"))
      const ids = [...proofs(world, World.server).slice(1), ...proofs(world, `${World.issuer}/token`)]
      assert.strictEqual(new Set(ids.map((proof) => claims(proof).jti)).size, 3)
      const [first] = proofs(world, `${World.issuer}/token`)
      assert.deepInclude(claims(first), { htm: "POST", htu: `${World.issuer}/token` })
      assert.isUndefined(claims(first)["ath"])
      const jkt = yield* Effect.promise(() => Jose.calculateJwkThumbprint(header(first).jwk ?? {}))
      assert.strictEqual(world.visits[0]?.searchParams.get("dpop_jkt"), jkt)
    })
  )

  it.effect("A nonce required by either server is used and remembered", () =>
    Effect.gen(function* () {
      const world = bound({
        intercept: ({ headers, url }) => {
          const { nonce } = headers["dpop"] === undefined ? { nonce: undefined } : claims(headers["dpop"])
          const headersOf = { "dpop-nonce": `nonce of ${url.host}`.replaceAll(" ", "-") }
          if (url.href === `${World.issuer}/token` && nonce !== headersOf["dpop-nonce"])
            return World.json({ error: "use_dpop_nonce" }, 400, headersOf)
          if (url.href === World.server && headers["dpop"] !== undefined && nonce !== headersOf["dpop-nonce"])
            return new Response("", {
              status: 401,
              headers: { ...headersOf, "www-authenticate": 'DPoP error="use_dpop_nonce"' }
            })
          return undefined
        }
      })
      const client = yield* newClient(world, { dpop: "prefer" })
      assert.strictEqual(yield* client.ask(), 200)
      assert.strictEqual(yield* client.ask(), 200)
      assert.deepStrictEqual(
        proofs(world, `${World.issuer}/token`).map((proof) => claims(proof)["nonce"]),
        [undefined, "nonce-of-auth.example.com"]
      )
      assert.deepStrictEqual(
        proofs(world, World.server)
          .slice(1)
          .map((proof) => claims(proof)["nonce"]),
        [undefined, "nonce-of-mcp.example.com", "nonce-of-mcp.example.com"]
      )
      assert.strictEqual(world.visits.length, 1)
    })
  )

  it.effect("A client gives up on a server that always requires another nonce", () =>
    Effect.gen(function* () {
      let count = 0
      const world = bound({
        intercept: ({ headers, url }) =>
          url.href === World.server && headers["dpop"] !== undefined
            ? new Response("", {
                status: 401,
                headers: { "dpop-nonce": `n${++count}`, "www-authenticate": 'DPoP error="use_dpop_nonce"' }
              })
            : undefined
      })
      const client = yield* newClient(world, { dpop: "prefer" })
      const error = yield* World.failure(client.ask())
      assert.strictEqual(error.code, "use_dpop_nonce")
      assert.isBelow(count, 10)
    })
  )

  it.effect("A rejected token is refreshed with the key it is bound to", () =>
    Effect.gen(function* () {
      const world = bound({ accepts: (token) => token !== "at-1" })
      const first = yield* newClient(world, { dpop: "prefer" })
      yield* first.oauth.login(World.server)
      const second = yield* newClient(world, {}, first.store)
      assert.strictEqual(yield* second.ask(), 200)
      const shown = proofs(world, `${World.issuer}/token`).map((proof) => JSON.stringify(header(proof).jwk))
      assert.strictEqual(shown.length, 2)
      assert.strictEqual(new Set(shown).size, 1)
      assert.strictEqual(world.visits.length, 1)
    })
  )

  it.effect("A token without a required key is rejected, wherever it comes from", () =>
    Effect.gen(function* () {
      const world = bound({ token: (body) => body })
      const careless = yield* newClient(world)
      yield* careless.oauth.login(World.server)
      const client = yield* newClient(world, { dpop: "require" }, careless.store)
      const error = yield* World.failure(client.ask())
      assert.match(error.message, /not bound to a key.*expected: DPoP/)
      world.parts.token = (body) => ({ ...body, token_type: "DPoP" })
      assert.strictEqual(yield* client.ask(), 200)
      const sent = world.at(World.server).map((hit) => hit.headers["authorization"]?.split(" ")[0])
      assert.notInclude(sent, "Bearer")
    })
  )

  it.effect("When a server starts requiring keys, its old tokens are replaced", () =>
    Effect.gen(function* () {
      const world = bound({ accepts: (_, { headers }) => headers["dpop"] !== undefined })
      const before = World.make()
      const careless = yield* newClient(before)
      yield* careless.oauth.login(World.server)
      world.parts.prm = { ...world.parts.prm, dpop_bound_access_tokens_required: true }
      const client = yield* newClient(world, {}, careless.store)
      assert.strictEqual(yield* client.ask(), 200)
      assert.strictEqual(world.grants("refresh_token").length, 0)
      assert.strictEqual(world.visits.length, 1)
    })
  )

  describe("DPoP settings", () => {
    const used = Effect.fnUntraced(function* (dpop: "auto" | "prefer" | "never", prm: object = {}, as: object = {}) {
      const world = bound()
      world.parts.prm = { ...world.parts.prm, ...prm }
      world.parts.as = { ...world.parts.as, ...as }
      world.parts.token = (body, hit) => ({
        ...body,
        token_type: hit.headers["dpop"] === undefined ? "Bearer" : "DPoP"
      })
      const client = yield* newClient(world, { dpop })
      yield* client.ask()
      return world.at(World.server).at(-1)?.headers["authorization"]?.split(" ")[0]
    })

    it.effect("DPoP is used by default if the resource asks for it", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* used("auto"), "Bearer")
        assert.strictEqual(yield* used("auto", { dpop_signing_alg_values_supported: ["ES256"] }), "DPoP")
        assert.strictEqual(yield* used("auto", { dpop_bound_access_tokens_required: true }), "DPoP")
      })
    )

    it.effect("Preferred DPoP is used whenever the authorization server supports it", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* used("prefer"), "DPoP")
        assert.strictEqual(yield* used("prefer", {}, { dpop_signing_alg_values_supported: undefined }), "Bearer")
      })
    )

    it.effect("DPoP is never used if disabled by the application", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* used("never", { dpop_bound_access_tokens_required: true }), "Bearer")
      })
    )
  })
})
