import * as MetadataDiscovery from "@effect-mcp/auth/client/MetadataDiscovery"
import { assert, describe, it } from "@effect/vitest"
import { verifies } from "@effect-mcp/spec/verifies"
import { Effect } from "effect"
import { HttpClientRequest } from "effect/http"
import * as World from "../client/support/world.ts"

const paths = (world: World.World) =>
  world.hits.filter(({ url }) => url.pathname.includes(".well-known")).map(({ url }) => `${url.host}${url.pathname}`)

/** A world whose metadata are wherever `at` says, by URL. */
const placed = (at: { readonly [url: string]: unknown }, challenge = "Bearer") =>
  World.make({
    challenge,
    prm: undefined,
    as: undefined,
    intercept: ({ url }) => {
      const found = at[url.href]
      return found === undefined ? undefined : found instanceof Response ? found.clone() : World.json(found)
    }
  })

const prm = { resource: World.server, authorization_servers: [World.issuer] }
const as = (issuer = World.issuer) => ({
  issuer,
  authorization_endpoint: `${World.issuer}/authorize`,
  token_endpoint: `${World.issuer}/token`,
  registration_endpoint: `${World.issuer}/register`,
  code_challenge_methods_supported: ["S256"]
})

describe.each(World.revisions)("Discovery of resource metadata at %s", (revision) => {
  const newClient = World.clientAt(revision)
  it.effect(
    "A client looks for metadata at the URL of the challenge, and nowhere else",
    () =>
      Effect.gen(function* () {
        const world = placed(
          { "https://mcp.example.com/somewhere": prm, [World.asUrl]: as() },
          'Bearer realm="x", resource_metadata="https://mcp.example.com/somewhere"'
        )
        const client = yield* newClient(world)
        assert.strictEqual(yield* client.ask(), 200)
        assert.deepStrictEqual(paths(world), ["auth.example.com/.well-known/oauth-authorization-server"])
        assert.strictEqual(world.at("https://mcp.example.com/somewhere").length, 1)
      }),
    verifies("authorization.client.resource-metadata-both", "authorization.discovery.conforms")
  )

  it.effect(
    "A client without a URL in the challenge looks at the path, then at the root",
    () =>
      Effect.gen(function* () {
        const world = placed({
          "https://mcp.example.com/.well-known/oauth-protected-resource": {
            ...prm,
            resource: "https://mcp.example.com"
          },
          [World.asUrl]: as()
        })
        const client = yield* newClient(world)
        assert.strictEqual(yield* client.ask(), 200)
        assert.deepStrictEqual(paths(world).slice(0, 2), [
          "mcp.example.com/.well-known/oauth-protected-resource/mcp",
          "mcp.example.com/.well-known/oauth-protected-resource"
        ])
      }),
    verifies("authorization.client.resource-metadata-order", "authorization.discovery.conforms")
  )

  it.effect(
    "Metadata at the path count, and not those at the root of the same host",
    () =>
      Effect.gen(function* () {
        const world = placed({
          [World.prmUrl]: prm,
          "https://mcp.example.com/.well-known/oauth-protected-resource": {
            resource: "https://mcp.example.com",
            authorization_servers: ["https://other.example.com"]
          },
          [World.asUrl]: as()
        })
        const client = yield* newClient(world)
        assert.strictEqual(yield* client.ask(), 200)
        assert.strictEqual(world.visits[0]?.origin, World.issuer)
      }),
    verifies("authorization.client.resource-metadata-order", "authorization.discovery.conforms")
  )

  it.effect("A page for people at the well-known URI is not taken for metadata", () =>
    Effect.gen(function* () {
      const world = placed({
        [World.prmUrl]: new Response("<html>", { status: 200 }),
        "https://mcp.example.com/.well-known/oauth-protected-resource": prm,
        [World.asUrl]: as()
      })
      const client = yield* newClient(world)
      assert.strictEqual(yield* client.ask(), 200)
    })
  )

  for (const resource of [
    "https://evil.example.com/mcp",
    "https://mcp.example.com.evil.org/mcp",
    "https://mcp.example.com:444/mcp",
    "https://mcp.example.com/mcp/admin",
    "https://mcp.example.com/mc",
    "https://mcp.example.com/mcp#x",
    "https://mcp.example.com/mcp?tenant=2",
    "http://mcp.example.com/mcp",
    "mcp"
  ])
    it.effect(`A client refuses metadata of another resource: ${resource}`, () =>
      Effect.gen(function* () {
        const world = World.make({ prm: { ...prm, resource } })
        const client = yield* newClient(world)
        const error = yield* World.failure(client.ask())
        assert.strictEqual(error.step, "resource-metadata")
        assert.strictEqual(error.expected, World.server)
        assert.strictEqual(error.found, resource)
        assert.deepStrictEqual(world.at(World.asUrl), [])
      })
    )

  it("A client takes metadata of the server itself and of the paths above it", () => {
    const at = new URL("https://mcp.example.com/a/b")
    for (const resource of ["https://MCP.example.com/a/b", "https://mcp.example.com/a", "https://mcp.example.com/"])
      assert.isTrue(MetadataDiscovery.speaksFor(resource, at), resource)
  })

  it.effect(
    "A client names its revision in metadata requests",
    () =>
      Effect.gen(function* () {
        const world = World.make()
        const client = yield* newClient(world)
        yield* client.ask()
        for (const url of [World.prmUrl, World.asUrl])
          assert.strictEqual(world.at(url)[0]?.headers["mcp-protocol-version"], revision)
      }),
    verifies("authorization.client.metadata-version-header")
  )

  it.effect("Metadata without an authorization server are an error that says so", () =>
    Effect.gen(function* () {
      const world = World.make({ prm: { resource: World.server } })
      const client = yield* newClient(world)
      const error = yield* World.failure(client.ask())
      assert.match(error.message, /authorization_servers/)
      assert.strictEqual(error.url, World.prmUrl)
    })
  )

  it.effect("A server that fails is an error, not a reason to look elsewhere", () =>
    Effect.gen(function* () {
      const world = placed({ [World.prmUrl]: new Response("down", { status: 503 }), [World.asUrl]: as() })
      const client = yield* newClient(world)
      const error = yield* World.failure(client.ask())
      assert.strictEqual(error.status, 503)
      assert.deepStrictEqual(paths(world), ["mcp.example.com/.well-known/oauth-protected-resource/mcp"])
    })
  )
})

