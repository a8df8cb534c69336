/** Admission by access tokens, for Express and the Web API, and the information in a rejection. */
import { Client, extractWWWAuthenticateParams, StreamableHTTPClientTransport } from "@effect-mcp/compat/client"
import {
  createMcpExpressApp,
  getOAuthProtectedResourceMetadataUrl,
  mcpAuthMetadataRouter,
  requireBearerAuth as requireBearer
} from "@effect-mcp/compat/express"
import { toNodeHandler } from "@effect-mcp/compat/node"
import {
  type BearerAuthOptions,
  createMcpHandler,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  McpServer,
  OAuthError,
  OAuthErrorCode,
  originValidationResponse,
  requireBearerAuth
} from "@effect-mcp/compat/server"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import type { RequestListener } from "node:http"
import { listening } from "./support/listening.ts"

const later = Date.now() / 1000 + 3600
const metadataUrl = getOAuthProtectedResourceMetadataUrl(new URL("http://127.0.0.1/mcp"))

const options: BearerAuthOptions = {
  requiredScopes: ["mcp"],
  resourceMetadataUrl: metadataUrl,
  verifier: {
    verifyAccessToken: async (token) => {
      if (token === "broken") throw new Error("The database is down: secret")
      if (!["good", "narrow", "old", "endless"].includes(token))
        throw new OAuthError(OAuthErrorCode.InvalidToken, "unknown")
      const expiresAt = token === "old" ? 1 : token === "endless" ? undefined : later
      return { token, clientId: "ada", scopes: token === "narrow" ? [] : ["mcp"], expiresAt }
    }
  }
}

const handlerOf = () => {
  const handler = createMcpHandler(({ authInfo }) => {
    const server = new McpServer({ name: "guarded", version: "1.0.0" })
    server.registerTool("whoami", {}, () => ({ content: [{ type: "text", text: `${authInfo?.clientId}` }] }))
    return server
  })
  onTestFinished(() => handler.close())
  return handler
}

const express = (): RequestListener => {
  const app = createMcpExpressApp()
  const listener = toNodeHandler(handlerOf())
  app.use(
    mcpAuthMetadataRouter({
      oauthMetadata: { issuer: "https://as.example" },
      resourceServerUrl: new URL("http://127.0.0.1/mcp")
    })
  )
  app.all("/mcp", requireBearer(options), (request, response) => void listener(request, response, request.body))
  return app
}

const web = (): RequestListener => {
  const gate = requireBearerAuth(options)
  const { fetch } = handlerOf()
  return toNodeHandler({
    fetch: async (request) => {
      const refused =
        hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
        originValidationResponse(request, localhostAllowedOrigins())
      if (refused !== undefined) return refused
      const auth = await gate(request)
      return auth instanceof Response ? auth : fetch(request, { authInfo: auth })
    }
  })
}

const post = (url: URL, authorization?: string) =>
  fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...(authorization !== undefined && { authorization }) },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })
  })

describe.each([
  { kind: "Express", listener: express },
  { kind: "the Web API", listener: web }
])("Tokens on a $kind server", ({ listener }) => {
  it("Handlers see the token's user if the server requires tokens", async () => {
    const url = new URL("/mcp", await listening(listener()))
    const client = new Client({ name: "tester", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } })
    await client.connect(new StreamableHTTPClientTransport(url, { authProvider: { token: async () => "good" } }))
    const { content } = await client.callTool({ name: "whoami" })
    assert.deepStrictEqual(content, [{ type: "text", text: "ada" }])
    await client.close()
  })

  it.each([
    { given: undefined, status: 401, error: "invalid_token" },
    { given: "Basic good", status: 401, error: "invalid_token" },
    { given: "Bearer unknown", status: 401, error: "invalid_token" },
    { given: "Bearer old", status: 401, error: "invalid_token" },
    { given: "Bearer endless", status: 401, error: "invalid_token" },
    { given: "Bearer narrow", status: 403, error: "insufficient_scope" }
  ])("A token-protected server rejects $given with $status and $error", async ({ error, given, status }) => {
    const refusal = await post(new URL("/mcp", await listening(listener())), given)
    assert.strictEqual(refusal.status, status)
    const { errorDescription, ...challenge } = extractWWWAuthenticateParams(refusal)
    assert.deepStrictEqual(challenge, { error, scope: "mcp", resourceMetadataUrl: new URL(metadataUrl) })
    assert.isString(errorDescription)
    assert.strictEqual(Object(await refusal.json()).error, error)
  })

  it("A failing verifier causes a 500, without the error or a challenge", async () => {
    const refusal = await post(new URL("/mcp", await listening(listener())), "Bearer broken")
    assert.deepStrictEqual([refusal.status, refusal.headers.get("www-authenticate")], [500, null])
    assert.notInclude(await refusal.text(), "secret")
  })
})

describe("Apps with resource metadata", () => {
  it("An app with resource metadata serves both documents to any origin", async () => {
    const url = new URL("/mcp", await listening(express()))
    const read = async (path: string) => {
      const answer = await fetch(new URL(path, url))
      return [answer.headers.get("access-control-allow-origin"), await answer.json()]
    }
    assert.deepStrictEqual(await read(new URL(metadataUrl).pathname), [
      "*",
      { resource: "http://127.0.0.1/mcp", authorization_servers: ["https://as.example"] }
    ])
    assert.deepStrictEqual(await read("/.well-known/oauth-authorization-server"), [
      "*",
      { issuer: "https://as.example" }
    ])
  })

  it("Resource metadata with a non-HTTPS issuer is rejected", () => {
    const oauthMetadata = { issuer: "http://as.example" }
    assert.throws(
      () => mcpAuthMetadataRouter({ oauthMetadata, resourceServerUrl: new URL("http://127.0.0.1/mcp") }),
      /HTTPS/
    )
  })
})
