/** Clients that log in, from the official SDKs and the shim, with the same provider and servers. */
import type { AuthProvider, OAuthClientProvider } from "@effect-mcp/compat/client"
import * as Shim from "@effect-mcp/compat/client"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import * as Jose from "jose"
import { type Guarded, guarded } from "./support/guarded.ts"
import { clientV1, clientV2, type Kind, kinds } from "./support/modules.ts"
import { callback, failureOf, MemoryProvider } from "./support/provider.ts"

interface Caller {
  readonly open: () => Promise<void>
  readonly call: (tool?: string) => Promise<string>
  readonly finish: (answer: URLSearchParams) => Promise<void>
  readonly close: () => Promise<void>
}
type Given = AuthProvider | OAuthClientProvider
type MakeCaller = (url: URL, provider: Given) => Promise<Caller>

const textOf = (result: { readonly content: ReadonlyArray<object> }): string => String(Object(result.content[0]).text)

const v2 =
  (kind: Kind, mode: "legacy" | "auto"): MakeCaller =>
  async (url, authProvider) => {
    const { Client, StreamableHTTPClientTransport } = await clientV2(kind)
    const client = new Client({ name: "tester", version: "1.0.0" }, { versionNegotiation: { mode } })
    const transport = new StreamableHTTPClientTransport(url, { authProvider })
    return {
      open: () => client.connect(transport),
      call: async (name = "whoami") => textOf(await client.callTool({ name, arguments: {} })),
      finish: (answer) => transport.finishAuth(answer),
      close: () => client.close()
    }
  }

const v1 =
  (kind: Kind): MakeCaller =>
  async (url, authProvider) => {
    const { Client, StreamableHTTPClientTransport } = await clientV1(kind)
    const client = new Client({ name: "tester", version: "1.0.0" })
    const transport = new StreamableHTTPClientTransport(url, { authProvider })
    return {
      open: () => client.connect(transport),
      call: async (name = "whoami") => textOf(await client.callTool({ name, arguments: {} })),
      finish: (answer) => transport.finishAuth(answer.get("code") ?? ""),
      close: () => client.close()
    }
  }

/** A caller that ends with the scope. */
const callerOf = (make: MakeCaller, url: URL, provider: Given): Effect.Effect<Caller, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() => make(url, provider)),
    ({ close }) => Effect.promise(close)
  )

/** Connects a client that is rejected, plays its user, and connects another client with the credentials that the provider saved. */
const loggedIn = Effect.fnUntraced(function* (make: MakeCaller, { authority, url }: Guarded, provider: MemoryProvider) {
  const refused = yield* callerOf(make, url, provider)
  assert.strictEqual((yield* Effect.promise(() => failureOf(refused.open()))).constructor.name, "UnauthorizedError")
  const back = yield* authority.visit(provider.page)
  yield* Effect.promise(() => refused.finish(back.searchParams))
  const caller = yield* callerOf(make, url, provider)
  yield* Effect.promise(caller.open)
  return caller
})

const clients = kinds.flatMap((kind) => [
  { client: `v2 of the ${kind}, in 2026-07-28`, make: v2(kind, "auto"), kind },
  { client: `v2 of the ${kind}, in a session`, make: v2(kind, "legacy"), kind },
  { client: `v1 of the ${kind}`, make: v1(kind), kind }
])

describe.each(clients)("Login with the $client client", ({ kind, make }) => {
  it.live("A rejected client registers, sends its user to the page, and logs in with the code", () =>
    Effect.gen(function* () {
      const server = yield* guarded()
      const provider = new MemoryProvider()
      const caller = yield* loggedIn(make, server, provider)
      assert.strictEqual(yield* Effect.promise(() => caller.call()), "alice: use")
      const asked = Object.fromEntries(provider.page.searchParams)
      assert.deepInclude(asked, { scope: "use", resource: server.resource, code_challenge_method: "S256" })
      assert.deepInclude(provider.client, { client_name: "tester", redirect_uris: [callback] })
      assert.strictEqual(yield* server.authority.count("register"), 1)
      assert.strictEqual(yield* server.authority.count("authorization_code"), 1)
    })
  )

  it.live("A rejected token is refreshed without prompting the user", () =>
    Effect.gen(function* () {
      const server = yield* guarded()
      const provider = new MemoryProvider()
      const caller = yield* loggedIn(make, server, provider)
      const { refresh_token } = provider.saved ?? assert.fail("no tokens were saved")
      provider.saved = { ...provider.saved, access_token: "stale", token_type: "Bearer" }
      assert.strictEqual(yield* Effect.promise(() => caller.call()), "alice: use")
      assert.notStrictEqual(provider.saved?.refresh_token, refresh_token)
      assert.strictEqual(provider.pages.length, 1)
      assert.strictEqual(yield* server.authority.count("refresh_token"), 1)
    })
  )

  it.live("A client with a secret gets its token without a user", () =>
    Effect.gen(function* () {
      const { authority, url } = yield* guarded()
      const registered = yield* authority.register({
        secret: "secret",
        authMethod: "client_secret_basic",
        grantTypes: ["client_credentials"]
      })
      const { ClientCredentialsProvider } = yield* Effect.promise(() => clientV1(kind))
      const options = { clientId: registered.clientId, clientSecret: "secret", scope: "use" }
      const caller = yield* callerOf(make, url, new ClientCredentialsProvider(options))
      yield* Effect.promise(caller.open)
      assert.include(yield* Effect.promise(() => caller.call()), "use")
      assert.strictEqual(yield* authority.count("client_credentials"), 1)
    })
  )

  it.live("A client with a private key gets its token without a user", () =>
    Effect.gen(function* () {
      const { authority, url } = yield* guarded()
      const { privateKey, publicKey } = yield* Effect.promise(() =>
        Jose.generateKeyPair("ES256", { extractable: true })
      )
      const registered = yield* authority.register({
        authMethod: "private_key_jwt",
        grantTypes: ["client_credentials"],
        jwks: { keys: [yield* Effect.promise(() => Jose.exportJWK(publicKey))] }
      })
      const { PrivateKeyJwtProvider } = yield* Effect.promise(() => clientV1(kind))
      const pem = yield* Effect.promise(() => Jose.exportPKCS8(privateKey))
      const options = { clientId: registered.clientId, privateKey: pem, algorithm: "ES256", scope: "use" }
      const caller = yield* callerOf(make, url, new PrivateKeyJwtProvider(options))
      yield* Effect.promise(caller.open)
      assert.include(yield* Effect.promise(() => caller.call()), "use")
    })
  )
})

