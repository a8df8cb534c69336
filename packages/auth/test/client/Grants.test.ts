import * as AuthorizationCode from "@effect-mcp/auth/client/AuthorizationCode"
import * as ClientCredentials from "@effect-mcp/auth/client/ClientCredentials"
import * as EnterpriseManaged from "@effect-mcp/auth/client/EnterpriseManaged"
import { find, OAuthError } from "@effect-mcp/auth/OAuthError"
import * as WorkloadIdentity from "@effect-mcp/auth/client/WorkloadIdentity"
import * as AuthServer from "@effect-mcp/testing/auth/AuthServer"
import { assert, describe, it } from "@effect/vitest"
import { verifies } from "@effect-mcp/spec/verifies"
import { Cause, Context, Deferred, Effect, Exit, Layer, Redacted, Stream } from "effect"
import { FetchHttpClient, HttpServerResponse } from "effect/http"
import * as Jose from "jose"
import { listen, revisions } from "../server/support/protected.ts"
import * as Live from "./support/live.ts"

/** The `OAuthError` that a connection or call fails with. */
const failure = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.exit(effect), (exit) => {
    assert.isTrue(Exit.isFailure(exit))
    const error = Exit.isFailure(exit) ? find(Cause.squash(exit.cause)) : undefined
    return error ?? assert.fail(`no OAuthError: ${String(exit)}`)
  })

const keys = Effect.promise(async () => {
  const pair = await Jose.generateKeyPair("ES256", { extractable: true })
  const jwk = { ...(await Jose.exportJWK(pair.publicKey)), kid: "k1", alg: "ES256", use: "sig" }
  return { ...pair, pem: Redacted.make(await Jose.exportPKCS8(pair.privateKey)), jwks: { keys: [jwk] } }
})

describe("AuthorizationCode at our server", () => {
  for (const version of revisions)
    it.live(
      `A client logs in, calls a tool and steps up when a tool requires it, in ${version}`,
      () =>
        Effect.gen(function* () {
          const { server, url } = yield* Live.open({ guard: { scopes: ["use"] } })
          const { client } = yield* Live.connect(url, { version })
          assert.strictEqual(yield* Live.call(client, "whoami"), "alice use")
          assert.strictEqual(yield* Live.call(client, "write"), "alice use write")
          assert.strictEqual(yield* server.count("authorize"), 2)
          assert.strictEqual(yield* server.count("register"), 1)
        }),
      verifies("authorization.http.conforms")
    )

  it.live("A client described by a metadata document does not register", () =>
    Effect.gen(function* () {
      const metadataUrl = "https://client.example.com/metadata.json"
      const { server, url } = yield* Live.open({
        issuer: {
          script: {
            document: (id) =>
              Effect.succeed({
                client_id: id,
                client_name: "documented",
                redirect_uris: ["http://127.0.0.1/callback"],
                token_endpoint_auth_method: "none"
              })
          }
        }
      })
      const grant = AuthorizationCode.make({ clientName: "documented", metadataUrl })
      const { client, oauth } = yield* Live.connect(url, { grant })
      assert.strictEqual(yield* Live.call(client, "whoami"), "alice")
      assert.strictEqual((yield* oauth.whoami(url))?.clientId, metadataUrl)
      assert.strictEqual(yield* server.count("register"), 0)
    })
  )

  const isStanding = ({ headers, method = "GET" }: RequestInit): boolean => {
    const all = new Headers(headers)
    return method === "GET" ? all.has("mcp-session-id") : all.get("mcp-method") === "subscriptions/listen"
  }
  // In real time, so one revision with sessions stands for all of them.
  for (const version of ["2025-11-25", "2026-07-28"] as const)
    it.live(`A client keeps listening with a fresh token when the first one expires, in ${version}`, () =>
      Effect.gen(function* () {
        const { server, url } = yield* Live.open({ guard: { clockSkew: 0 }, issuer: { script: { lifetime: 3 } } })
        const again = yield* Deferred.make<void>()
        const tokens = new Set<string | null>()
        const watched: typeof fetch = async (input, init = {}) => {
          const response = await fetch(input, init)
          if (response.status === 200 && isStanding(init)) tokens.add(new Headers(init.headers).get("authorization"))
          if (tokens.size === 2) Deferred.doneUnsafe(again, Effect.void)
          return response
        }
        yield* Effect.gen(function* () {
          const { client } = yield* Live.connect(url, { version })
          yield* Effect.forkChild(Stream.runDrain(client.toolChanges))
          yield* Deferred.await(again)
        }).pipe(Effect.provideService(FetchHttpClient.Fetch, watched), Effect.timeout("100 seconds"))
        assert.strictEqual(yield* server.count("authorize"), 1)
      })
    )

  it.live("A refresh token is used once, and rotation keeps its family valid", () =>
    Effect.gen(function* () {
      const { server, url } = yield* Live.open({ issuer: { script: { lifetime: 0 } } })
      const { client } = yield* Live.connect(url)
      for (let round = 0; round < 3; round++) assert.strictEqual(yield* Live.call(client, "whoami"), "alice")
      assert.isAtLeast(yield* server.count("refresh_token"), 3)
      assert.strictEqual(yield* server.count("authorize"), 1)
    })
  )

  it.live("A logout also revokes the tokens at the authorization server", () =>
    Effect.gen(function* () {
      const { server, url } = yield* Live.open()
      const { client, oauth } = yield* Live.connect(url)
      yield* Live.call(client, "whoami")
      const login = yield* oauth.whoami(url)
      assert.deepInclude(login, { server: url, issuer: server.issuer, resource: url, refreshable: true, bound: false })
      assert.isTrue(yield* oauth.logout(url))
      assert.strictEqual(yield* server.count("revoke"), 2)
      assert.isUndefined(yield* oauth.whoami(url))
      assert.isFalse(yield* oauth.logout(url))
      assert.strictEqual(yield* Live.call(client, "whoami"), "alice")
      assert.strictEqual(yield* server.count("authorize"), 2)
    })
  )

  it.live("After an upfront login, the first call does not prompt the user", () =>
    Effect.gen(function* () {
      const { server, url } = yield* Live.open({ guard: { scopes: ["use"] } })
      const { client, oauth } = yield* Live.connect(url)
      const login = yield* oauth.login(url)
      assert.deepStrictEqual(login.scopes, ["use"])
      assert.strictEqual(yield* Live.call(client, "whoami"), "alice use")
      assert.strictEqual(yield* server.count("authorization_code"), 2)
    })
  )
})

