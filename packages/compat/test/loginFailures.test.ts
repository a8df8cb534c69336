/** Logins of the shim that fail, or that meet an attacker or state from an older program: what is sent, kept and reported. */
import * as Shim from "@effect-mcp/compat/client"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, type Scope } from "effect"
import { HttpServerResponse } from "effect/http"
import { type Guarded, guarded } from "./support/guarded.ts"
import { callback, failureOf, MemoryProvider } from "./support/provider.ts"

type Given = Shim.AuthProvider | Shim.OAuthClientProvider

interface Connection {
  readonly client: Shim.Client
  readonly transport: Shim.StreamableHTTPClientTransport
  readonly open: Effect.Effect<void>
  readonly call: (name?: string) => Promise<string>
}

const connection = Effect.fnUntraced(function* (
  url: URL,
  authProvider: Given,
  fetch?: Shim.FetchLike
): Effect.fn.Return<Connection, never, Scope.Scope> {
  const client = new Shim.Client({ name: "tester", version: "1.0.0" })
  const transport = new Shim.StreamableHTTPClientTransport(url, { authProvider, fetch })
  yield* Effect.addFinalizer(() => Effect.promise(() => client.close()))
  const call = async (name = "whoami") => {
    const { content } = await client.callTool({ name })
    return String(Object(content[0]).text)
  }
  return { client, transport, open: Effect.promise(() => client.connect(transport)), call }
})

const refused = (promise: () => Promise<unknown>) => Effect.promise(() => failureOf(promise()))

/** Connects a client that is rejected, and plays its user. */
const answered = Effect.fnUntraced(function* (
  { authority, url }: Guarded,
  provider: MemoryProvider,
  fetch?: Shim.FetchLike
) {
  const first = yield* connection(url, provider, fetch)
  yield* refused(() => first.client.connect(first.transport))
  return { transport: first.transport, answer: (yield* authority.visit(provider.page)).searchParams }
})

/** A client with the tokens of a login. */
const loggedIn = Effect.fnUntraced(function* (server: Guarded, provider: MemoryProvider, fetch?: Shim.FetchLike) {
  const { answer, transport } = yield* answered(server, provider)
  yield* Effect.promise(() => transport.finishAuth(answer))
  const next = yield* connection(server.url, provider, fetch)
  yield* next.open
  return next
})

const stale = (provider: MemoryProvider) => {
  provider.saved = { ...(provider.saved ?? assert.fail("no tokens were saved")), access_token: "stale" }
}

/** A provider for a client without a user: the methods of another provider, and the given ones. */
const withoutUser = (
  provider: MemoryProvider,
  methods: Partial<Shim.OAuthClientProvider>
): Shim.OAuthClientProvider => ({
  redirectUrl: undefined,
  clientMetadata: provider.clientMetadata,
  clientInformation: () => provider.clientInformation(),
  saveClientInformation: (information) => provider.saveClientInformation(information),
  tokens: () => provider.tokens(),
  saveTokens: (tokens) => provider.saveTokens(tokens),
  redirectToAuthorization: (url) => provider.redirectToAuthorization(url),
  saveCodeVerifier: (verifier) => provider.saveCodeVerifier(verifier),
  codeVerifier: () => provider.codeVerifier(),
  ...methods
})

const bodyOf = (init: RequestInit | undefined): string => {
  const { body } = init ?? {}
  return body instanceof Uint8Array ? new TextDecoder().decode(body) : typeof body === "string" ? body : ""
}
const calls = (tool: string, init: RequestInit | undefined): boolean => bodyOf(init).includes(`"${tool}"`)

/** `fetch` that changes the JSON at URLs whose path contains the given text. */
const changing =
  (path: string, change: (json: object) => object): Shim.FetchLike =>
  async (url, init) => {
    const response = await fetch(url, init)
    if (!new URL(url).pathname.includes(path) || !response.ok) return response
    return Response.json(change(Object(await response.json())))
  }