// The official v1 client refreshes its token instead, and the new token lacks the scope again.
describe.each(clients.filter(({ client }) => client !== "v1 of the official"))(
  "Step-up with the $client client",
  ({ kind, make }) => {
    it.live("A client with a secret adds the scopes required by the server", () =>
      Effect.gen(function* () {
        const { authority, url } = yield* guarded()
        const registered = yield* authority.register({
          secret: "secret",
          authMethod: "client_secret_basic",
          grantTypes: ["client_credentials"]
        })
        const { ClientCredentialsProvider } = yield* Effect.promise(() => clientV1(kind))
        const options = { clientId: registered.clientId, clientSecret: "secret", scope: "use" }
        const caller = yield* callerOf(make, url, new ClientCredentialsProvider(options))
        yield* Effect.promise(caller.open)
        assert.include(yield* Effect.promise(() => caller.call("write")), "files:write")
      })
    )

    it.live("A tool that needs another scope sends the user to the page for all scopes", () =>
      Effect.gen(function* () {
        const server = yield* guarded()
        const provider = new MemoryProvider()
        const caller = yield* loggedIn(make, server, provider)
        yield* Effect.promise(() => failureOf(caller.call("write")))
        const scopes = new Set(provider.page.searchParams.get("scope")?.split(" "))
        assert.isTrue(scopes.has("files:write") && scopes.has("use"))
        const back = yield* server.authority.visit(provider.page)
        yield* Effect.promise(() => caller.finish(back.searchParams))
        assert.match(yield* Effect.promise(() => caller.call("write")), /files:write/)
      })
    )
  }
)

describe.each(kinds)("Token providers, with the %s", (kind) => {
  it.live("A request is retried if its provider has another token", () =>
    Effect.gen(function* () {
      const { authority, resource, url } = yield* guarded()
      const good = yield* authority.issue({ scopes: ["use"], resources: [resource] })
      let token = "stale"
      const told: Array<string> = []
      const provider: AuthProvider = {
        token: async () => token,
        onUnauthorized: async ({ response, serverUrl }) => {
          told.push(`${response.status} ${serverUrl.href}`)
          token = good
        }
      }
      const caller = yield* callerOf(v2(kind, "auto"), url, provider)
      yield* Effect.promise(caller.open)
      assert.strictEqual(yield* Effect.promise(() => caller.call()), "alice: use")
      assert.deepStrictEqual(told, [`401 ${url.href}`])
    })
  )

  it.live("Connecting rejects as unauthorized if the provider has no other token", () =>
    Effect.gen(function* () {
      const { url } = yield* guarded()
      const caller = yield* callerOf(v2(kind, "auto"), url, { token: async () => "stale" })
      assert.strictEqual((yield* Effect.promise(() => failureOf(caller.open()))).name, "UnauthorizedError")
    })
  )
})

