/** A protected MCP server and its authorization server over real HTTP on loopback. Requests are sent exactly as given. */
import * as Auth from "@effect-mcp/auth/server/Auth"
import * as Introspection from "@effect-mcp/auth/server/Introspection"
import * as JwtVerifier from "@effect-mcp/auth/server/JwtVerifier"
import type { TokenVerifier } from "@effect-mcp/auth/server/TokenVerifier"
import * as Headers from "@effect-mcp/protocol/Headers"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import * as McpServer from "@effect-mcp/server/McpServer"
import { type Revision, since } from "@effect-mcp/spec/Requirement"
import * as AuthServer from "@effect-mcp/testing/auth/AuthServer"
import { NodeHttpServer } from "@effect/platform-node"
import { assert } from "@effect/vitest"
import { Context, Effect, Layer, Redacted, type Scope } from "effect"
import { FetchHttpClient, type HttpClient, type HttpRouter, HttpServer } from "effect/http"
import * as Jose from "jose"
import { createServer } from "node:http"

export const listen = () => NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })

export interface Reply {
  readonly status: number
  readonly headers: globalThis.Headers
  readonly text: string
  readonly json: any
}
type HeadersOf = { readonly [name: string]: string }

/** Returns the message in a reply: its JSON, or the last message of its stream. */
const messageOf = (type: string, text: string): unknown => {
  if (type.includes("json")) return JSON.parse(text)
  const last = type.includes("event-stream")
    ? text.split("\n").findLast((line) => line.startsWith("data: {"))
    : undefined
  return last === undefined ? undefined : JSON.parse(last.slice("data: ".length))
}

export const request = (url: string, init: RequestInit = {}): Effect.Effect<Reply> =>
  Effect.promise(async () => {
    const response = await fetch(url, init)
    const text = await response.text()
    const json = messageOf(response.headers.get("content-type") ?? "", text)
    return { status: response.status, headers: response.headers, text, json }
  })

const accept = { "content-type": "application/json", accept: "application/json, text/event-stream" }

/** Revisions with authorization. */
export const revisions = since("2025-03-26")
export type { Revision }

/** The first request of a client with an older revision. */
export const initialize = (protocolVersion: string) => ({
  jsonrpc: "2.0" as const,
  id: 0,
  method: "initialize",
  params: { protocolVersion, capabilities: {}, clientInfo: { name: "test", version: "1" } }
})

/** A request of 2026-07-28. */
export const modern = (method: string, params: object = {}) => ({
  jsonrpc: "2.0" as const,
  id: 1,
  method,
  params: {
    ...params,
    _meta: {
      [Meta.protocolVersion]: "2026-07-28",
      [Meta.clientInfo]: { name: "test", version: "1" },
      [Meta.clientCapabilities]: {}
    }
  }
})

export interface Options<E, R> {
  /** The revision for `post` and `call`. Default 2026-07-28. */
  readonly revision?: Revision
  readonly features: Layer.Layer<never, E, R>
  readonly guard?: Partial<Auth.Options>
  readonly issuer?: AuthServer.Options
  /** Further issuers whose tokens are accepted. */
  readonly issuers?: ReadonlyArray<string>
  readonly verifier?: (issuer: string) => Layer.Layer<TokenVerifier, never, HttpClient.HttpClient>
  readonly endpoint?: Partial<McpServer.HttpOptions>
  /** Caching hints for lists. */
  readonly caching?: McpServer.Options<E, R>["caching"]
  /** Whether to also serve HTTP with SSE at `/sse`, behind the same guard. */
  readonly sse?: boolean
  /** Replaces `Auth.layer` of the guard. */
  readonly auth?: Layer.Layer<Auth.Auth | Auth.Guard>
  /** Routes in addition to the endpoint. */
  readonly routes?: Layer.Layer<never, never, Auth.Guard | HttpClient.HttpClient | HttpRouter.HttpRouter>
}

export interface Protected {
  readonly server: AuthServer.AuthServer["Service"]
  readonly origin: string
  readonly url: string
  readonly bearer: (token?: AuthServer.Issued) => Effect.Effect<HeadersOf>
  /**
   * Posts one request of the revision. With an older one it first opens a session with `opening` (default: the same headers); where
   * that is refused, the request is sent all the same, and must be refused in the same way.
   */
  readonly post: (method: string, params?: object, headers?: HeadersOf, opening?: HeadersOf) => Effect.Effect<Reply>
  readonly call: (name: string, headers?: HeadersOf, args?: object, opening?: HeadersOf) => Effect.Effect<Reply>
  /** Posts the given message like an older client. */
  readonly send: (message: object, headers?: HeadersOf) => Effect.Effect<Reply>
}

const addressOf = (context: Context.Context<HttpServer.HttpServer>) =>
  HttpServer.formatAddress(Context.get(context, HttpServer.HttpServer).address)

