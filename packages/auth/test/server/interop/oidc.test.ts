/** A protected server with tokens from a third-party authorization server. */
import * as Auth from "@effect-mcp/auth/server/Auth"
import * as Introspection from "@effect-mcp/auth/server/Introspection"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import { assert, describe, it } from "@effect/vitest"
import * as V2 from "@modelcontextprotocol/client"
import { Effect, Layer, Redacted } from "effect"
import * as Oidc from "../../support/oidc.ts"
import { open, proofKey, type Options } from "../support/protected.ts"

const who = Effect.map(Auth.caller, ({ scopes, subject }) => `${subject}: ${scopes.join(" ")}`)
const features = Layer.mergeAll(
  Tools.layer(Tool.make("whoami", { description: "Who calls." }), () => who),
  Tools.layer(Tool.make("write", { description: "Writes." }), () => who).pipe(Auth.requires("files:write"))
)
const scopes = ["use", "files:write"]
const worker = {
  client_id: "worker",
  client_secret: "worker-secret",
  grant_types: ["client_credentials"],
  redirect_uris: [],
  response_types: []
} satisfies NonNullable<Oidc.Options["clients"]>[number]

/** Name of the resource, independent of its port, because the authorization server must know it first. */
const resource = "https://mcp.example.com/mcp"

const serve = Effect.fnUntraced(function* (
  format: Oidc.Options["format"],
  options: Partial<Options<never, never>> = {}
) {
  const oidc = yield* Oidc.open({ resource, scopes, format, user: "alice", clients: [worker] })
  const { guard, ...rest } = options
  const server = yield* open({
    features,
    ...rest,
    guard: { resource, authorizationServers: [oidc.issuer], scopes: ["use"], ...guard }
  })
  const token = (scope: string, headers: { readonly [name: string]: string } = {}) =>
    Effect.promise(async () => {
      const response = await fetch(`${oidc.issuer}/token`, {
        method: "POST",
        headers: { authorization: `Basic ${btoa("worker:worker-secret")}`, ...headers },
        body: new URLSearchParams({ grant_type: "client_credentials", scope, resource })
      })
      return response.json()
    })
  return { ...server, oidc, token }
})

describe("oidc-provider", () => {
  it.live("oidc-provider's JWTs verify with its keys", () =>
    Effect.gen(function* () {
      const { call, token } = yield* serve("jwt")
      const { access_token } = yield* token("use")
      const headers = { authorization: `Bearer ${access_token}` }
      assert.strictEqual((yield* call("whoami", headers)).json.result.content[0].text, "worker: use")
      assert.strictEqual((yield* call("write", headers)).status, 403)
      const more = yield* token("use files:write")
      assert.strictEqual((yield* call("write", { authorization: `Bearer ${more.access_token}` })).status, 200)
      const less = yield* token("files:write")
      assert.strictEqual((yield* call("whoami", { authorization: `Bearer ${less.access_token}` })).status, 403)
    })
  )

  it.live("oidc-provider's opaque tokens verify by introspection", () =>
    Effect.gen(function* () {
      const verifier = () =>
        Introspection.layer({ credentials: { clientId: "worker", clientSecret: Redacted.make("worker-secret") } })
      const { call, oidc, token } = yield* serve("opaque", { verifier })
      const { access_token } = yield* token("use")
      const headers = { authorization: `Bearer ${access_token}` }
      assert.strictEqual((yield* call("whoami", headers)).json.result.content[0].text, "worker: use")
      yield* Effect.promise(() =>
        fetch(`${oidc.issuer}/token/revocation`, {
          method: "POST",
          headers: { authorization: `Basic ${btoa("worker:worker-secret")}` },
          body: new URLSearchParams({ token: access_token })
        })
      )
      assert.strictEqual((yield* call("whoami", headers)).status, 401)
    })
  )

  it.live("oidc-provider binds tokens to keys, and our guard requires their proof", () =>
    Effect.gen(function* () {
      const { call, oidc, token } = yield* serve("jwt", { guard: { dpop: {} } })
      const key = yield* proofKey
      const iat = Math.floor(Date.now() / 1000)
      const { access_token, token_type } = yield* token("use", {
        dpop: yield* key.prove("", { htu: `${oidc.issuer}/token`, iat })
      })
      assert.strictEqual(token_type, "DPoP")
      const present = (scheme: string, dpop: string) =>
        call("whoami", { authorization: `${scheme} ${access_token}`, dpop })
      const proof = key.prove(access_token, { htu: resource, iat })
      assert.strictEqual((yield* present("DPoP", yield* proof)).status, 200)
      assert.strictEqual((yield* present("Bearer", yield* proof)).status, 401)
    })
  )

  it.live("oidc-provider authorizes the official client's user", () =>
    Effect.gen(function* () {
      const { oidc, url } = yield* serve("jwt")
      let visited: URL | undefined
      let tokens: V2.StoredOAuthTokens | undefined
      let client: V2.StoredOAuthClientInformation | undefined
      let verifier = ""
      let discovered: V2.OAuthDiscoveryState | undefined
      const authProvider: V2.OAuthClientProvider = {
        redirectUrl: "http://127.0.0.1/callback",
        clientMetadata: { redirect_uris: ["http://127.0.0.1/callback"], token_endpoint_auth_method: "none" },
        state: () => "state",
        clientInformation: () => client,
        saveClientInformation: (information) => void (client = information),
        tokens: () => tokens,
        saveTokens: (saved) => void (tokens = saved),
        redirectToAuthorization: (to) => void (visited = to),
        saveCodeVerifier: (code) => void (verifier = code),
        codeVerifier: () => verifier,
        discoveryState: () => discovered,
        saveDiscoveryState: (state) => void (discovered = state),
        // The server listens on a local port instead of its real name.
        validateResourceURL: async () => new URL(resource)
      }
      const flow = (code?: { readonly authorizationCode: string; readonly iss?: string }) =>
        Effect.promise(() =>
          V2.auth(authProvider, {
            serverUrl: url,
            resourceMetadataUrl: new URL("/.well-known/oauth-protected-resource", url),
            scope: "use files:write",
            ...code
          })
        )
      assert.strictEqual(yield* flow(), "REDIRECT")
      const back = yield* oidc.visit(visited ?? assert.fail("not sent to the authorization server"))
      assert.strictEqual(back.searchParams.get("state"), "state")
      const iss = back.searchParams.get("iss")
      assert.strictEqual(iss, oidc.issuer)
      const authorizationCode = back.searchParams.get("code") ?? ""
      assert.strictEqual(yield* flow({ authorizationCode, ...(iss === null ? {} : { iss }) }), "AUTHORIZED")
      const transport = new V2.StreamableHTTPClientTransport(new URL(url), { authProvider })
      const mcp = new V2.Client({ name: "interop", version: "1" })
      const result = yield* Effect.promise(async () => {
        await mcp.connect(transport)
        const result = await mcp.callTool({ name: "write", arguments: {} })
        await mcp.close()
        return result
      })
      assert.deepStrictEqual(result.content, [{ type: "text", text: "alice: use files:write" }])
    })
  )
})
