/** Our client and our protected server with a third-party authorization server. */
import * as AuthorizationCode from "@effect-mcp/auth/client/AuthorizationCode"
import * as Authorizer from "@effect-mcp/auth/client/Authorizer"
import * as ClientCredentials from "@effect-mcp/auth/client/ClientCredentials"
import * as OAuth from "@effect-mcp/auth/client/OAuth"
import * as TokenStore from "@effect-mcp/auth/client/TokenStore"
import * as McpClient from "@effect-mcp/client/McpClient"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { open } from "../../server/support/protected.ts"
import * as Oidc from "../../support/oidc.ts"
import { call, features } from "../support/live.ts"

/** Name of the resource, because the authorization server must know it before its port is known. The network below maps it to the port. */
const resource = "https://mcp.example.com/mcp"

const setup = Effect.fnUntraced(function* (dpop: boolean) {
  const oidc = yield* Oidc.open({
    resource,
    scopes: ["use", "write"],
    format: "jwt",
    user: "alice",
    clients: [
      {
        client_id: "worker",
        client_secret: "worker-secret",
        grant_types: ["client_credentials"],
        redirect_uris: [],
        response_types: []
      }
    ]
  })
  const { origin } = yield* open({
    features,
    guard: {
      resource,
      authorizationServers: [oidc.issuer],
      scopes: ["use"],
      ...(dpop ? { dpop: {} } : undefined)
    }
  })
  const network = Layer.effect(
    HttpClient.HttpClient,
    Effect.map(
      HttpClient.HttpClient,
      HttpClient.mapRequest((request) =>
        HttpClientRequest.setUrl(request, request.url.replace("https://mcp.example.com", origin))
      )
    )
  )
  const user = Layer.succeed(Authorizer.Authorizer, {
    open: Effect.succeed({
      redirectUri: "http://127.0.0.1/callback",
      authorize: (url: URL) => Effect.map(oidc.visit(url), ({ searchParams }) => searchParams)
    })
  })
  const connect = Effect.fnUntraced(function* (options: Partial<OAuth.Options<Authorizer.Authorizer>>) {
    const http = OAuth.layer({
      grant: AuthorizationCode.make({ clientName: "ours" }),
      // The authorization server is on this machine, and the server's name is not.
      allowPrivate: true,
      ...options
    }).pipe(Layer.provide([TokenStore.layerMemory, user]), Layer.provide(network), Layer.provide(FetchHttpClient.layer))
    const context = yield* Layer.build(
      Layer.provideMerge(McpClient.layerHttp({ url: resource, revisions: ["2026-07-28"] }), http)
    )
    return { client: Context.get(context, McpClient.McpClient), oauth: Context.get(context, OAuth.OAuth) }
  })
  return { oidc, connect }
})

describe("Our client with oidc-provider", () => {
  it.live("The client registers, logs a user in, steps up and logs out", () =>
    Effect.gen(function* () {
      const { connect, oidc } = yield* setup(false)
      const { client, oauth } = yield* connect({})
      assert.strictEqual(yield* call(client, "whoami"), "alice use")
      assert.strictEqual(yield* call(client, "write"), "alice use write")
      const login = yield* oauth.whoami(resource)
      assert.deepInclude(login, { issuer: oidc.issuer, resource, refreshable: true })
      assert.isTrue(yield* oauth.logout(resource))
      assert.strictEqual(yield* call(client, "whoami"), "alice use")
    })
  )

  it.live("The client binds its tokens to a key", () =>
    Effect.gen(function* () {
      const { connect } = yield* setup(true)
      const { client, oauth } = yield* connect({ dpop: "prefer" })
      assert.strictEqual(yield* call(client, "whoami"), "alice use")
      assert.isTrue((yield* oauth.whoami(resource))?.bound)
    })
  )

  it.live("The client gets its own token", () =>
    Effect.gen(function* () {
      const { connect, oidc } = yield* setup(false)
      const grant = ClientCredentials.make({
        issuer: oidc.issuer,
        clientId: "worker",
        clientSecret: Redacted.make("worker-secret")
      })
      const { client } = yield* connect({ grant })
      assert.strictEqual(yield* call(client, "whoami"), "worker use")
    })
  )
})