describe.each(World.revisions)("Discovery of the authorization server's metadata at %s", (revision) => {
  const newClient = World.clientAt(revision)
  it.effect(
    "A client looks for metadata of an issuer with a path at two inserted paths, then at the appended path",
    () =>
      Effect.gen(function* () {
        const issuer = "https://auth.example.com/tenant1"
        const world = placed({
          [World.prmUrl]: { ...prm, authorization_servers: [issuer] },
          "https://auth.example.com/tenant1/.well-known/openid-configuration": as(issuer)
        })
        const client = yield* newClient(world)
        assert.strictEqual(yield* client.ask(), 200)
        assert.deepStrictEqual(paths(world).slice(1), [
          "auth.example.com/.well-known/oauth-authorization-server/tenant1",
          "auth.example.com/.well-known/openid-configuration/tenant1",
          "auth.example.com/tenant1/.well-known/openid-configuration"
        ])
      }),
    verifies(
      "authorization.client.metadata-order-path",
      "authorization.client.metadata-both",
      "authorization.client.metadata-several",
      "authorization.discovery.conforms"
    )
  )

  it.effect(
    "A client looks for metadata of an issuer without a path at OAuth's URI, then at OpenID's",
    () =>
      Effect.gen(function* () {
        const world = placed({
          [World.prmUrl]: prm,
          "https://auth.example.com/.well-known/openid-configuration": as()
        })
        const client = yield* newClient(world)
        assert.strictEqual(yield* client.ask(), 200)
        assert.deepStrictEqual(paths(world).slice(1), [
          "auth.example.com/.well-known/oauth-authorization-server",
          "auth.example.com/.well-known/openid-configuration"
        ])
      }),
    verifies("authorization.client.metadata-order-root")
  )

  for (const claimed of ["https://honest.example.com", "https://auth.example.com/", "https://AUTH.example.com"])
    it.effect(
      `A client refuses metadata that name another issuer, by so little as: ${claimed}`,
      () =>
        Effect.gen(function* () {
          const world = World.make()
          world.parts.as = { ...world.parts.as, issuer: claimed }
          const client = yield* newClient(world)
          const error = yield* World.failure(client.ask())
          assert.strictEqual(error.step, "server-metadata")
          assert.strictEqual(error.expected, World.issuer)
          assert.strictEqual(error.found, claimed)
          assert.strictEqual(world.visits.length, 0)
        }),
      verifies("authorization.client.metadata-issuer")
    )

  for (const status of [500, 502, 503])
    it.effect(
      `An authorization server that fails with ${status} has metadata, which the client does not look for elsewhere`,
      () =>
        Effect.gen(function* () {
          const world = placed({
            [World.prmUrl]: prm,
            [World.asUrl]: new Response("down", { status }),
            "https://auth.example.com/.well-known/openid-configuration": as()
          })
          const client = yield* newClient(world)
          const error = yield* World.failure(client.ask())
          assert.deepStrictEqual([error.step, error.status, error.url], ["server-metadata", status, World.asUrl])
          assert.strictEqual(world.visits.length, 0)
        })
    )

  it.effect("A field of metadata that is null counts as absent", () =>
    Effect.gen(function* () {
      const world = World.make()
      world.parts.as = { ...world.parts.as, scopes_supported: null, revocation_endpoint: null }
      world.parts.prm = { ...prm, scopes_supported: null }
      const client = yield* newClient(world)
      assert.strictEqual(yield* client.ask(), 200)
    })
  )

  it.effect(
    "A client follows redirects of metadata within an origin, and none to another",
    () =>
      Effect.gen(function* () {
        let location = "https://mcp.example.com/moved"
        const world = World.make({
          intercept: ({ url }) =>
            url.href === World.prmUrl
              ? new Response(null, { status: 302, headers: { location } })
              : url.href === "https://mcp.example.com/moved"
                ? World.json(prm)
                : undefined
        })
        const first = yield* newClient(world)
        assert.strictEqual(yield* first.ask(), 200)
        for (const target of ["http://169.254.169.254/latest", "http://mcp.example.com/moved", "https://10.0.0.1/x"]) {
          location = target
          const second = yield* newClient(world)
          const error = yield* World.failure(second.ask())
          assert.include(error.message, `redirect to another origin, ${new URL(target).origin}`)
          assert.deepStrictEqual(world.at(target), [])
        }
      }),
    verifies("best-practices.ssrf.redirects")
  )

  it.effect("A client reads no more of a metadata document than the limit", () =>
    Effect.gen(function* () {
      let pulled = 0
      const world = World.make({
        intercept: ({ url }) =>
          url.href === World.prmUrl
            ? new Response(
                new ReadableStream({
                  pull: (controller) => {
                    pulled++
                    controller.enqueue(new Uint8Array(64 * 1024))
                  }
                })
              )
            : undefined
      })
      const client = yield* newClient(world)
      const error = yield* World.failure(client.ask())
      assert.match(error.message, /more than 262144 bytes/)
      assert.isBelow(pulled, 10)
    })
  )
})

