/** Attacks on a protected server that admits the honest caller. None of them succeeds. */
import * as ClaimRules from "@effect-mcp/auth/server/ClaimRules"
import * as Auth from "@effect-mcp/auth/server/Auth"
import * as Credentials from "@effect-mcp/auth/server/Credentials"
import * as JwtVerifier from "@effect-mcp/auth/server/JwtVerifier"
import { InvalidToken } from "@effect-mcp/auth/server/TokenVerifier"
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as Headers from "@effect-mcp/protocol/Headers"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { verifies } from "@effect-mcp/spec/verifies"
import * as AuthServer from "@effect-mcp/testing/auth/AuthServer"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import * as HttpHeaders from "effect/http/Headers"
import * as Jose from "jose"
import { initialize as initializeAt, listen, modern, openAt, type Protected, revisions } from "./support/protected.ts"

const features = Layer.mergeAll(
  Tools.layer(Tool.make("whoami", { description: "Who." }), () => Effect.map(Auth.caller, ({ subject }) => subject)),
  Tools.layer(Tool.make("ask", { description: "Asks." }), () =>
    Effect.map(Elicitation.form("Which?", Schema.Struct({ name: Schema.String })), ({ name }) => `It is ${name}`)
  )
)

type Claims = Jose.JWTPayload
const honest = ({ server, url }: Protected): Claims => ({
  iss: server.issuer,
  sub: "alice",
  aud: url,
  iat: 0,
  exp: 3600,
  jti: "1"
})

const withoutSignature = (header: object, claims: Claims): string =>
  [header, claims].map((part) => Jose.base64url.encode(JSON.stringify(part))).join(".")

const sign = (claims: Claims, header: object, alg = "ES256") =>
  Effect.promise(async () => {
    const { privateKey, publicKey } = await Jose.generateKeyPair(alg, { extractable: true })
    const jwk = await Jose.exportJWK(publicKey)
    return new Jose.SignJWT(claims).setProtectedHeader({ alg, typ: "at+jwt", jwk, ...header }).sign(privateKey)
  })

const changed = (protect: Protected, change: (claims: Claims) => Claims, token: AuthServer.Issued = {}) =>
  Effect.gen(function* () {
    const { server, url } = protect
    yield* server.script({ claims: (_, claims) => change(claims) })
    return yield* server.issue({ resources: [url], ...token })
  })

/** A valid token except for its type. */
const typed = ({ server, url }: Protected, type: string) => server.issue({ resources: [url], type })

/** Forged tokens, by attack. */
const forgeries: {
  readonly [attack: string]: (protect: Protected) => Effect.Effect<string>
} = {
  "the wrong audience": ({ server }) => server.issue({ resources: ["https://other.example.com/mcp"] }),
  "an audience that begins like the server's": ({ server, url }) =>
    server.issue({ resources: [`${url}/../mcp2`, `${url}x`] }),
  "the origin as audience": ({ origin, server }) => server.issue({ resources: [origin] }),
  "the wrong issuer": (protect) => changed(protect, (claims) => ({ ...claims, iss: "https://evil.example.com" })),
  "an issuer that differs in a slash": (protect) =>
    changed(protect, (claims) => ({ ...claims, iss: `${claims.iss}/` })),
  "an end that has passed": ({ server, url }) => server.issue({ resources: [url], lifetime: -3600 }),
  "no end": (protect) => changed(protect, ({ exp: _exp, ...claims }) => claims),
  "an end that is no number": (protect) => changed(protect, (claims) => ({ ...claims, exp: "never" as never })),
  "a beginning in the future": (protect) => changed(protect, (claims) => ({ ...claims, nbf: 3600 })),
  "alg none": (protect) => Effect.succeed(`${withoutSignature({ alg: "none", typ: "at+jwt" }, honest(protect))}.`),
  "alg None": (protect) => Effect.succeed(`${withoutSignature({ alg: "None", typ: "at+jwt" }, honest(protect))}.AA`),
  "alg confusion: the public key as a shared secret": (protect) =>
    Effect.gen(function* () {
      const [key = {}] = (yield* protect.server.jwks).keys
      const secret = new TextEncoder().encode(JSON.stringify(key))
      return yield* Effect.promise(() =>
        new Jose.SignJWT(honest(protect)).setProtectedHeader({ alg: "HS256", kid: key.kid ?? "" }).sign(secret)
      )
    }),
  "a key that is not published": (protect) => sign(honest(protect), {}),
  "an unpublished key under a published kid": (protect) =>
    Effect.flatMap(protect.server.jwks, ({ keys }) => sign(honest(protect), { kid: keys[0]?.kid })),
  "a key in its own header": (protect) => sign(honest(protect), { jku: "https://evil.example.com/jwks" }),
  "another algorithm than the key's": (protect) =>
    Effect.flatMap(protect.server.jwks, ({ keys }) => sign(honest(protect), { kid: keys[0]?.kid }, "RS256")),
  "claims that were changed after signing": ({ server, url }) =>
    Effect.map(server.issue({ resources: [url] }), (token) => {
      const [header, , signature] = token.split(".")
      return `${header}.${Jose.base64url.encode(JSON.stringify({ ...Jose.decodeJwt(token), sub: "root" }))}.${signature}`
    }),
  "an unknown critical extension": (protect) =>
    Effect.promise(async () => {
      const { privateKey } = await Jose.generateKeyPair("ES256")
      return new Jose.SignJWT(honest(protect))
        .setProtectedHeader({ alg: "ES256", crit: ["x"], x: 1 })
        .sign(privateKey, { crit: { x: true } })
    }),
  "the audience of a client: an ID token": ({ server }) => server.idToken({ subject: "alice", clientId: "client" }),
  "the type of a proof": (protect) => sign(honest(protect), { typ: "dpop+jwt" }),
  "the type of an ID token": (protect) => typed(protect, "id_token+jwt"),
  "the type of a logout token": (protect) => typed(protect, "logout+jwt"),
  "the type of a proof, signed by the right key": (protect) => typed(protect, "dpop+jwt"),
  "no subject": (protect) => changed(protect, ({ sub: _sub, client_id: _id, ...claims }) => claims),
  "an array as claims": () =>
    Effect.succeed(`${Jose.base64url.encode('{"alg":"ES256"}')}.${Jose.base64url.encode("[]")}.AA`),
  "five parts, as an encrypted token": () => Effect.succeed("eyJhbGciOiJkaXIiLCJlbmMiOiJBMTI4R0NNIn0..a.b.c")
}