describe.each(revisions)("ClientCredentials at %s", (version) => {
  for (const authMethod of ["client_secret_basic", "client_secret_post"] as const)
    it.live(
      `A client gets a token with ${authMethod}, and another when it expires`,
      () =>
        Effect.gen(function* () {
          const { server, url } = yield* Live.open({ issuer: { authMethods: [authMethod] } })
          const { clientId } = yield* server.register({ authMethod, secret: "s3cret" })
          const grant = ClientCredentials.make({
            issuer: server.issuer,
            clientId,
            clientSecret: Redacted.make("s3cret")
          })
          const { client } = yield* Live.connect(url, { version, grant })
          assert.strictEqual(yield* Live.call(client, "whoami"), clientId)
          yield* server.rotateKeys()
          assert.strictEqual(yield* server.count("client_credentials"), 1)
          const [request] = (yield* server.requests).filter(({ kind }) => kind === "client_credentials")
          assert.strictEqual(request?.params["resource"], url)
          assert.strictEqual(yield* server.count("register"), 0)
          const basic = request?.headers["authorization"]?.startsWith("Basic ") === true
          assert.deepStrictEqual(
            [basic, request?.params["client_secret"]],
            authMethod === "client_secret_basic" ? [true, undefined] : [false, "s3cret"]
          )
        }),
      verifies("client-credentials.authenticates", "client-credentials.baseline", "client-credentials.no-registration")
    )

  it.live(
    "A client authenticates with a signed assertion",
    () =>
      Effect.gen(function* () {
        const { jwks, pem } = yield* keys
        const { server, url } = yield* Live.open({ issuer: { authMethods: ["private_key_jwt"] } })
        const { clientId } = yield* server.register({ authMethod: "private_key_jwt", jwks })
        const signingKey = { key: pem, algorithm: "ES256", keyId: "k1" }
        const grant = ClientCredentials.make({ issuer: server.issuer, clientId, signingKey })
        const { client } = yield* Live.connect(url, { version, grant })
        assert.strictEqual(yield* Live.call(client, "whoami"), clientId)
        const [request] = (yield* server.requests).filter(({ kind }) => kind === "client_credentials")
        assert.strictEqual(
          request?.params["client_assertion_type"],
          "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
        )
        const { iss, sub } = Jose.decodeJwt(String(request?.params["client_assertion"]))
        assert.deepStrictEqual([iss, sub], [clientId, clientId])
      }),
    verifies("client-credentials.authenticates", "client-credentials.jwt")
  )

  it.live(
    "A client sends its secret only to its own authorization server",
    () =>
      Effect.gen(function* () {
        const { server, url } = yield* Live.open()
        const grant = ClientCredentials.make({
          issuer: "https://mine.example.com",
          clientId: "me",
          clientSecret: Redacted.make("s3cret")
        })
        const error = yield* failure(Live.connect(url, { version, grant }))
        assert.strictEqual(error.step, "registration")
        assert.strictEqual(error.expected, "https://mine.example.com")
        assert.notMatch(JSON.stringify(yield* server.requests), /s3cret/)
      }),
    verifies("authorization.client.credentials-not-reused", "client-credentials.security")
  )
})