describe("MetadataDiscovery at servers of 2025-03-26", () => {
  it.effect(
    "A client takes the server's origin for the authorization server, and its metadata at the root",
    () =>
      Effect.gen(function* () {
        const origin = "https://mcp.example.com"
        const world = placed({
          [`${origin}/.well-known/oauth-authorization-server`]: {
            ...as(origin),
            token_endpoint: `${World.issuer}/token`
          }
        })
        const client = yield* World.client(world)
        assert.strictEqual(yield* client.ask(), 200)
        assert.strictEqual(paths(world).at(-1), "mcp.example.com/.well-known/oauth-authorization-server")
        assert.isFalse(world.visits[0]?.searchParams.has("resource"))
      }),
    verifies(
      "authorization.client.base-url",
      "authorization.client.base-url-metadata",
      "authorization.client.metadata-before-defaults"
    )
  )

  it.effect(
    "A client uses the default endpoints where there are no metadata at all",
    () =>
      Effect.gen(function* () {
        const origin = "https://mcp.example.com"
        const world = World.make({
          challenge: "",
          prm: undefined,
          as: undefined,
          intercept: ({ url }) =>
            url.href === `${origin}/register`
              ? World.json({ client_id: "c" }, 201)
              : url.href === `${origin}/token`
                ? World.json({ access_token: "at", token_type: "bearer" })
                : undefined
        })
        const client = yield* World.client(world)
        assert.strictEqual(yield* client.ask(), 200)
        assert.strictEqual(`${world.visits[0]?.origin}${world.visits[0]?.pathname}`, `${origin}/authorize`)
        assert.strictEqual(world.visits[0]?.searchParams.get("code_challenge_method"), "S256")
      }),
    verifies("authorization.client.default-paths")
  )

  it.effect(
    "A client looks at a single place for the metadata of an old authorization server",
    () =>
      Effect.gen(function* () {
        const world = placed({
          "https://mcp.example.com/.well-known/openid-configuration": as("https://mcp.example.com")
        })
        const client = yield* World.client(world)
        yield* Effect.ignore(client.ask())
        assert.deepStrictEqual(
          paths(world).filter((path) => !path.includes("oauth-protected-resource")),
          ["mcp.example.com/.well-known/oauth-authorization-server"]
        )
      }),
    verifies("authorization.client.base-url-metadata")
  )

  it.effect("A client uses no default endpoints while the server fails to answer for its metadata", () =>
    Effect.gen(function* () {
      const world = placed({
        "https://mcp.example.com/.well-known/oauth-authorization-server": new Response("down", { status: 503 })
      })
      const client = yield* World.client(world)
      const error = yield* World.failure(client.ask())
      assert.deepStrictEqual([error.step, error.status], ["server-metadata", 503])
      assert.strictEqual(world.visits.length, 0)
    })
  )

  it.effect("A client does not try the default endpoints where that is switched off", () =>
    Effect.gen(function* () {
      const world = placed({})
      const client = yield* World.client(world, { fallback: false })
      const error = yield* World.failure(client.ask())
      assert.strictEqual(error.step, "resource-metadata")
      assert.match(error.message, /oauth-protected-resource\/mcp or .*oauth-protected-resource/)
    })
  )
})

