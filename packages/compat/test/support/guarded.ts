/** A server of effect-mcp that requires access tokens, and its authorization server, over HTTP on loopback. */
import * as Auth from "@effect-mcp/auth/server/Auth"
import * as JwtVerifier from "@effect-mcp/auth/server/JwtVerifier"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as AuthServer from "@effect-mcp/testing/auth/AuthServer"
import { NodeHttpServer } from "@effect/platform-node"
import { Context, Effect, Layer, type Scope } from "effect"
import { FetchHttpClient, HttpServer } from "effect/http"
import { createServer } from "node:http"

export interface Guarded {
  readonly authority: AuthServer.AuthServer["Service"]
  /** Audience of tokens: the server with all of its endpoints. */
  readonly resource: string
  readonly url: URL
}

const listen = () => Layer.orDie(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }))

const who = Effect.map(Auth.caller, ({ scopes, subject }) => `${subject}: ${scopes.join(" ")}`)
const features = Layer.mergeAll(
  Tools.layer(Tool.make("whoami", { description: "Who calls." }), () => who),
  Tools.layer(Tool.make("write", { description: "Writes." }), () => who).pipe(Auth.requires("files:write"))
)

/** Tokens need the scope `use`; the tool `write` also needs `files:write`. */
export const guarded = Effect.fnUntraced(function* (
  options: AuthServer.Options = {}
): Effect.fn.Return<Guarded, never, Scope.Scope> {
  const issuer = { scopes: ["use", "files:write"], ...options }
  const authority = Context.get(
    yield* Layer.build(Layer.fresh(AuthServer.layer(issuer)).pipe(Layer.provide(listen()))),
    AuthServer.AuthServer
  )
  const listening = yield* Layer.build(listen())
  const resource = `${HttpServer.formatAddress(Context.get(listening, HttpServer.HttpServer).address)}/`
  const auth = Auth.layer({
    resource,
    authorizationServers: [authority.issuer],
    scopes: ["use"],
    scopesSupported: ["use"]
  }).pipe(Layer.provide(JwtVerifier.layer()))
  const endpoint = Auth.protect(
    Layer.merge(McpServer.layerHttp({ path: "/mcp" }), McpServer.layerSse({ path: "/sse" }))
  )
  const app = McpServer.serveHttp(endpoint, { disableLogger: true, disableListenLog: true }).pipe(
    Layer.provide(McpServer.layer({ name: "guarded", version: "1.0.0", features })),
    Layer.provide(auth),
    Layer.provide(FetchHttpClient.layer)
  )
  yield* Effect.provideContext(Layer.build(Layer.fresh(Layer.orDie(app))), listening)
  return { authority, resource, url: new URL("/mcp", resource) }
})