describe("Failed logins", () => {
  it.live("A 403 for another reason does not reject with an earlier login failure", () =>
    Effect.gen(function* () {
      const forbidding: Shim.FetchLike = async (url, init) =>
        calls("whoami", init) ? new Response("not today", { status: 403 }) : fetch(url, init)
      const { call } = yield* loggedIn(yield* guarded(), new MemoryProvider(), forbidding)
      assert.instanceOf(yield* refused(() => call("write")), Shim.UnauthorizedError)
      const error = yield* refused(() => call())
      assert.instanceOf(error, Shim.SdkError)
      assert.include(error.message, "not today")
    })
  )

  it.live("A request rejects with its own login failure while others are answered", () =>
    Effect.gen(function* () {
      const others = yield* Deferred.make<void>()
      // The rejection ends once the other request is answered.
      const slow: Shim.FetchLike = async (url, init) => {
        const response = await fetch(url, init)
        if (!calls("write", init)) return response
        const pull = async (controller: ReadableStreamDefaultController) => {
          await Effect.runPromise(Deferred.await(others))
          controller.close()
        }
        return new Response(new ReadableStream({ pull }), response)
      }
      const provider = new MemoryProvider()
      const page = yield* Deferred.make<void>()
      const { call } = yield* loggedIn(yield* guarded(), provider, slow)
      provider.redirectToAuthorization = () => Deferred.doneUnsafe(page, Effect.void)
      const write = failureOf(call("write"))
      yield* Deferred.await(page)
      assert.strictEqual(yield* Effect.promise(() => call()), "alice: use")
      yield* Deferred.succeed(others, undefined)
      assert.instanceOf(yield* Effect.promise(() => write), Shim.UnauthorizedError)
    })
  )

  it.live("A request rejects with the error thrown by its provider", () =>
    Effect.gen(function* () {
      const { url } = yield* guarded()
      const locked = async () => Promise.reject(new Error("The keychain is locked"))
      const providers: Array<Given> = [
        Object.assign(new MemoryProvider(), { tokens: locked }),
        Object.assign(new MemoryProvider(), { saveClientInformation: locked }),
        { token: locked },
        { token: async () => "stale", onUnauthorized: locked }
      ]
      for (const provider of providers) {
        const { client, transport } = yield* connection(url, provider)
        assert.strictEqual((yield* refused(() => client.connect(transport))).message, "The keychain is locked")
      }
    })
  )

  it.live("Gives up after two rejected tokens without prompting the user", () =>
    Effect.gen(function* () {
      const { url } = yield* guarded()
      let count = 0
      const provider: Shim.AuthProvider = {
        token: async () => "stale",
        // Reads the body, which locks it.
        onUnauthorized: async ({ response }) => {
          await response.text()
          count++
        }
      }
      const { client, transport } = yield* connection(url, provider)
      const error = yield* refused(() => client.connect(transport))
      assert.instanceOf(error, Shim.SdkError)
      assert.strictEqual(error.code, "CLIENT_HTTP_AUTHENTICATION")
      assert.strictEqual(count, 1)
    })
  )

  it.live("A rejected stream and the next request open only one page", () =>
    Effect.gen(function* () {
      const provider = new MemoryProvider()
      const page = yield* Deferred.make<void>()
      const expired = yield* Deferred.make<void>()
      let streams = 0
      // The token expires while the stream of the session is being opened.
      const expiring: Shim.FetchLike = async (url, init) => {
        if (init?.method !== "GET" || new URL(url).pathname !== "/mcp" || streams++ > 0) return fetch(url, init)
        await Effect.runPromise(Deferred.await(expired))
        return new Response(null, { status: 401 })
      }
      const { call } = yield* loggedIn(yield* guarded(), provider, expiring)
      provider.redirectToAuthorization = (url) => {
        provider.pages.push(url)
        Deferred.doneUnsafe(page, Effect.void)
      }
      provider.saved = undefined
      yield* Deferred.succeed(expired, undefined)
      yield* Deferred.await(page)
      assert.instanceOf(yield* refused(() => call()), Shim.UnauthorizedError)
      assert.strictEqual(provider.pages.length, 2)
      yield* refused(() => call())
      assert.strictEqual(provider.pages.length, 3)
    })
  )

  it.live("A reconnecting SSE transport opens another page", () =>
    Effect.gen(function* () {
      const { url } = yield* guarded()
      const provider = new MemoryProvider()
      const transport = new Shim.SSEClientTransport(new URL("/sse", url), { authProvider: provider })
      const client = new Shim.Client({ name: "tester", version: "1.0.0" })
      for (const pages of [1, 2]) {
        assert.instanceOf(yield* refused(() => client.connect(transport)), Shim.UnauthorizedError)
        assert.strictEqual(provider.pages.length, pages)
      }
    })
  )

  it.live("With a token provider, a request without the required scopes rejects with their names", () =>
    Effect.gen(function* () {
      const { authority, resource, url } = yield* guarded()
      const token = yield* authority.issue({ scopes: ["use"], resources: [resource] })
      const { call, open } = yield* connection(url, { token: async () => token })
      yield* open
      const error = yield* refused(() => call("write"))
      assert.instanceOf(error, Shim.InsufficientScopeError)
      assert.include(error.requiredScope, "files:write")
    })
  )

  it.live("A token is never sent to another host over plain HTTP", () =>
    Effect.gen(function* () {
      const sent: Array<string | null> = []
      const record: Shim.FetchLike = async (_url, init) => {
        sent.push(new Headers(init?.headers).get("authorization"))
        return new Response(null, { status: 401 })
      }
      const { client, transport } = yield* connection(
        new URL("http://mcp.example/mcp"),
        { token: async () => "secret", onUnauthorized: async () => {} },
        record
      )
      const error = yield* refused(() => client.connect(transport))
      assert.instanceOf(error, Shim.OAuthClientFlowError)
      assert.include(error.message, "over plain HTTP")
      assert.deepStrictEqual([...new Set(sent)], [null])
    })
  )

  it.live("Two clients sharing a provider share one refresh", () =>
    Effect.gen(function* () {
      const server = yield* guarded()
      const provider = new MemoryProvider()
      const one = yield* loggedIn(server, provider)
      const other = yield* connection(server.url, provider)
      yield* other.open
      stale(provider)
      const texts = yield* Effect.promise(() => Promise.all([one.call(), other.call()]))
      assert.deepStrictEqual(texts, ["alice: use", "alice: use"])
      assert.strictEqual(yield* server.authority.count("refresh_token"), 1)
    })
  )

  it.live("A request with an outdated token is retried with the newer one, without a refresh", () =>
    Effect.gen(function* () {
      const server = yield* guarded()
      const provider = new MemoryProvider()
      let fresh: Shim.StoredOAuthTokens | undefined
      const late: Shim.FetchLike = async (url, init) => {
        const response = await fetch(url, init)
        if (response.status === 401 && fresh !== undefined) provider.saved = fresh
        return response
      }
      const { call } = yield* loggedIn(server, provider, late)
      fresh = provider.saved
      stale(provider)
      assert.strictEqual(yield* Effect.promise(() => call()), "alice: use")
      assert.strictEqual(yield* server.authority.count("refresh_token"), 0)
    })
  )

  it.live("Every required scope is requested if the tokens name none", () =>
    Effect.gen(function* () {
      const server = yield* guarded()
      const provider = new MemoryProvider()
      // Names only the missing scope.
      const sparing: Shim.FetchLike = async (url, init) => {
        const response = await fetch(url, init)
        if (response.status !== 403) return response
        const challenge = 'Bearer error="insufficient_scope", scope="files:write"'
        return new Response(null, { status: 403, headers: { "www-authenticate": challenge } })
      }
      const { answer, transport } = yield* answered(server, provider, sparing)
      yield* Effect.promise(() => transport.finishAuth(answer))
      const { scope: _, ...saved } = provider.saved ?? assert.fail("no tokens were saved")
      provider.saved = saved
      const client = new Shim.Client({ name: "tester", version: "1.0.0" })
      yield* Effect.addFinalizer(() => Effect.promise(() => client.close()))
      yield* Effect.promise(() => client.connect(transport))
      yield* refused(() => client.callTool({ name: "write" }))
      const scopes = new Set(provider.page.searchParams.get("scope")?.split(" "))
      assert.isTrue(scopes.has("use") && scopes.has("files:write"))
    })
  )
})

