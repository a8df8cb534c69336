/** Our client logs in to servers made with the official SDKs and protected by their Express helpers. */
import * as AuthServer from "@effect-mcp/testing/auth/AuthServer"
import * as V2 from "@modelcontextprotocol/express"
import { toNodeHandler } from "@modelcontextprotocol/node"
import { requireBearerAuth as requireBearerAuthV1 } from "@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js"
import {
  getOAuthProtectedResourceMetadataUrl as metadataUrlV1,
  mcpAuthMetadataRouter as metadataRouterV1
} from "@modelcontextprotocol/sdk/server/auth/router.js"
import { McpServer as ServerV1 } from "@modelcontextprotocol/sdk/server/mcp.js"
import { StreamableHTTPServerTransport as TransportV1 } from "@modelcontextprotocol/sdk/server/streamableHttp.js"
import { createMcpHandler, McpServer as ServerV2, OAuthError, OAuthErrorCode } from "@modelcontextprotocol/server"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, type Scope } from "effect"
import express from "express"
import * as Jose from "jose"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { listen } from "../../server/support/protected.ts"
import { call, connect } from "../support/live.ts"

/** Starts an Express application on a free port, which `make` receives. */
const serve = (
  make: (url: URL) => Promise<express.Express>
): Effect.Effect<{ readonly url: URL }, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const http: Server = createServer()
      await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve))
      const url = new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`)
      http.on("request", await make(url))
      return { http, url }
    }),
    ({ http }) =>
      Effect.promise(async () => {
        http.closeAllConnections()
        await new Promise((resolve) => http.close(resolve))
      })
  )

const setup = Effect.gen(function* () {
  const context = yield* Layer.build(Layer.fresh(Layer.provide(AuthServer.layer(), listen())))
  const issuer = Context.get(context, AuthServer.AuthServer)
  const oauthMetadata = (yield* issuer.metadata) as any
  const keys = Jose.createLocalJWKSet(yield* issuer.jwks)
  /** Returns the claims of a token of this issuer. */
  const verify = async (token: string) => {
    const { payload } = await Jose.jwtVerify(token, keys, { issuer: issuer.issuer })
    const { aud, client_id, exp = 0, scope } = payload
    return {
      token,
      clientId: String(client_id),
      scopes: typeof scope === "string" ? scope.split(" ") : [],
      expiresAt: exp,
      resource: new URL(String(Array.isArray(aud) ? aud[0] : aud)),
      extra: { subject: payload.sub }
    }
  }
  return { issuer, oauthMetadata, verify }
})

const says = (extra: unknown, scopes: ReadonlyArray<string> = []) => ({
  content: [{ type: "text" as const, text: `${(extra as { subject?: string }).subject} ${scopes.join(" ")}` }]
})

describe("Our client with the SDK v2 Express helpers", () => {
  for (const version of ["2025-11-25", "2026-07-28"] as const)
    it.live(`The client logs in with the required scopes, in ${version}`, () =>
      Effect.gen(function* () {
        const { issuer, oauthMetadata, verify } = yield* setup
        const handler = createMcpHandler(() => {
          const server = new ServerV2({ name: "v2", version: "1" })
          server.registerTool("whoami", {}, ({ http }) => says(http?.authInfo?.extra, http?.authInfo?.scopes))
          return server
        })
        const { url } = yield* serve(async (url) => {
          const app = express()
          app.use(V2.mcpAuthMetadataRouter({ oauthMetadata, resourceServerUrl: url, scopesSupported: ["use"] }))
          const guard = V2.requireBearerAuth({
            verifier: {
              verifyAccessToken: (token) =>
                verify(token).catch(() => {
                  throw new OAuthError(OAuthErrorCode.InvalidToken, "no token of ours")
                })
            },
            requiredScopes: ["use"],
            expectedResource: url,
            resourceMetadataUrl: V2.getOAuthProtectedResourceMetadataUrl(url)
          })
          app.all("/mcp", guard, toNodeHandler(handler))
          return app
        })
        const { client } = yield* connect(url.href, { version })
        assert.strictEqual(yield* call(client, "whoami"), "alice use")
        assert.strictEqual(yield* issuer.count("authorize"), 1)
      })
    )
})

describe("Our client with the SDK v1 Express helpers", () => {
  it.live("The client logs in with the required scopes", () =>
    Effect.gen(function* () {
      const { issuer, oauthMetadata, verify } = yield* setup
      const { url } = yield* serve(async (url) => {
        const app = express()
        app.use(metadataRouterV1({ oauthMetadata, resourceServerUrl: url, scopesSupported: ["use"] }))
        const guard = requireBearerAuthV1({
          verifier: { verifyAccessToken: verify },
          requiredScopes: ["use"],
          resourceMetadataUrl: metadataUrlV1(url)
        })
        const handle = async (request: express.Request, response: express.Response) => {
          const server = new ServerV1({ name: "v1", version: "1" })
          server.registerTool("whoami", {}, ({ authInfo }) => says(authInfo?.extra, authInfo?.scopes))
          const transport = new TransportV1({})
          await server.connect(transport)
          await transport.handleRequest(request as any, response, request.body)
        }
        app.all("/mcp", guard, express.json(), (request, response) => void handle(request, response))
        return app
      })
      const { client } = yield* connect(url.href, { version: "2025-11-25" })
      assert.strictEqual(yield* call(client, "whoami"), "alice use")
      assert.strictEqual(yield* issuer.count("authorize"), 1)
    })
  )
})
