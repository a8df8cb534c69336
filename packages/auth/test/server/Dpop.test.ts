import * as Auth from "@effect-mcp/auth/server/Auth"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Jose from "jose"
import { openAt, proofKey, request, revisions } from "./support/protected.ts"

const features = Tools.layer(Tool.make("whoami", { description: "Who calls." }), () =>
  Effect.map(Auth.caller, ({ subject }) => subject)
)

/** A server that accepts proofs, and a client with a key. `resource` is the public URL, if it differs from the served one. */
const serveAt = (open: ReturnType<typeof openAt>) =>
  Effect.fnUntraced(function* (dpop: Auth.Options["dpop"] = {}, resource?: string) {
    const key = yield* proofKey
    const server = yield* open({ features, guard: { dpop, ...(resource === undefined ? {} : { resource }) } })
    const url = resource ?? server.url
    const token = yield* server.server.issue({ resources: [url], jkt: key.jkt })
    const prove = (claims: object = {}, header: object = {}) => key.prove(token, { htu: url, ...claims }, header)
    /** Sends a request with a proof. If the revision has sessions, a session is opened first with another proof. */
    const present = Effect.fnUntraced(function* (dpop: string, scheme = "DPoP", claims: object = {}) {
      const opening = { authorization: `DPoP ${token}`, dpop: yield* prove(claims) }
      return yield* server.call("whoami", { authorization: `${scheme} ${token}`, dpop }, {}, opening)
    })
    return { ...server, key, token, prove, present }
  })