describe("Authorization responses", () => {
  it.live("A response without a code is shown only after its issuer is checked", () =>
    Effect.gen(function* () {
      const approve = () => ({ error: "invalid_scope", description: "Ask for less" })
      const { answer, transport } = yield* answered(yield* guarded({ script: { approve } }), new MemoryProvider())
      const error = yield* refused(() => transport.finishAuth(answer))
      assert.instanceOf(error, Shim.OAuthError)
      assert.deepStrictEqual([error.code, error.message], ["invalid_scope", "Ask for less"])
      for (const code of ["access_denied", "invalid_scope"]) {
        const forged = new URLSearchParams({ error: code, error_description: "Forged", iss: "https://evil.example" })
        const mismatch = yield* refused(() => transport.finishAuth(forged))
        assert.instanceOf(mismatch, Shim.IssuerMismatchError)
        assert.notInclude(mismatch.message, "Forged")
      }
    })
  )

  it.live("Using a response twice keeps the first use's tokens", () =>
    Effect.gen(function* () {
      const provider = new MemoryProvider()
      const { answer, transport } = yield* answered(yield* guarded(), provider)
      yield* Effect.promise(() => transport.finishAuth(answer))
      const { saved } = provider
      assert.instanceOf(yield* refused(() => transport.finishAuth(answer)), Shim.OAuthError)
      assert.strictEqual(provider.saved, saved)
      assert.deepStrictEqual(provider.forgotten, [])
    })
  )

  it.live("A code is sent only to the server the user visited, even without saved discovery", () =>
    Effect.gen(function* () {
      const server = yield* guarded()
      const other = yield* guarded()
      const provider = Object.assign(new MemoryProvider(), {
        discoveryState: undefined,
        saveDiscoveryState: undefined
      })
      let moved = false
      const moving = changing("oauth-protected-resource", (json) =>
        moved ? { ...json, authorization_servers: [other.authority.issuer] } : json
      )
      const { answer, transport } = yield* answered(server, provider, moving)
      moved = true
      answer.delete("iss")
      const error = yield* refused(() => transport.finishAuth(answer.get("code") ?? ""))
      assert.instanceOf(error, Shim.AuthorizationServerMismatchError)
      assert.strictEqual(yield* other.authority.count("authorization_code"), 0)
    })
  )

  it.live("An ID token is saved with the other tokens", () =>
    Effect.gen(function* () {
      const provider = new MemoryProvider()
      const withId = changing("/token", (json) => ({ ...json, id_token: "header.claims.signature" }))
      const { answer, transport } = yield* answered(yield* guarded(), provider, withId)
      yield* Effect.promise(() => transport.finishAuth(answer))
      assert.strictEqual(provider.saved?.id_token, "header.claims.signature")
    })
  )
})

