import { assert, describe, it } from "@effect/vitest"
import { verifies } from "@effect-mcp/spec/verifies"
import { Effect } from "effect"
import { HttpClientRequest } from "effect/http"
import { createHash } from "node:crypto"
import * as World from "./support/world.ts"

const asked = (world: World.World, index = 0) => world.visits[index]!.searchParams

/** Runs the flow and returns its error. Checks that the code was not sent anywhere. */
const refusedBy = (newClient: ReturnType<typeof World.clientAt>) =>
  Effect.fnUntraced(function* (redirect: World.Parts["redirect"], as: Record<string, unknown> = {}) {
    const world = World.make({ redirect })
    world.parts.as = { ...world.parts.as, ...as }
    const client = yield* newClient(world)
    const error = yield* World.failure(client.ask())
    assert.strictEqual(error.step, "authorization")
    assert.deepStrictEqual(world.grants("authorization_code"), [])
    return error
  })

describe.each(World.revisions)("AuthorizationCode at %s", (revision) => {
  const newClient = World.clientAt(revision)
  const refused = refusedBy(newClient)
  it.effect(
    "A login uses PKCE with S256 to prove that the same client started it",
    () =>
      Effect.gen(function* () {
        const world = World.make()
        const client = yield* newClient(world)
        yield* client.ask()
        const [form] = world.grants("authorization_code")
        const verifier = form?.get("code_verifier") ?? ""
        assert.match(verifier, /^[A-Za-z0-9_-]{43}$/)
        assert.strictEqual(asked(world).get("code_challenge_method"), "S256")
        assert.strictEqual(
          asked(world).get("code_challenge"),
          createHash("sha256").update(verifier).digest("base64url")
        )
        assert.strictEqual(form?.get("code"), "code-1")
        for (const name of ["redirect_uri", "client_id"]) assert.strictEqual(form?.get(name), asked(world).get(name))
      }),
    verifies("authorization.client.pkce", "authorization.client.pkce-s256", "authorization.security.best-practices")
  )

  it.effect("States and verifiers are never reused", () =>
    Effect.gen(function* () {
      const world = World.make()
      yield* (yield* newClient(world)).ask()
      yield* (yield* newClient(world)).ask()
      assert.notStrictEqual(asked(world).get("state"), asked(world, 1).get("state"))
      const [first, second] = world.grants("authorization_code")
      assert.notStrictEqual(first?.get("code_verifier"), second?.get("code_verifier"))
    })
  )

  it.effect(
    "A login names the resource in both requests exactly as its metadata does",
    () =>
      Effect.gen(function* () {
        const resource = "https://MCP.example.com/mcp"
        const world = World.make({ prm: { resource, authorization_servers: [World.issuer] } })
        const client = yield* newClient(world)
        yield* client.ask()
        assert.strictEqual(asked(world).get("resource"), resource)
        assert.strictEqual(world.grants("authorization_code")[0]?.get("resource"), resource)
      }),
    verifies(
      "authorization.client.resource-indicators",
      "authorization.client.resource-in-both",
      "authorization.client.resource-identifies",
      "authorization.client.resource-canonical",
      "authorization.client.resource-specific",
      "authorization.resource-case"
    )
  )

  for (const [kind, changes] of [
    ["with client registration", {}],
    ["without client registration", { registration_endpoint: undefined }],
    ["with protected resources in its metadata", { protected_resources: [World.server] }],
    ["for OpenID Connect", { userinfo_endpoint: `${World.issuer}/me`, subject_types_supported: ["public"] }]
  ] as const)
    it.effect(
      `An authorization server ${kind} receives the resource for authorization, code and refresh`,
      () =>
        Effect.gen(function* () {
          const world = World.make()
          world.parts.as = { ...world.parts.as, ...changes }
          const preRegistered = [{ issuer: World.issuer, clientId: "mine" }]
          const client = yield* newClient(world, { grant: World.code({ preRegistered }) })
          assert.strictEqual(yield* client.ask(), 200)
          world.parts.accepts = (token) => token === "at-2"
          assert.strictEqual(yield* client.ask(), 200)
          assert.strictEqual(asked(world).get("resource"), World.server)
          assert.deepStrictEqual(
            [...world.grants("authorization_code"), ...world.grants("refresh_token")].map((form) =>
              form.get("resource")
            ),
            [World.server, World.server]
          )
        }),
      verifies("authorization.client.resource-always", "authorization.client.resource-indicators")
    )

  it.effect(
    "A login does not append a slash to the resource",
    () =>
      Effect.gen(function* () {
        const origin = "https://mcp.example.com"
        const world = World.make({
          challenge: "Bearer",
          intercept: ({ headers, url }) =>
            url.href === `${origin}/.well-known/oauth-protected-resource`
              ? World.json({ resource: origin, authorization_servers: [World.issuer] })
              : url.href === `${origin}/`
                ? new Response("", { status: headers["authorization"] === undefined ? 401 : 200 })
                : undefined
        })
        const client = yield* newClient(world)
        assert.strictEqual(yield* client.ask(HttpClientRequest.post(origin)), 200)
        assert.strictEqual(asked(world).get("resource"), origin)
      }),
    verifies("authorization.resource-no-trailing-slash")
  )

  it.effect("A login keeps the authorization endpoint's existing query", () =>
    Effect.gen(function* () {
      const world = World.make()
      world.parts.as = { ...world.parts.as, authorization_endpoint: `${World.issuer}/authorize?tenant=7` }
      const client = yield* newClient(world)
      yield* client.ask()
      assert.strictEqual(asked(world).get("tenant"), "7")
    })
  )

  for (const [what, methods] of [
    ["omits PKCE", undefined],
    ["offers only plain", ["plain"]]
  ] as const)
    it.effect(
      `An authorization server whose metadata ${what} is rejected`,
      () =>
        Effect.gen(function* () {
          const world = World.make()
          world.parts.as = { ...world.parts.as, code_challenge_methods_supported: methods }
          const client = yield* newClient(world)
          const error = yield* World.failure(client.ask())
          assert.strictEqual(error.step, "server-metadata")
          assert.match(error.message, /PKCE/)
          assert.strictEqual(world.visits.length, 0)
        }),
      verifies(
        "authorization.client.pkce-verified",
        "authorization.client.pkce-by-metadata",
        "authorization.client.pkce-absent-refused"
      )
    )

  it.effect(
    "OpenID metadata without PKCE support is rejected",
    () =>
      Effect.gen(function* () {
        const openid = `${World.issuer}/.well-known/openid-configuration`
        const world = World.make()
        const as = { ...world.parts.as, code_challenge_methods_supported: undefined }
        world.parts.as = undefined
        world.parts.intercept = ({ url }) => (url.href === openid ? World.json(as) : undefined)
        const client = yield* newClient(world)
        const error = yield* World.failure(client.ask())
        assert.match(error.message, /PKCE/)
        assert.strictEqual(world.visits.length, 0)
      }),
    verifies("authorization.client.pkce-absent-refused-oidc")
  )

  for (const redirectUri of ["http://evil.example.com/callback", "myapp://callback", "https://x.example/cb#f"])
    it.effect(
      `An unsafe redirect URI is rejected: ${redirectUri}`,
      () =>
        Effect.gen(function* () {
          const world = World.make({ redirectUri })
          const client = yield* newClient(world)
          const error = yield* World.failure(client.ask())
          assert.match(error.message, /redirect URI/)
          assert.strictEqual(world.visits.length, 0)
        }),
      verifies("authorization.redirect-uri")
    )

  describe("Authorization responses", () => {
    it.effect(
      "A response with a different state is discarded",
      () =>
        Effect.gen(function* () {
          const error = yield* refused((answer) => answer.set("state", "foreign"))
          assert.match(error.message, /different login/)
        }),
      verifies("authorization.client.state")
    )

    it.effect("A response without a state or with two states is discarded", () =>
      Effect.gen(function* () {
        yield* refused((answer) => answer.delete("state"))
        yield* refused((answer) => answer.append("state", answer.get("state") ?? ""))
      })
    )

    it.effect("A response without a code, or with an empty or duplicate code, is discarded", () =>
      Effect.gen(function* () {
        for (const change of [
          (answer: URLSearchParams) => answer.delete("code"),
          (answer: URLSearchParams) => answer.set("code", ""),
          (answer: URLSearchParams) => answer.append("code", "code-2")
        ]) {
          const error = yield* refused(change)
          assert.match(error.message, /no code/)
        }
      })
    )

    const wrong = [
      "https://evil.example.com",
      "https://auth.example.com/",
      "https://AUTH.example.com",
      "https://auth.example.com:443",
      "https://auth.example.com/%2e",
      ""
    ]
    for (const advertised of [true, false])
      for (const iss of wrong)
        it.effect(
          `A response from issuer ${JSON.stringify(iss)}, ${advertised ? "" : "not "}advertised, is discarded`,
          () =>
            Effect.gen(function* () {
              const error = yield* refused((answer) => answer.set("iss", iss), {
                authorization_response_iss_parameter_supported: advertised
              })
              assert.match(error.message, /authorization server it comes from|different authorization server/)
            }),
          verifies(
            "authorization.client.iss-validated",
            "authorization.client.iss-exact",
            "authorization.client.issuer-recorded"
          )
        )

    it.effect("A response without the advertised issuer, or with two issuers, is discarded", () =>
      Effect.gen(function* () {
        yield* refused(() => {}, { authorization_response_iss_parameter_supported: true })
        yield* refused((answer) => {
          answer.append("iss", World.issuer)
          answer.append("iss", World.issuer)
        })
      })
    )

    it.effect(
      "A response from another issuer is discarded without revealing any of its text",
      () =>
        Effect.gen(function* () {
          const error = yield* refused((answer) => {
            answer.set("iss", "https://evil.example.com")
            answer.set("error", "call_this_number")
            answer.set("error_description", "Your account is locked, call +1 555 0100")
            answer.set("error_uri", "https://evil.example.com/help")
          })
          assert.notMatch(`${error.message} ${JSON.stringify(error)}`, /call|locked|evil/)
          assert.isUndefined(error.code)
        }),
      verifies("authorization.client.iss-error-hidden")
    )
  })

  it.effect("A response with the right issuer is accepted, or without one if none is advertised", () =>
    Effect.gen(function* () {
      for (const advertised of [true, false]) {
        const world = World.make({ redirect: (answer) => answer.set("iss", World.issuer) })
        world.parts.as = { ...world.parts.as, authorization_response_iss_parameter_supported: advertised }
        assert.strictEqual(yield* (yield* newClient(world)).ask(), 200)
      }
      assert.strictEqual(yield* (yield* newClient(World.make())).ask(), 200)
    })
  )

  it.effect("An error shows the authorization server's reason as one printable line", () =>
    Effect.gen(function* () {
      const error = yield* refused((answer) => {
        answer.set("error", "invalid_scope")
        answer.set("error_description", `no\u001b[31m such\nscope ${"x".repeat(500)}`)
      })
      assert.strictEqual(error.code, "invalid_scope")
      assert.match(error.found ?? "", /^no\\u001b\[31m such\\u000ascope x+…$/)
      assert.isBelow(error.found?.length ?? 0, 215)
    })
  )

  describe("Offline access", () => {
    const offline = { scopes_supported: ["a", "offline_access"] }
    const flow = Effect.fnUntraced(function* (as: object, options: object = {}, scope = ' scope="a"') {
      const world = World.make({ challenge: `Bearer resource_metadata="${World.prmUrl}",${scope}` })
      world.parts.as = { ...world.parts.as, ...as }
      const client = yield* newClient(world, { grant: World.code(options) })
      yield* client.ask()
      return asked(world)
    })

    it.effect("Offline access is requested with the user's consent if the authorization server offers it", () =>
      Effect.gen(function* () {
        const query = yield* flow(offline)
        assert.strictEqual(query.get("scope"), "a offline_access")
        assert.strictEqual(query.get("prompt"), "consent")
      })
    )

    it.effect("Offline access is not requested without server support, against the options, or as the only scope", () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* flow({ scopes_supported: ["a"] })).get("scope"), "a")
        assert.strictEqual((yield* flow({})).get("scope"), "a")
        assert.strictEqual((yield* flow(offline, { offlineAccess: false })).get("scope"), "a")
        assert.isFalse((yield* flow(offline, {}, "")).has("scope"))
      })
    )
  })

  describe("Invalid token responses", () => {
    const bodies: ReadonlyArray<readonly [string, Record<string, unknown>]> = [
      ["no token", { access_token: undefined }],
      ["an empty token", { access_token: "" }],
      ["a token that would break out of its header", { access_token: "a\r\nSet-Cookie: b" }],
      ["an unsupported token type", { token_type: "mac" }],
      ["an unrequested key-bound token", { token_type: "DPoP" }]
    ]
    for (const [what, change] of bodies)
      it.effect(`A token response is rejected: ${what}`, () =>
        Effect.gen(function* () {
          const world = World.make({ token: (body) => ({ ...body, ...change }) })
          const client = yield* newClient(world)
          const error = yield* World.failure(client.ask())
          assert.strictEqual(error.step, "token")
          assert.strictEqual(error.url, `${World.issuer}/token`)
        })
      )

    it.effect("A token endpoint's redirect is not followed, and the code is sent nowhere else", () =>
      Effect.gen(function* () {
        const world = World.make({
          intercept: ({ url }) =>
            url.pathname === "/token"
              ? new Response(null, { status: 307, headers: { location: `${World.issuer}/elsewhere` } })
              : undefined
        })
        const client = yield* newClient(world)
        const error = yield* World.failure(client.ask())
        assert.match(error.message, /redirect \(307\)/)
        assert.deepStrictEqual(world.at(`${World.issuer}/elsewhere`), [])
      })
    )

    it.effect("A token endpoint error is reported with its code", () =>
      Effect.gen(function* () {
        const world = World.make({
          intercept: ({ url }) =>
            url.pathname === "/token"
              ? World.json({ error: "invalid_grant", error_description: "the code is old" }, 400)
              : undefined
        })
        const client = yield* newClient(world)
        const error = yield* World.failure(client.ask())
        assert.deepStrictEqual(
          [error.step, error.status, error.code, error.found],
          ["token", 400, "invalid_grant", "the code is old"]
        )
      })
    )
  })
})