describe.each(revisions)("Dpop at %s", (revision) => {
  const open = openAt(revision)
  const serve = serveAt(open)

  it.effect("A request with a proof by its token's key is admitted once per proof", () =>
    Effect.gen(function* () {
      const { present, prove } = yield* serve()
      const proof = yield* prove()
      assert.strictEqual((yield* present(proof)).status, 200)
      const replayed = yield* present(proof)
      assert.strictEqual(replayed.status, 401)
      assert.include(replayed.headers.get("www-authenticate"), 'DPoP error="invalid_dpop_proof"')
      assert.include(replayed.headers.get("www-authenticate"), "already been used")
      assert.strictEqual((yield* present(yield* prove())).status, 200)
    })
  )

  it.effect("A proof is remembered until it is too old to be accepted", () =>
    Effect.gen(function* () {
      const { present, prove } = yield* serve({ maxAge: "20 seconds" })
      const proof = yield* prove()
      for (let seconds = 0; seconds < 120; seconds += 10) {
        assert.strictEqual((yield* present(proof)).status, seconds === 0 ? 200 : 401, `${seconds}`)
        yield* TestClock.adjust("10 seconds")
      }
    })
  )

  it.effect("A stolen token without a proof by its own key is rejected", () =>
    Effect.gen(function* () {
      const { call, present, prove, token, url } = yield* serve()
      const asBearer = yield* present(yield* prove(), "Bearer")
      assert.strictEqual(asBearer.status, 401)
      assert.include(asBearer.headers.get("www-authenticate"), "bound to a key")
      const without = yield* call("whoami", { authorization: `DPoP ${token}` })
      assert.strictEqual(without.status, 401)
      assert.include(without.headers.get("www-authenticate"), "invalid_dpop_proof")
      const thief = yield* proofKey
      const other = yield* present(yield* thief.prove(token, { htu: url }))
      assert.strictEqual(other.status, 401)
      assert.include(other.headers.get("www-authenticate"), "different key")
    })
  )

  it.effect.each<readonly [because: string, claims: object, header?: object]>([
    ["for another method", { htm: "GET" }],
    ["for another URL", { htu: "https://other.example.com/mcp" }],
    ["without a URL", { htu: "?" }],
    ["made too long ago", { iat: -100 }],
    ["made in the future", { iat: 31 }],
    ["without a time", { iat: undefined }],
    ["for another token", { ath: "x" }],
    ["without a jti", { jti: undefined }],
    ["with another type", {}, { typ: "jwt" }],
    ["without a key", {}, { jwk: undefined }]
  ])("A proof %s is rejected", ([, claims, header]) =>
    Effect.gen(function* () {
      const { present, prove } = yield* serve()
      const reply = yield* present(yield* prove(claims, header))
      assert.strictEqual(reply.status, 401)
      assert.include(reply.headers.get("www-authenticate"), 'error="invalid_dpop_proof"')
    })
  )

  it.effect("A proof that reveals its private key or is signed with a shared secret is rejected", () =>
    Effect.gen(function* () {
      const { key, present, prove, url } = yield* serve()
      const given = yield* present(yield* prove({}, { jwk: key.privateJwk }))
      assert.strictEqual(given.status, 401)
      assert.include(given.headers.get("www-authenticate"), "must contain a public key, without the private key")
      const secret = new Uint8Array(32)
      const header: object = { typ: "dpop+jwt", jwk: { kty: "oct", k: Jose.base64url.encode(secret) } }
      const shared = yield* Effect.promise(() =>
        new Jose.SignJWT({ htm: "POST", htu: url, iat: 0, jti: "1" })
          .setProtectedHeader({ alg: "HS256", ...header })
          .sign(secret)
      )
      assert.strictEqual((yield* present(shared)).status, 401)
      assert.strictEqual((yield* present("not a proof")).status, 401)
    })
  )

  it.effect("Nonces are renewed, and the previous nonce is still accepted", () =>
    Effect.gen(function* () {
      const { present, prove } = yield* serve({ nonces: "1 minute" })
      const first = yield* present(yield* prove())
      assert.strictEqual(first.status, 401)
      assert.include(first.headers.get("www-authenticate"), 'DPoP error="use_dpop_nonce"')
      const nonce = first.headers.get("dpop-nonce") ?? ""
      const good = yield* present(yield* prove({ nonce }), "DPoP", { nonce })
      assert.strictEqual(good.status, 200)
      assert.isNull(good.headers.get("dpop-nonce"))
      yield* TestClock.adjust("1 minute")
      const old = yield* present(yield* prove({ nonce, iat: 60 }), "DPoP", { nonce, iat: 60 })
      assert.strictEqual(old.status, 200)
      const next = old.headers.get("dpop-nonce") ?? ""
      assert.notStrictEqual(next, nonce)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(
        (yield* present(yield* prove({ nonce: next, iat: 120 }), "DPoP", { nonce: next, iat: 120 })).status,
        200
      )
      assert.strictEqual((yield* present(yield* prove({ nonce, iat: 120 }), "DPoP", { nonce, iat: 120 })).status, 401)
    })
  )

  it.effect("Bearer tokens are also accepted unless proofs are required", () =>
    Effect.gen(function* () {
      const either = yield* serve()
      assert.strictEqual((yield* either.call("whoami", yield* either.bearer())).status, 200)
      const challenge = (yield* either.call("whoami")).headers.get("www-authenticate") ?? ""
      assert.match(challenge, /^Bearer .*, DPoP .*algs="[^"]*ES256/)
      const required = yield* serve({ required: true })
      const refused = yield* required.call("whoami", yield* required.bearer())
      assert.strictEqual(refused.status, 401)
      assert.match(refused.headers.get("www-authenticate") ?? "", /^DPoP error="invalid_token"/)
      const { json } = yield* request(`${required.origin}/.well-known/oauth-protected-resource/mcp`)
      assert.strictEqual(json.dpop_bound_access_tokens_required, true)
      assert.include(json.dpop_signing_alg_values_supported, "ES256")
    })
  )

  it.effect("A proof for the public URL is accepted behind a path-rewriting proxy", () =>
    Effect.gen(function* () {
      const resource = "https://public.example.com/tenant/mcp"
      const { present, prove } = yield* serve({}, resource)
      assert.strictEqual((yield* present(yield* prove())).status, 200)
      const other = yield* present(yield* prove({ htu: "https://public.example.com/other/mcp" }))
      assert.strictEqual(other.status, 401)
      assert.include(other.headers.get("www-authenticate"), "other/mcp")
    })
  )

  it.effect("Bound tokens are rejected if proofs are not accepted", () =>
    Effect.gen(function* () {
      const { bearer, call } = yield* open({ features })
      const reply = yield* call("whoami", yield* bearer({ jkt: "thumbprint" }))
      assert.strictEqual(reply.status, 401)
      const { authorization } = yield* bearer({ jkt: "thumbprint" })
      const asDpop = { authorization: authorization?.replace("Bearer", "DPoP") ?? "", dpop: "x" }
      assert.strictEqual((yield* call("whoami", asDpop)).status, 401)
    })
  )
})