describe.each(revisions)("EnterpriseManaged at %s", (version) => {
  const identityProvider = Effect.map(
    Layer.build(Layer.fresh(Layer.provide(AuthServer.layer(), listen()))),
    (context) => Context.get(context, AuthServer.AuthServer)
  )

  it.live(
    "A client exchanges its identity assertion for an ID-JAG, then for a token",
    () =>
      Effect.gen(function* () {
        const provider = yield* identityProvider
        const { server, url } = yield* Live.open({ issuer: { authMethods: ["client_secret_basic"] } })
        yield* server.trust(provider.issuer, yield* provider.jwks)
        const atServer = yield* server.register({
          clientId: "shared",
          authMethod: "client_secret_basic",
          secret: "s3cret"
        })
        const atProvider = yield* provider.register({
          clientId: "shared",
          authMethod: "client_secret_basic",
          secret: "at the provider"
        })
        const assertion = Effect.map(provider.idToken({ subject: "erin", clientId: atProvider.clientId }), (token) =>
          Redacted.make(token)
        )
        const grant = EnterpriseManaged.make({
          issuer: server.issuer,
          clientId: atServer.clientId,
          clientSecret: Redacted.make("s3cret"),
          identityProvider: {
            issuer: provider.issuer,
            tokenEndpoint: `${provider.issuer}/token`,
            client: { clientId: atProvider.clientId, clientSecret: Redacted.make("at the provider") },
            assertion
          }
        })
        const { client } = yield* Live.connect(url, { version, grant })
        assert.strictEqual(yield* Live.call(client, "whoami"), "erin")
        const [exchange] = (yield* provider.requests).filter(({ kind }) => kind === "token_exchange")
        const type = "urn:ietf:params:oauth:token-type"
        assert.deepInclude(exchange?.params, {
          grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
          requested_token_type: `${type}:id-jag`,
          audience: server.issuer,
          resource: url,
          subject_token_type: `${type}:id_token`
        })
        assert.strictEqual(Jose.decodeJwt(String(exchange?.params["subject_token"])).sub, "erin")
        const basic = (id: string, secret: string) => `Basic ${btoa(`${id}:${secret.replaceAll(" ", "+")}`)}`
        assert.strictEqual(exchange?.headers["authorization"], basic("shared", "at the provider"))
        const [token] = (yield* server.requests).filter(({ kind }) => kind === "jwt_bearer")
        assert.strictEqual(token?.params["grant_type"], "urn:ietf:params:oauth:grant-type:jwt-bearer")
        assert.strictEqual(token?.headers["authorization"], basic("shared", "s3cret"))
        assert.strictEqual(Jose.decodeProtectedHeader(String(token?.params["assertion"])).typ, "oauth-id-jag+jwt")
        assert.strictEqual(yield* server.count("authorize"), 0)
      }),
    verifies(
      "enterprise-authorization.exchange.request",
      "enterprise-authorization.exchange.requested-type",
      "enterprise-authorization.exchange.audience",
      "enterprise-authorization.exchange.resource",
      "enterprise-authorization.exchange.subject",
      "enterprise-authorization.exchange.client-authentication",
      "enterprise-authorization.token.grant-type",
      "enterprise-authorization.token.assertion",
      "enterprise-authorization.token.client-authentication"
    )
  )

  it.live(
    "An ID-JAG issued as another type is rejected",
    () =>
      Effect.gen(function* () {
        const provider = yield* identityProvider
        const { server, url } = yield* Live.open()
        for (const issued_token_type of ["urn:ietf:params:oauth:token-type:access_token", undefined]) {
          yield* provider.script({
            intercept: ({ kind }) =>
              Effect.succeed(
                kind === "token_exchange"
                  ? HttpServerResponse.jsonUnsafe({ access_token: "a", token_type: "N_A", issued_token_type })
                  : undefined
              )
          })
          const grant = EnterpriseManaged.make({
            issuer: server.issuer,
            clientId: "shared",
            identityProvider: {
              issuer: provider.issuer,
              tokenEndpoint: `${provider.issuer}/token`,
              client: { clientId: "shared" },
              assertion: Effect.succeed(Redacted.make("an ID token"))
            }
          })
          const error = yield* failure(Live.connect(url, { version, grant }))
          assert.match(error.message, /did not issue an ID-JAG/)
          assert.strictEqual(yield* server.count("jwt_bearer"), 0)
        }
      }),
    verifies("enterprise-authorization.exchange.issued-type")
  )

  it.live("An identity provider's rejection of the assertion is reported", () =>
    Effect.gen(function* () {
      const provider = yield* identityProvider
      yield* provider.register({ clientId: "shared" })
      const { server, url } = yield* Live.open()
      const options = {
        issuer: server.issuer,
        clientId: "shared",
        identityProvider: {
          issuer: provider.issuer,
          tokenEndpoint: `${provider.issuer}/token`,
          client: { clientId: "shared" },
          assertion: Effect.succeed(Redacted.make("not a token"))
        }
      }
      const error = yield* failure(Live.connect(url, { version, grant: EnterpriseManaged.make(options) }))
      assert.strictEqual(error.step, "identity")
      assert.strictEqual(error.url, `${provider.issuer}/token`)
      const insecure = { ...options.identityProvider, tokenEndpoint: "http://idp.example.com/token" }
      const refused = yield* failure(
        Live.connect(url, { version, grant: EnterpriseManaged.make({ ...options, identityProvider: insecure }) })
      )
      assert.match(refused.message, /identity provider is not secure/)
    })
  )
})

