import * as Authorizer from "@effect-mcp/auth/client/Authorizer"
import { OAuthError } from "@effect-mcp/auth/OAuthError"
import * as Registration from "@effect-mcp/auth/client/Registration"
import * as TokenStore from "@effect-mcp/auth/client/TokenStore"
import { assert, describe, it } from "@effect/vitest"
import { verifies } from "@effect-mcp/spec/verifies"
import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import * as World from "./support/world.ts"

const register = `${World.issuer}/register`
const metadataUrl = "https://client.example.com/metadata.json"
const preRegistered = [{ issuer: World.issuer, clientId: "pre-7", clientSecret: Redacted.make("s3cret") }]

/** Runs the flow in a world with this metadata and returns the client id. */
const clientId = Effect.fnUntraced(function* (
  as: Record<string, unknown>,
  options: Parameters<typeof World.code>[0],
  world = World.make()
) {
  world.parts.as = { ...world.parts.as, ...as }
  const client = yield* World.client(world, { grant: World.code(options) })
  assert.strictEqual(yield* client.ask(), 200)
  return [world.visits.at(-1)?.searchParams.get("client_id"), world.at(register).length] as const
})

describe.each(World.revisions)("Registration at %s", (revision) => {
  const newClient = World.clientAt(revision)
  const documents = { client_id_metadata_document_supported: true }

  it.effect(
    "A client uses its registration, or else a metadata document, or else registers",
    () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* clientId(documents, { preRegistered, metadataUrl }), ["pre-7", 0])
        assert.deepStrictEqual(yield* clientId(documents, { metadataUrl }), [metadataUrl, 0])
        assert.deepStrictEqual(yield* clientId({}, { metadataUrl }), ["client-1", 1])
      }),
    verifies(
      "authorization.client.registration-order",
      "authorization.client.id-document",
      "authorization.client.id-document-checked",
      "authorization.client.static-credentials",
      "authorization.client.registration-dynamic",
      "authorization.client.id-first"
    )
  )

  it.effect("A client whose login was abandoned registers again for the next one", () =>
    Effect.gen(function* () {
      const world = World.make()
      let stuck = true
      const authorizer = Authorizer.Authorizer.of({
        open: Effect.map(world.authorizer.open, (way) => ({
          ...way,
          authorize: (url: URL) =>
            stuck
              ? // The page reports an unknown client and does not redirect.
                Effect.fail(new OAuthError({ step: "authorization", problem: "the login timed out" }))
              : way.authorize(url)
        }))
      })
      const client = yield* newClient({ ...world, authorizer })
      yield* Effect.flip(client.ask())
      stuck = false
      assert.strictEqual(yield* client.ask(), 200)
      assert.strictEqual(world.visits.at(-1)?.searchParams.get("client_id"), "client-2")
    })
  )

  it.effect("A non-interactive program can refresh tokens of user-entered credentials", () =>
    Effect.gen(function* () {
      const world = World.make({ accepts: (token) => token !== "at-1" })
      world.parts.as = {
        ...world.parts.as,
        registration_endpoint: undefined,
        token_endpoint_auth_methods_supported: ["client_secret_post"]
      }
      const ask = () => Effect.succeed({ clientId: "typed", clientSecret: Redacted.make("s3cret") })
      const first = yield* newClient(world, { grant: World.code({ ask }) })
      yield* first.oauth.login(World.server)
      const second = yield* newClient(world, {}, first.store)
      assert.strictEqual(yield* second.ask(), 200)
      const [form] = world.grants("refresh_token")
      assert.deepStrictEqual([form?.get("client_id"), form?.get("client_secret")], ["typed", "s3cret"])
    })
  )

  it.effect("A user is prompted for credentials only as a last resort", () =>
    Effect.gen(function* () {
      const ask = (issuer: string) => Effect.succeed({ clientId: `typed in for ${issuer}` })
      assert.deepStrictEqual(yield* clientId({ registration_endpoint: undefined }, { ask }), [
        `typed in for ${World.issuer}`,
        0
      ])
    })
  )

  for (const url of ["http://client.example.com/x", "https://client.example.com", "https://client.example.com/a/../b"])
    it.effect(
      `An invalid client id URL is rejected: ${url}`,
      () =>
        Effect.gen(function* () {
          const world = World.make()
          const client = yield* newClient(world, { grant: World.code({ metadataUrl: url }) })
          const error = yield* World.failure(client.ask())
          assert.strictEqual(error.step, "registration")
        }),
      verifies("authorization.client.id-document-url")
    )

  it(
    "A metadata document describes the client, with its URL as the client id",
    verifies(
      "authorization.client.id-document-fields",
      "authorization.client.id-document-matches",
      "authorization.client.id-document-rules"
    ),
    () => {
      const redirectUris = ["http://127.0.0.1/callback", "https://client.example.com/callback"] as const
      const options = { metadataUrl, clientName: "ours", redirectUris }
      const fields = { client_uri: "https://client.example.com", client_id: "not this" }
      assert.deepInclude(Registration.document({ ...options, fields }), {
        client_id: metadataUrl,
        client_name: "ours",
        redirect_uris: redirectUris,
        token_endpoint_auth_method: "none",
        client_uri: "https://client.example.com"
      })
      const signed = Registration.document({ ...options, jwks: { keys: [] } })
      assert.strictEqual(signed["token_endpoint_auth_method"], "private_key_jwt")
      assert.throws(() => Registration.document({ ...options, metadataUrl: "http://client.example.com/x" }), /https/)
      assert.throws(
        () => Registration.document({ ...options, redirectUris: ["http://evil.example.com/cb"] }),
        /loopback/
      )
    }
  )

  it.effect(
    "A client registers as a native application with its redirect URI and refresh tokens",
    () =>
      Effect.gen(function* () {
        const world = World.make()
        const client = yield* newClient(world, {
          grant: World.code({ registration: { client_uri: "https://client.example.com" } })
        })
        yield* client.ask()
        assert.deepStrictEqual(world.at(register)[0]?.json, {
          client_name: "test client",
          redirect_uris: ["http://127.0.0.1/callback"],
          grant_types: ["authorization_code", "refresh_token"],
          response_types: ["code"],
          token_endpoint_auth_method: "none",
          application_type: "native",
          client_uri: "https://client.example.com"
        })
        assert.strictEqual(world.visits[0]?.searchParams.get("redirect_uri"), "http://127.0.0.1/callback")
      }),
    verifies(
      "authorization.client.application-type",
      "authorization.client.application-type-native",
      "authorization.client.redirect-registered",
      "authorization.client.refresh-registered"
    )
  )

  it.effect(
    "An https client registers as a web application",
    () =>
      Effect.gen(function* () {
        const world = World.make({ redirectUri: "https://app.example.com/callback" })
        const client = yield* newClient(world)
        yield* client.ask()
        assert.strictEqual(world.at(register)[0]?.json.application_type, "web")
      }),
    verifies("authorization.client.application-type-web")
  )

  it.effect(
    "A rejected registration explains why and names the alternatives",
    () =>
      Effect.gen(function* () {
        const world = World.make({
          intercept: ({ url }) =>
            url.href === register
              ? World.json({ error: "invalid_redirect_uri", error_description: "loopback is not allowed" }, 400)
              : undefined
        })
        const client = yield* newClient(world)
        const error = yield* World.failure(client.ask())
        assert.strictEqual(error.step, "registration")
        assert.strictEqual(error.code, "invalid_redirect_uri")
        assert.match(error.message, /loopback is not allowed.*`preRegistered`/)
      }),
    verifies("authorization.client.registration-refused", "authorization.client.registration-reported")
  )

  it.effect("A client registers once per issuer and redirect URI", () =>
    Effect.gen(function* () {
      const world = World.make()
      const store = TokenStore.makeMemory()
      const login = Effect.gen(function* () {
        const client = yield* newClient(world, {}, store)
        yield* client.oauth.login(World.server)
      })
      yield* login
      yield* login
      assert.strictEqual(world.at(register).length, 1)
      world.parts.redirectUri = "http://127.0.0.1:1234/callback"
      yield* login
      assert.strictEqual(world.at(register).length, 2)
    })
  )

  it.effect("A client registers again when its secret expires", () =>
    Effect.gen(function* () {
      const world = World.make({
        intercept: ({ url }) =>
          url.href === register
            ? World.json({ client_id: "c", client_secret: "s", client_secret_expires_at: 100 }, 201)
            : undefined
      })
      const client = yield* newClient(world)
      yield* client.oauth.login(World.server)
      yield* TestClock.adjust("99 seconds")
      yield* client.oauth.login(World.server)
      assert.strictEqual(world.at(register).length, 1)
      yield* TestClock.adjust("1 second")
      yield* client.oauth.login(World.server)
      assert.strictEqual(world.at(register).length, 2)
    })
  )

  it.effect("A client registers again when the authorization server forgets it", () =>
    Effect.gen(function* () {
      let known = true
      const world = World.make({
        intercept: ({ form }) =>
          form.get("grant_type") === "authorization_code" && !known
            ? World.json({ error: "invalid_client" }, 401)
            : undefined
      })
      const client = yield* newClient(world)
      known = false
      const error = yield* World.failure(client.ask())
      assert.strictEqual(error.code, "invalid_client")
      known = true
      assert.strictEqual(yield* client.ask(), 200)
      assert.strictEqual(world.at(register).length, 2)
    })
  )

  it.effect(
    "A registration is never sent to other issuers",
    () =>
      Effect.gen(function* () {
        const world = World.make()
        world.parts.as = { ...world.parts.as, registration_endpoint: undefined }
        const client = yield* newClient(world, {
          grant: World.code({ preRegistered: [{ ...preRegistered[0]!, issuer: "https://old.example.com" }] })
        })
        const error = yield* World.failure(client.ask())
        assert.strictEqual(error.step, "registration")
        assert.match(error.message, /old\.example\.com.*auth\.example\.com/)
        assert.isTrue(world.hits.every((hit) => !`${hit.text}${hit.url.href}`.includes("pre-7")))
      }),
    verifies(
      "authorization.client.credentials-not-reused",
      "authorization.client.credentials-bound",
      "authorization.client.mismatch-reported"
    )
  )
})