export const open = Effect.fnUntraced(function* <E>({
  auth: given,
  caching,
  endpoint: endpointOptions,
  features,
  guard,
  issuer,
  issuers = [],
  revision = "2026-07-28",
  routes = Layer.empty,
  sse = false,
  verifier = () => JwtVerifier.layer()
}: Options<E, McpServer.Registries | Auth.Auth>): Effect.fn.Return<Protected, E, Scope.Scope> {
  const authServer = yield* Layer.build(
    Layer.fresh(AuthServer.layer(issuer)).pipe(Layer.provide(listen()), Layer.orDie)
  )
  const server = Context.get(authServer, AuthServer.AuthServer)
  const listening = yield* Layer.build(Layer.orDie(listen()))
  const origin = addressOf(listening)
  const url = `${origin}/mcp`
  const auth =
    given ??
    Auth.layer({ resource: url, authorizationServers: [server.issuer, ...issuers], ...guard }).pipe(
      Layer.provide(verifier(server.issuer))
    )
  const endpoint = Auth.protect(
    Layer.merge(
      McpServer.layerHttp({ path: "/mcp", ...endpointOptions }),
      sse ? McpServer.layerSse({ path: "/sse" }) : Layer.empty
    )
  )
  const app = McpServer.serveHttp(Layer.merge(endpoint, routes), { disableLogger: true, disableListenLog: true }).pipe(
    Layer.provide(McpServer.layer({ name: "protected", version: "1", features, caching })),
    Layer.provide(auth),
    Layer.provide(FetchHttpClient.layer)
  )
  yield* Effect.provideContext(Layer.build(Layer.fresh(app)), listening)
  const send = (message: object, headers: HeadersOf = {}) =>
    request(url, { method: "POST", headers: { ...accept, ...headers }, body: JSON.stringify(message) })
  const modernPost = (method: string, params: object, headers: HeadersOf) => {
    const message = modern(method, params)
    return send(message, { ...Headers.of(message), ...headers })
  }
  // A client of 2025-03-26 sends no version header.
  const named: HeadersOf = revision === "2025-03-26" ? {} : { "mcp-protocol-version": revision }
  const statefulPost = Effect.fnUntraced(function* (
    method: string,
    params: object,
    headers: HeadersOf,
    opening: HeadersOf
  ) {
    const opened = yield* send(initialize(revision), opening)
    const session = { ...named, "mcp-session-id": opened.headers.get("mcp-session-id") ?? "none" }
    if (opened.status === 200) {
      yield* send({ jsonrpc: "2.0", method: "notifications/initialized" }, { ...opening, ...session })
    }
    const reply = yield* send({ jsonrpc: "2.0", id: 1, method, params }, { ...headers, ...session })
    if (opened.status !== 200) assert.strictEqual(reply.status, opened.status)
    return reply
  })
  const post: Protected["post"] = (method, params = {}, headers = {}, opening = headers) =>
    revision === "2026-07-28" ? modernPost(method, params, headers) : statefulPost(method, params, headers, opening)
  return {
    server,
    origin,
    url,
    send,
    post,
    call: (name, headers, args = {}, opening = headers) =>
      post("tools/call", { name, arguments: args }, headers, opening),
    bearer: (token) =>
      Effect.map(server.issue({ resources: [url], ...token }), (token) => ({ authorization: `Bearer ${token}` }))
  }
})

/** `open` for the clients of one revision. */
export const openAt =
  (revision: Revision) =>
  <E>(options: Options<E, McpServer.Registries | Auth.Auth>): Effect.Effect<Protected, E, Scope.Scope> =>
    open({ revision, ...options })

/** The server's client registration at its authorization server, for introspection. */
export const introspecting = (options: Partial<Introspection.Options> = {}) =>
  ((issuer) =>
    Introspection.layer({
      endpoint: `${issuer}/introspect`,
      credentials: { clientId: "resource", clientSecret: Redacted.make("s3cret") },
      ...options
    })) satisfies Options<never, never>["verifier"]

/** A client's key, and a function that signs proofs. */
export const proofKey = Effect.promise(async () => {
  const { privateKey, publicKey } = await Jose.generateKeyPair("ES256", { extractable: true })
  const jwk = await Jose.exportJWK(publicKey)
  const hash = async (token: string) =>
    Jose.base64url.encode(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token))))
  return {
    jkt: await Jose.calculateJwkThumbprint(jwk),
    privateJwk: await Jose.exportJWK(privateKey),
    jwk,
    prove: (token: string, claims: Jose.JWTPayload, header: object = {}) =>
      Effect.promise(async () =>
        new Jose.SignJWT({ htm: "POST", iat: 0, jti: crypto.randomUUID(), ath: await hash(token), ...claims })
          .setProtectedHeader({ alg: "ES256", typ: "dpop+jwt", jwk, ...header })
          .sign(privateKey)
      )
  }
})