describe.each(revisions)("WorkloadIdentity at %s", (version) => {
  it.live("A client exchanges the platform's assertion for a token and reports a rejection", () =>
    Effect.gen(function* () {
      const platform = yield* keys
      const { server, url } = yield* Live.open()
      yield* server.trust("https://platform.example", platform.jwks)
      const { clientId } = yield* server.register({ clientId: "workload" })
      const sign = (audience: string) =>
        Effect.promise(async () =>
          Redacted.make(
            await new Jose.SignJWT({ jti: crypto.randomUUID() })
              .setProtectedHeader({ alg: "ES256", kid: "k1" })
              .setIssuer("https://platform.example")
              .setSubject("pod-7")
              .setAudience(audience)
              .setIssuedAt()
              .setExpirationTime("5m")
              .sign(platform.privateKey)
          )
        )
      const { client } = yield* Live.connect(url, {
        grant: WorkloadIdentity.make({ issuer: server.issuer, clientId, assertion: sign })
      })
      assert.strictEqual(yield* Live.call(client, "whoami"), "pod-7")
      assert.strictEqual(yield* server.count("jwt_bearer"), 1)

      const wrong = WorkloadIdentity.make({ clientId, assertion: () => sign("https://wrong.example") })
      const error = yield* failure(Live.connect(url, { version, grant: wrong }))
      assert.strictEqual(error.step, "token")
      assert.strictEqual(error.code, "invalid_grant")
      assert.strictEqual(yield* server.count("jwt_bearer"), 2)
    })
  )

  it.live("An unavailable assertion fails with the platform's error", () =>
    Effect.gen(function* () {
      const { url } = yield* Live.open()
      const assertion = () => Effect.fail(new OAuthError({ step: "identity", problem: "no token file" }))
      const error = yield* failure(
        Live.connect(url, { version, grant: WorkloadIdentity.make({ clientId: "w", assertion }) })
      )
      assert.match(error.message, /no token file/)
    })
  )
})

describe("DPoP at our server", () => {
  for (const [what, script] of [
    ["without nonces", {}],
    ["with authorization server nonces", { dpopNonce: "nonce-1" }]
  ] as const)
    it.live(`A token is bound to a key, and every request proves it, ${what}`, () =>
      Effect.gen(function* () {
        const { server, url } = yield* Live.open({ guard: { dpop: {} }, issuer: { dpop: "required", script } })
        const { client, oauth } = yield* Live.connect(url, { dpop: "prefer" })
        assert.strictEqual(yield* Live.call(client, "whoami"), "alice")
        assert.strictEqual(yield* Live.call(client, "whoami"), "alice")
        assert.isTrue((yield* oauth.whoami(url))?.bound)
        assert.isAtLeast(yield* server.count("authorization_code"), 1)
      })
    )

  it.live("A refreshed token is bound to the same key", () =>
    Effect.gen(function* () {
      const { server, url } = yield* Live.open({
        guard: { dpop: {} },
        issuer: { dpop: "required", script: { lifetime: 0 } }
      })
      const { client } = yield* Live.connect(url, { dpop: "prefer" })
      assert.strictEqual(yield* Live.call(client, "whoami"), "alice")
      assert.isAtLeast(yield* server.count("refresh_token"), 1)
      assert.strictEqual(yield* server.count("authorize"), 1)
    })
  )

  it.live("A client that requires DPoP fails if the authorization server does not support it", () =>
    Effect.gen(function* () {
      const { url } = yield* Live.open({ issuer: { dpop: "off" } })
      const error = yield* failure(Live.connect(url, { dpop: "require" }))
      assert.match(error.message, /bound to a key/)
    })
  )
})