describe.each(World.revisions)("Request forgery through metadata at %s", (revision) => {
  const newClient = World.clientAt(revision)
  const names: ReadonlyArray<string> = [
    "http://169.254.169.254/latest/meta-data",
    "https://169.254.169.254/",
    "https://10.0.0.1/",
    "https://172.20.0.1/",
    "https://192.168.1.1/",
    "https://100.64.0.1/",
    "https://[fe80::1]/",
    "https://[fd00::1]/",
    "https://[::ffff:10.0.0.1]/",
    "https://[::ffff:a9fe:a9fe]/",
    "https://[64:ff9b::a9fe:a9fe]/",
    "https://[2002:a00:1::]/",
    "https://192.0.0.8/",
    "https://2852039166/",
    "https://0x7f.1/",
    "https://localhost/",
    "https://localhost./",
    "http://127.0.0.1:8080/",
    "https://[::1]/",
    "file:///etc/passwd",
    "ftp://auth.example.com/",
    "https://user:secret@auth.example.com/",
    "/relative"
  ]
  for (const name of names) {
    it.effect(
      `The challenge of a public server does not lead to ${name}`,
      () =>
        Effect.gen(function* () {
          const world = World.make({ challenge: `Bearer resource_metadata="${name}"` })
          const client = yield* newClient(world)
          const error = yield* World.failure(client.ask())
          assert.strictEqual(error.step, "resource-metadata")
          assert.strictEqual(world.hits.length, 1)
        }),
      verifies("best-practices.ssrf.mitigated", "best-practices.ssrf.private-addresses")
    )
    it.effect(
      `The metadata of a public server do not lead to ${name}`,
      () =>
        Effect.gen(function* () {
          const world = World.make({ prm: { ...prm, authorization_servers: [name] } })
          const client = yield* newClient(world)
          const error = yield* World.failure(client.ask())
          assert.strictEqual(error.step, "server-metadata")
          assert.strictEqual(world.hits.length, 2)
        }),
      verifies("best-practices.ssrf.mitigated", "best-practices.ssrf.private-addresses")
    )
  }

  for (const endpoint of ["authorization_endpoint", "token_endpoint", "registration_endpoint"])
    it.effect(
      `The ${endpoint} of a public server does not lead to private addresses, nor to anything but https`,
      () =>
        Effect.gen(function* () {
          for (const name of [
            "https://10.0.0.1/x",
            "http://auth.example.com/x",
            "javascript:alert(1)",
            "JavaScript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "vbscript:x",
            "calculator:x",
            "https://auth.example.com/$(calc)#x",
            "https://user@auth.example.com/x",
            "x & calc"
          ]) {
            const world = World.make()
            world.parts.as = { ...world.parts.as, [endpoint]: name }
            const client = yield* newClient(world)
            const error = yield* World.failure(client.ask())
            assert.match(error.message, new RegExp(endpoint))
            assert.strictEqual(world.hits.filter(({ url }) => url.href === name).length, 0)
            if (endpoint === "authorization_endpoint") assert.strictEqual(world.visits.length, 0)
          }
        }),
      verifies(
        "authorization.security.communication",
        "authorization.security.conforms",
        "best-practices.ssrf.https",
        "best-practices.urls.schemes",
        "best-practices.urls.dangerous-rejected",
        "best-practices.urls.allowlist",
        "best-practices.urls.validated"
      )
    )

  it.effect("A private address can be allowed, and is allowed where the server itself is on one", () =>
    Effect.gen(function* () {
      const issuer = "https://10.0.0.9"
      const at = (server: string) =>
        placed({
          [`${server}/.well-known/oauth-protected-resource/mcp`]: {
            resource: `${server}/mcp`,
            authorization_servers: [issuer]
          },
          [`${issuer}/.well-known/oauth-authorization-server`]: { ...as(issuer) },
          [`${server}/mcp`]: new Response("", { status: 401, headers: { "www-authenticate": "Bearer" } })
        })
      for (const [server, allowPrivate] of [
        ["https://mcp.example.com", true],
        ["https://10.0.0.5", false]
      ] as const) {
        const world = at(server)
        const client = yield* newClient(world, { allowPrivate })
        const error = yield* World.failure(client.ask(HttpClientRequest.post(`${server}/mcp`)))
        assert.strictEqual(error.step, "access")
        assert.strictEqual(world.visits.length, 1)
      }
    })
  )
})