describe("Providers with an older program's state", () => {
  it.live("A client stored as null registers", () =>
    Effect.gen(function* () {
      const server = yield* guarded()
      const provider = new MemoryProvider()
      // JSON storage returns null for a missing item.
      provider.client = JSON.parse("null")
      provider.saved = JSON.parse("null")
      yield* answered(server, provider)
      assert.strictEqual(yield* server.authority.count("register"), 1)
    })
  )

  it.live("A stored issuer matches despite a trailing slash", () =>
    Effect.gen(function* () {
      const server = yield* guarded()
      const provider = new MemoryProvider()
      const { call } = yield* loggedIn(server, provider)
      const issuer = `${server.authority.issuer}/`
      provider.client = { ...(provider.client ?? assert.fail("no client was saved")), issuer }
      provider.saved = { ...(provider.saved ?? assert.fail("no tokens were saved")), issuer }
      stale(provider)
      assert.strictEqual(yield* Effect.promise(() => call()), "alice: use")
      assert.strictEqual(yield* server.authority.count("register"), 1)
      assert.strictEqual(yield* server.authority.count("refresh_token"), 1)
    })
  )

  it.live("A client saved without an authorization server is bound to the first that accepts it", () =>
    Effect.gen(function* () {
      const server = yield* guarded()
      const provider = new MemoryProvider()
      const { clientId } = yield* server.authority.register({ redirectUris: [callback] })
      provider.client = { client_id: clientId }
      yield* loggedIn(server, provider)
      assert.deepStrictEqual(provider.client, { client_id: clientId, issuer: server.authority.issuer })
    })
  )

  it.live("A client without a user keeps another authorization server's credentials and does not register", () =>
    Effect.gen(function* () {
      const { authority, url } = yield* guarded()
      const client = { client_id: "configured", client_secret: "secret", issuer: "https://other.example" }
      const opened = yield* connection(url, withoutUser(new MemoryProvider(), { clientInformation: () => client }))
      const error = yield* refused(() => opened.client.connect(opened.transport))
      assert.instanceOf(error, Shim.AuthorizationServerMismatchError)
      assert.strictEqual(yield* authority.count("register"), 0)
    })
  )

  it.live("A client metadata URL that is not a valid id is rejected", () =>
    Effect.gen(function* () {
      const provider = Object.assign(new MemoryProvider(), { clientMetadataUrl: "http://client.example/id.json" })
      const { client, transport } = yield* connection((yield* guarded()).url, provider)
      const error = yield* refused(() => client.connect(transport))
      assert.instanceOf(error, Shim.OAuthError)
      assert.strictEqual(error.code, "invalid_client_metadata")
    })
  )

  it.live("A client requests its own metadata's scopes if the server names none", () =>
    Effect.gen(function* () {
      const provider = new MemoryProvider()
      provider.clientMetadata.scope = "use"
      const silent: Shim.FetchLike = async (url, init) => {
        const response = await changing("oauth-protected-resource", (json) => ({ ...json, scopes_supported: [] }))(
          url,
          init
        )
        return response.status === 401 ? new Response(null, { status: 401 }) : response
      }
      yield* answered(yield* guarded(), provider, silent)
      assert.strictEqual(provider.page.searchParams.get("scope"), "use")
    })
  )

  it.live("A rejected registration reports its status", () =>
    Effect.gen(function* () {
      const intercept = ({ kind }: { readonly kind: string }) =>
        Effect.sync(() =>
          kind === "register"
            ? HttpServerResponse.jsonUnsafe({ error: "invalid_redirect_uri" }, { status: 400 })
            : undefined
        )
      const { url } = yield* guarded({ script: { intercept } })
      const { client, transport } = yield* connection(url, new MemoryProvider())
      const error = yield* refused(() => client.connect(transport))
      assert.instanceOf(error, Shim.RegistrationRejectedError)
      assert.strictEqual(error.status, 400)
      assert.include(error.message, "invalid_redirect_uri")
    })
  )

  it.live("prepareTokenRequest can see the authorization server and the resource", () =>
    Effect.gen(function* () {
      const { authority, resource, url } = yield* guarded()
      const { clientId } = yield* authority.register({
        secret: "secret",
        authMethod: "client_secret_basic",
        grantTypes: ["client_credentials"]
      })
      const known: Array<string> = []
      const prepared: Array<ReadonlyArray<string>> = []
      const provider = withoutUser(new MemoryProvider(), {
        clientInformation: () => ({ client_id: clientId, client_secret: "secret" }),
        saveAuthorizationServerUrl: (url: string) => void known.push(url),
        saveResourceUrl: (url: string) => void known.push(url),
        prepareTokenRequest: (scope = "") => {
          prepared.push([...known])
          return new URLSearchParams({ grant_type: "client_credentials", scope })
        }
      })
      yield* (yield* connection(url, provider)).open
      assert.deepStrictEqual(prepared, [[authority.issuer, resource]])
    })
  )
})