describe("Login on the compatibility layer", () => {
  const make = v2("shim", "auto")

  it.live("A code whose response names another authorization server is not used", () =>
    Effect.gen(function* () {
      const { authority, url } = yield* guarded()
      const provider = new MemoryProvider()
      const caller = yield* callerOf(make, url, provider)
      yield* Effect.promise(() => failureOf(caller.open()))
      const { searchParams } = yield* authority.visit(provider.page)
      for (const iss of ["https://evil.example", `${authority.issuer}/`, undefined]) {
        searchParams.delete("iss")
        if (iss !== undefined) searchParams.set("iss", iss)
        const error = yield* Effect.promise(() => failureOf(caller.finish(searchParams)))
        assert.strictEqual(error.name, "IssuerMismatchError")
      }
      assert.strictEqual(yield* authority.count("authorization_code"), 0)
    })
  )

  it.live("A secret saved for one authorization server is not sent to another", () =>
    Effect.gen(function* () {
      const { authority, url } = yield* guarded()
      const options = { clientId: "client", clientSecret: "secret", expectedIssuer: "https://other.example" }
      const caller = yield* callerOf(make, url, new Shim.ClientCredentialsProvider(options))
      const error = yield* Effect.promise(() => failureOf(caller.open()))
      assert.strictEqual(error.name, "AuthorizationServerMismatchError")
      assert.strictEqual(yield* authority.count("client_credentials"), 0)
    })
  )

  it.live("A client registered with another authorization server registers again", () =>
    Effect.gen(function* () {
      const server = yield* guarded()
      const provider = new MemoryProvider()
      provider.client = { client_id: "foreign", issuer: "https://other.example" }
      provider.saved = {
        access_token: "stale",
        token_type: "Bearer",
        refresh_token: "foreign",
        issuer: "https://other.example"
      }
      yield* loggedIn(make, server, provider)
      assert.strictEqual(provider.client?.issuer, server.authority.issuer)
      assert.notStrictEqual(provider.client?.client_id, "foreign")
      assert.strictEqual(yield* server.authority.count("refresh_token"), 0)
    })
  )

  it.live("A client forgotten by its authorization server registers again", () =>
    Effect.gen(function* () {
      const server = yield* guarded()
      const provider = new MemoryProvider()
      yield* loggedIn(make, server, provider)
      provider.client = { ...provider.client, client_id: "unknown" }
      provider.saved = { access_token: "stale", token_type: "Bearer", refresh_token: "unknown" }
      const caller = yield* callerOf(make, server.url, provider)
      yield* Effect.promise(() => failureOf(caller.open()))
      assert.deepStrictEqual(provider.forgotten, ["all"])
      assert.strictEqual(yield* server.authority.count("register"), 2)
    })
  )

  it.live("Concurrently rejected requests share one refresh", () =>
    Effect.gen(function* () {
      const server = yield* guarded()
      const provider = new MemoryProvider()
      const caller = yield* loggedIn(make, server, provider)
      provider.saved = { token_type: "Bearer", ...provider.saved, access_token: "stale" }
      const texts = yield* Effect.promise(() => Promise.all([caller.call(), caller.call(), caller.call()]))
      assert.deepStrictEqual(texts, ["alice: use", "alice: use", "alice: use"])
      assert.strictEqual(yield* server.authority.count("refresh_token"), 1)
    })
  )

  it.live("An authorization server without PKCE gets neither a registration nor the user", () =>
    Effect.gen(function* () {
      const metadata = (document: object) => ({ ...document, code_challenge_methods_supported: ["plain"] })
      const { authority, url } = yield* guarded({ script: { metadata } })
      const provider = new MemoryProvider()
      const caller = yield* callerOf(make, url, provider)
      const error = yield* Effect.promise(() => failureOf(caller.open()))
      assert.strictEqual(error.name, "OAuthClientFlowError")
      assert.include(error.message, "PKCE")
      assert.strictEqual(yield* authority.count("register"), 0)
      assert.deepStrictEqual(provider.pages, [])
    })
  )

  it.live("Missing scopes reject the request without prompting the user if the transport is set to throw", () =>
    Effect.gen(function* () {
      const server = yield* guarded()
      const provider = new MemoryProvider()
      yield* loggedIn(make, server, provider)
      const client = new Shim.Client({ name: "tester", version: "1.0.0" })
      yield* Effect.addFinalizer(() => Effect.promise(() => client.close()))
      const options = { authProvider: provider, onInsufficientScope: "throw" } as const
      yield* Effect.promise(() => client.connect(new Shim.StreamableHTTPClientTransport(server.url, options)))
      const error = yield* Effect.promise(() => failureOf(client.callTool({ name: "write" })))
      assert.instanceOf(error, Shim.InsufficientScopeError)
      assert.strictEqual(error.requiredScope?.includes("files:write"), true)
      assert.strictEqual(provider.pages.length, 1)
    })
  )

  it.live("A client over HTTP with SSE logs in", () =>
    Effect.gen(function* () {
      const server = yield* guarded()
      const provider = new MemoryProvider()
      const sse = async (): Promise<Caller> => {
        const client = new Shim.Client({ name: "tester", version: "1.0.0" })
        const transport = new Shim.SSEClientTransport(new URL("/sse", server.url), { authProvider: provider })
        return {
          open: () => client.connect(transport),
          call: async (name = "whoami") => textOf(await client.callTool({ name })),
          finish: (answer) => transport.finishAuth(answer),
          close: () => client.close()
        }
      }
      const caller = yield* loggedIn(sse, server, provider)
      assert.strictEqual(yield* Effect.promise(() => caller.call()), "alice: use")
    })
  )
})
