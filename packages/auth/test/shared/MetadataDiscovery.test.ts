import * as MetadataDiscovery from "@effect-mcp/auth/client/MetadataDiscovery"
import { assert, describe, it } from "@effect/vitest"
import { verifies } from "@effect-mcp/spec/verifies"
import { Effect } from "effect"
import { HttpClientRequest } from "effect/http"
import * as World from "../client/support/world.ts"

const paths = (world: World.World) =>
  world.hits.filter(({ url }) => url.pathname.includes(".well-known")).map(({ url }) => `${url.host}${url.pathname}`)

/** A world with the metadata documents in `at`, by URL. */
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

describe.each(World.revisions)("Resource metadata discovery at %s", (revision) => {
  const newClient = World.clientAt(revision)
  it.effect(
    "Metadata is looked up only at the challenge's URL",
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
    "Without a URL in the challenge, metadata is looked up at the path, then at the root",
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
    "Metadata at the path takes precedence over metadata at the host's root",
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

  it.effect("An HTML page at the well-known URI is not accepted as metadata", () =>
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

  // Before 2025-06-18 the specification names only one URI.
  if (revision !== "2025-03-26")
    it.effect("An HTML page at an issuer's first URI does not hide metadata at the next one", () =>
      Effect.gen(function* () {
        const world = placed({
          [World.prmUrl]: prm,
          [World.asUrl]: new Response("<html>", { status: 200 }),
          [`${World.issuer}/.well-known/openid-configuration`]: as()
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
    it.effect(`Another resource's metadata is rejected: ${resource}`, () =>
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

  it("Metadata of the server itself or a path above it is accepted", () => {
    const at = new URL("https://mcp.example.com/a/b")
    for (const resource of ["https://MCP.example.com/a/b", "https://mcp.example.com/a", "https://mcp.example.com/"])
      assert.isTrue(MetadataDiscovery.speaksFor(resource, at), resource)
  })

  it.effect(
    "Metadata requests name the client's revision",
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

  it.effect("Metadata without an authorization server fails with a clear error", () =>
    Effect.gen(function* () {
      const world = World.make({ prm: { resource: World.server } })
      const client = yield* newClient(world)
      const error = yield* World.failure(client.ask())
      assert.match(error.message, /authorization_servers/)
      assert.strictEqual(error.url, World.prmUrl)
    })
  )

  it.effect("A failing server is an error and other locations are not tried", () =>
    Effect.gen(function* () {
      const world = placed({ [World.prmUrl]: new Response("down", { status: 503 }), [World.asUrl]: as() })
      const client = yield* newClient(world)
      const error = yield* World.failure(client.ask())
      assert.strictEqual(error.status, 503)
      assert.deepStrictEqual(paths(world), ["mcp.example.com/.well-known/oauth-protected-resource/mcp"])
    })
  )
})

describe.each(World.revisions)("Authorization server metadata discovery at %s", (revision) => {
  const newClient = World.clientAt(revision)
  it.effect(
    "Metadata of an issuer with a path is looked up at its three well-known URIs",
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
    "Metadata of an issuer without a path is looked up at OAuth's URI, then OpenID's",
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
      `Metadata naming even a slightly different issuer is rejected: ${claimed}`,
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
    it.effect(`A ${status} from the authorization server ends the lookup`, () =>
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

  it.effect("A null metadata field counts as missing", () =>
    Effect.gen(function* () {
      const world = World.make()
      world.parts.as = { ...world.parts.as, scopes_supported: null, revocation_endpoint: null }
      world.parts.prm = { ...prm, scopes_supported: null }
      const client = yield* newClient(world)
      assert.strictEqual(yield* client.ask(), 200)
    })
  )

  it.effect(
    "Metadata redirects are followed only within an origin",
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

  it.effect("A metadata document is read only up to the size limit", () =>
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

describe("MetadataDiscovery at 2025-03-26 servers", () => {
  it.effect(
    "The server's origin is used as the authorization server",
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
    "Default endpoints are used if there is no metadata at all",
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
    "A legacy authorization server's metadata is looked up in one place only",
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

  it.effect("Default endpoints are not used while the metadata request fails", () =>
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

  it.effect("Default endpoints are not tried if disabled", () =>
    Effect.gen(function* () {
      const world = placed({})
      const client = yield* World.client(world, { fallback: false })
      const error = yield* World.failure(client.ask())
      assert.strictEqual(error.step, "resource-metadata")
      assert.match(error.message, /oauth-protected-resource\/mcp or .*oauth-protected-resource/)
    })
  )
})

describe.each(World.revisions)("Server-side request forgery through metadata at %s", (revision) => {
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
      `A public server's challenge does not lead to ${name}`,
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
      `A public server's metadata does not lead to ${name}`,
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
      `A public server's ${endpoint} leads neither to private addresses nor to non-https URLs`,
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

  it.effect("A private address can be allowed, and is if the server is private itself", () =>
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