describe("Rejected refreshes", () => {
  const refusing = (error: string, status = 400) => ({
    intercept: ({ kind }: { readonly kind: string }) =>
      Effect.sync(() => (kind === "refresh_token" ? HttpServerResponse.jsonUnsafe({ error }, { status }) : undefined))
  })

  it.live("An invalid refresh token is discarded, and the user is prompted", () =>
    Effect.gen(function* () {
      const server = yield* guarded({ script: refusing("invalid_grant") })
      const provider = new MemoryProvider()
      const { call } = yield* loggedIn(server, provider)
      stale(provider)
      assert.instanceOf(yield* refused(() => call()), Shim.UnauthorizedError)
      assert.deepStrictEqual(provider.forgotten, ["tokens"])
      assert.strictEqual(provider.pages.length, 2)
    })
  )

  it.live("A request rejects without prompting the user if the authorization server is unavailable", () =>
    Effect.gen(function* () {
      const server = yield* guarded({ script: refusing("temporarily_unavailable", 503) })
      const provider = new MemoryProvider()
      const { call } = yield* loggedIn(server, provider)
      stale(provider)
      const error = yield* refused(() => call())
      assert.instanceOf(error, Shim.OAuthError)
      assert.strictEqual(error.code, "temporarily_unavailable")
      assert.strictEqual(provider.pages.length, 1)
      assert.isDefined(provider.saved?.refresh_token)
    })
  )

  it.live("Tokens refreshed by another process are kept", () =>
    Effect.gen(function* () {
      const server = yield* guarded({ script: refusing("invalid_grant") })
      const provider = new MemoryProvider()
      let fresh: Shim.StoredOAuthTokens | undefined
      const elsewhere: Shim.FetchLike = async (url, init) => {
        const response = await fetch(url, init)
        if (fresh !== undefined && new URL(url).pathname === "/token") provider.saved = fresh
        return response
      }
      const { call } = yield* loggedIn(server, provider, elsewhere)
      fresh = { ...(provider.saved ?? assert.fail("no tokens were saved")), refresh_token: "theirs" }
      stale(provider)
      assert.strictEqual(yield* Effect.promise(() => call()), "alice: use")
      assert.deepStrictEqual(provider.forgotten, [])
      assert.strictEqual(provider.pages.length, 1)
    })
  )
})