describe.each(revisions)("Attacks at %s", (revision) => {
  const open = openAt(revision)
  for (const [attack, forge] of Object.entries(forgeries)) {
    it.effect(
      `A token with ${attack} is rejected`,
      () =>
        Effect.gen(function* () {
          const protect = yield* open({ features })
          assert.strictEqual((yield* protect.call("whoami", yield* protect.bearer())).status, 200)
          const forged = yield* forge(protect)
          const reply = yield* protect.call("whoami", { authorization: `Bearer ${forged}` })
          assert.strictEqual(reply.status, 401)
          assert.include(reply.headers.get("www-authenticate"), 'error="invalid_token"')
        }),
      verifies("authorization.server.token-validated")
    )
  }

  it.effect("Algorithms not allowed by the operator are rejected", () =>
    Effect.gen(function* () {
      const verifier = () => JwtVerifier.layer({ algorithms: ["RS256"] })
      const { bearer, call } = yield* open({ features, verifier })
      assert.strictEqual((yield* call("whoami", yield* bearer())).status, 401)
    })
  )

  it.effect("Metadata is accepted only from the issuer it names", () =>
    Effect.gen(function* () {
      const { bearer, call, server } = yield* open({ features })
      yield* server.script({ metadata: (document) => ({ ...document, issuer: "https://evil.example.com" }) })
      assert.strictEqual((yield* call("whoami", yield* bearer())).status, 503)
      assert.strictEqual(yield* server.count("jwks"), 0)
    })
  )

  // A client of 2026-07-28 has no session.
  const initialize = initializeAt(revision === "2026-07-28" ? "2025-11-25" : revision)

  if (revision !== "2026-07-28")
    it.effect(
      "Session ids of one caller have nothing in common",
      () =>
        Effect.gen(function* () {
          const { bearer, send } = yield* open({ features })
          const alice = yield* bearer()
          const replies = yield* Effect.forEach(Array.from({ length: 12 }), () => send(initialize, alice))
          const ids = replies.map(({ headers }) => headers.get("mcp-session-id") ?? "")
          /** Number of positions with equal characters. */
          const inCommon = (one: string, other: string) =>
            Array.from({ length: one.length }, (_, at) => at).filter((at) => one[at] === other[at]).length
          for (const [at, id] of ids.entries()) {
            // 128 bits in base64.
            assert.isAtLeast(id.length, 22)
            for (const other of ids.slice(at + 1)) {
              assert.isBelow(inCommon(id, other), id.length / 2)
              assert.notStrictEqual(id, other)
            }
          }
        }),
      verifies("best-practices.sessions.id-secure", "best-practices.sessions.id-random")
    )

  it.effect(
    "A principal's session is closed to all other principals, even its namesake at another issuer",
    () =>
      Effect.gen(function* () {
        const other = Context.get(
          yield* Layer.build(AuthServer.layer().pipe(Layer.provide(Layer.orDie(listen())))),
          AuthServer.AuthServer
        )
        const { bearer, send, url } = yield* open({ features, issuers: [other.issuer] })
        const alice = yield* bearer({ subject: "alice" })
        const opened = yield* send(initialize, alice)
        const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" }
        const list = { jsonrpc: "2.0", id: 1, method: "tools/list" }
        assert.strictEqual((yield* send(list, { ...alice, ...session })).status, 200)
        const renewed = yield* bearer({ subject: "alice", scopes: ["more"] })
        assert.strictEqual((yield* send({ ...list, id: 2 }, { ...renewed, ...session })).status, 200)
        const mallory = yield* bearer({ subject: "mallory" })
        assert.strictEqual((yield* send({ ...list, id: 3 }, { ...mallory, ...session })).status, 404)
        assert.strictEqual((yield* send({ ...list, id: 4 }, session)).status, 401)
        const namesake = yield* other.issue({ subject: "alice", resources: [url] })
        const foreign = { authorization: `Bearer ${namesake}`, ...session }
        assert.strictEqual((yield* send(initialize, { authorization: `Bearer ${namesake}` })).status, 200)
        assert.strictEqual((yield* send({ ...list, id: 6 }, foreign)).status, 404)
        for (const method of ["GET", "DELETE"]) {
          const stolen = yield* Effect.promise(() =>
            fetch(url, { method, headers: { accept: "text/event-stream", ...mallory, ...session } })
          )
          assert.strictEqual(stolen.status, 404)
        }
        assert.strictEqual((yield* send({ ...list, id: 5 }, { ...alice, ...session })).status, 200)
      }),
    verifies("best-practices.sessions.not-authentication", "best-practices.sessions.user-bound")
  )

  it.effect(
    "A principal's requestState is rejected from every other principal",
    () =>
      Effect.gen(function* () {
        const { bearer, send } = yield* open({ features })
        const ask = (params: object, headers: { readonly [name: string]: string }) => {
          const message = modern("tools/call", { name: "ask", arguments: {}, ...params })
          message.params._meta[Meta.clientCapabilities] = { elicitation: { form: {} } }
          return send(message, { ...Headers.of(message), ...headers })
        }
        const alice = yield* bearer({ subject: "alice" })
        const { requestState, inputRequests } = (yield* ask({}, alice)).json.result
        const [key = ""] = Object.keys(inputRequests)
        const answered = { requestState, inputResponses: { [key]: { action: "accept", content: { name: "x" } } } }
        const stolen = yield* ask(answered, yield* bearer({ subject: "mallory" }))
        assert.strictEqual(stolen.json.error.code, -32_602)
        const renewed = yield* bearer({ subject: "alice" })
        assert.strictEqual((yield* ask(answered, renewed)).json.result.content[0].text, "It is x")
      }),
    verifies("best-practices.handles.not-authentication", "best-practices.handles.user-bound")
  )

  // Any other header is rejected without a server error.
  it.effect.prop(
    "Any credential is either rejected or read exactly",
    [Schema.String.check(Schema.isMaxLength(64))],
    ([text]) =>
      Effect.gen(function* () {
        const printable = text.replaceAll(/[^\x21-\x7e]/gu, "a")
        for (const authorization of [`Bearer ${printable}`, `DPoP ${printable}`, `${printable} x`]) {
          const credentials = Credentials.parse({ url: "/mcp", headers: HttpHeaders.fromInput({ authorization }) })
          if (credentials._tag === "Token") {
            assert.strictEqual(Redacted.value(credentials.token), authorization.slice(authorization.indexOf(" ") + 1))
            assert.notInclude(JSON.stringify(credentials), `"${printable}"`)
          }
        }
      })
  )

  // Only claims for this server and this time produce a principal.
  const Claim = Schema.Union([Schema.String, Schema.Finite, Schema.Boolean, Schema.Null, Schema.Array(Schema.String)])
  it.effect.prop(
    "Arbitrary claims form a principal only with the right issuer, audience and time",
    [Schema.Record(Schema.Literals(["iss", "aud", "exp", "nbf", "sub", "client_id", "scope"]), Claim)],
    ([claims]) =>
      Effect.sync(() => {
        const rules = { issuers: ["https://a.example"], audiences: ["https://b.example"], skew: 0 }
        assert.isTrue(ClaimRules.admit(claims, rules, 0) instanceof InvalidToken)
        const ours = { ...claims, iss: "https://a.example", aud: ["x", "https://B.example/"] }
        const admitted = ClaimRules.admit(ours, rules, 0)
        if (admitted instanceof InvalidToken) return
        assert.isString(admitted.subject)
        assert.isTrue(claims.exp === undefined || Number(claims.exp) > 0)
        assert.isTrue(claims.nbf === undefined || Number(claims.nbf) <= 0)
      })
  )
})
