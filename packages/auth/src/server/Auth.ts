/**
 * Authorization for MCP servers: an OAuth 2.1 resource server built from layers.
 *
 * `Auth.layer` names the resource and its issuers. `Auth.protect` guards an endpoint and serves the metadata that points clients to the
 * authorization server. `Auth.requires` requires scopes for tools, resources and prompts. `Auth.caller` returns the current handler's
 * caller.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization
 *
 * @example
 * ```ts
 * import { Auth, JwtVerifier } from "@effect-mcp/auth"
 * import { Tool, Tools } from "@effect-mcp/core"
 * import { McpServer } from "@effect-mcp/server"
 * import { Effect, Layer, Schema } from "effect"
 *
 * const DeleteFile = Tool.make("delete_file", { description: "Deletes a file", input: { path: Schema.String } })
 *
 * const features = Tools.layer(DeleteFile, ({ path }) => Effect.succeed(`Deleted ${path}`)).pipe(Auth.requires("files:write"))
 * const auth = Auth.layer({ resource: "https://files.example.com/mcp", authorizationServers: ["https://login.example.com"] })
 *
 * export const serve = McpServer.serveHttp(Auth.protect(McpServer.layerHttp({ path: "/mcp" }))).pipe(
 *   Layer.provide(McpServer.layer({ name: "files", version: "1.0.0", features })),
 *   Layer.provide(auth.pipe(Layer.provide(JwtVerifier.layer())))
 * )
 * ```
 */
import type { Principal } from "@effect-mcp/core/Principal"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import { Auth, named } from "./Caller.ts"
import * as Documents from "./Documents.ts"
import * as GuardModule from "./Guard.ts"
import * as ResourceMetadata from "./ResourceMetadata.ts"
import * as StaticTokens from "./StaticTokens.ts"
import type { TokenVerifier } from "./TokenVerifier.ts"

export {
  Auth,
  type Caller,
  caller,
  demand,
  InsufficientScope,
  layerLocal,
  type Satisfies,
  Unauthorized
} from "./Caller.ts"
export { Guard, middleware, type Options } from "./Guard.ts"
export { requires, type RequiresOptions } from "./RequiredScopes.ts"
export type { Options as TokensOptions, TokenOwner as Owner, StaticToken } from "./StaticTokens.ts"

/**
 * Provides `Auth` and the guard for an OAuth 2.1 resource server. A request's caller is the subject of its access token.
 *
 * Dies if the options are invalid, for example if `resource` is not a URL.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization
 */
export const layer = (options: GuardModule.Options): Layer.Layer<Auth | GuardModule.Guard, never, TokenVerifier> =>
  Layer.effectContext(
    Effect.map(GuardModule.make(options), (guard) =>
      Context.add(Context.make(GuardModule.Guard, guard), Auth, {
        local: undefined,
        satisfies: options.satisfies ?? named,
        scopes: options.scopes ?? []
      })
    )
  )

/**
 * Provides `Auth` and the guard for a server that has no authorization server, and whose operator hands out tokens or API keys instead. A
 * request's caller is its token's owner. Challenges list the accepted headers, and no metadata is served.
 *
 * Dies if the options are invalid, for example if two owners have the same token.
 *
 * @example
 * ```ts
 * import { Auth } from "@effect-mcp/auth"
 * import { Tool, Tools } from "@effect-mcp/core"
 * import { McpServer } from "@effect-mcp/server"
 * import { Effect, Layer, Redacted } from "effect"
 * import { HttpRouter, HttpServer } from "effect/http"
 *
 * const Whoami = Tool.make("whoami", { description: "Returns the subject of its caller" })
 * const features = Tools.layer(Whoami, () => Effect.map(Auth.caller, ({ subject }) => subject)).pipe(Auth.requires("read"))
 *
 * const auth = Auth.layerTokens({
 *   headers: ["authorization", "x-api-key"],
 *   tokens: [{ token: Redacted.make("mcp_2f6c1e7a90b4"), subject: "alice", scopes: ["read"] }]
 * })
 * const app = Auth.protect(McpServer.layerHttp({ path: "/mcp" })).pipe(
 *   Layer.provide(McpServer.layer({ name: "whoami", version: "1.0.0", features })),
 *   Layer.provide([auth, HttpServer.layerServices])
 * )
 *
 * const { dispose, handler } = HttpRouter.toWebHandler(app, { disableLogger: true })
 * const refused = await handler(new Request("http://localhost/mcp", { method: "POST" }))
 * console.log(refused.status, refused.headers.get("www-authenticate")) // => 401 Bearer, ApiKey header="x-api-key"
 * await dispose()
 * ```
 */
export const layerTokens = (options: StaticTokens.Options): Layer.Layer<Auth | GuardModule.Guard> =>
  Layer.effectContext(
    Effect.map(StaticTokens.make(options), (guard) =>
      Context.add(Context.make(GuardModule.Guard, guard), Auth, {
        local: undefined,
        satisfies: options.satisfies ?? named,
        scopes: options.scopes ?? []
      })
    )
  )

/**
 * Provides `Auth` without a guard, for a server whose own middleware provides the `Principal`. Any principal with a subject is a caller.
 * Missing scopes become a JSON-RPC error; your middleware decides which requests receive a 401.
 *
 * @example
 * ```ts
 * import { Auth } from "@effect-mcp/auth"
 * import { Principal } from "@effect-mcp/core"
 * import { McpServer } from "@effect-mcp/server"
 * import { Effect, Layer } from "effect"
 * import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
 *
 * const refused = HttpServerResponse.empty({ status: 401, headers: { "www-authenticate": "Cookie" } })
 *
 * // The caller is the user of the application.
 * const signedIn = HttpRouter.middleware<{ provides: Principal.Principal }>()((route) =>
 *   Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ cookies }) => {
 *     const subject = cookies["user"]
 *     if (subject === undefined) return Effect.succeed(refused)
 *     return Effect.provideService(route, Principal.Principal, { subject, scopes: ["read"], claims: {} })
 *   })
 * )
 *
 * export const endpoint = McpServer.layerHttp({ path: "/mcp" }).pipe(Layer.provide(signedIn.layer))
 * export const auth = Auth.layerPrincipal({ scopes: ["read"] })
 * ```
 */
export const layerPrincipal = (options: Pick<StaticTokens.Options, "satisfies" | "scopes"> = {}): Layer.Layer<Auth> =>
  Layer.succeed(Auth, { local: undefined, satisfies: options.satisfies ?? named, scopes: options.scopes ?? [] })

type Protected<R> =
  | Exclude<R, HttpRouter.Request.From<"Requires", Principal>>
  | GuardModule.Guard
  | HttpRouter.HttpRouter

/**
 * Guards an endpoint (or any other routes) and serves its Protected Resource Metadata. A session's standalone stream, or a
 * `subscriptions/listen` stream, ends when the token that opened it expires.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9728 OAuth 2.0 Protected Resource Metadata
 */
export const protect = <A, E, R>(
  endpoint: Layer.Layer<A, E, R>,
  options: {
    /** Whether to also serve the metadata at the host's root, for older clients. Only one resource per host can do this. Default true. */
    readonly root?: boolean
  } = {}
): Layer.Layer<A, E, Protected<R>> =>
  Layer.merge(Layer.provide(endpoint, GuardModule.middleware().layer), metadata(options.root !== false))

const metadata = (root: boolean): Layer.Layer<never, never, GuardModule.Guard | HttpRouter.HttpRouter> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { dpop, options } = yield* GuardModule.Guard
      if (options === undefined) return
      const router = yield* HttpRouter.HttpRouter
      const document = ResourceMetadata.document(options, options.scopesSupported ?? options.scopes ?? [], dpop)
      const paths = new Set([ResourceMetadata.path(options.resource), ...(root ? [ResourceMetadata.suffix] : [])])
      for (const path of paths) {
        yield* router.add("GET", `/${path.slice(1)}`, ResourceMetadata.response(document))
        yield* router.add("OPTIONS", `/${path.slice(1)}`, ResourceMetadata.preflight)
      }
    })
  )

/**
 * Serves the authorization server's metadata from the MCP server's origin, because 2025-03-26 clients treat that origin as the
 * authorization server. Serves `document`, or else the first authorization server's metadata, cached for a minute. Responds with a 503
 * while that metadata cannot be fetched.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8414 OAuth 2.0 Authorization Server Metadata
 */
export const layerLegacyMetadata = (
  options: { readonly document?: { readonly [name: string]: unknown } } = {}
): Layer.Layer<never, never, GuardModule.Guard | HttpClient.HttpClient | HttpRouter.HttpRouter> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const issuer = (yield* GuardModule.Guard).options?.authorizationServers[0]
      const http = yield* HttpClient.HttpClient
      const router = yield* HttpRouter.HttpRouter
      const fetched = issuer === undefined ? undefined : yield* fetchedMetadata(http, issuer)
      const answer = options.document === undefined ? fetched : ResourceMetadata.response(options.document)
      if (answer === undefined) return
      const path = "/.well-known/oauth-authorization-server"
      yield* router.add("GET", path, answer)
      yield* router.add("OPTIONS", path, ResourceMetadata.preflight)
    })
  )

const fetchedMetadata = (http: HttpClient.HttpClient, issuer: string) =>
  Effect.map(Effect.cachedWithTTL(Effect.exit(Documents.metadata(http, issuer)), "1 minute"), (fetched) =>
    Effect.flatMap(fetched, (exit) =>
      Effect.catch(Effect.map(exit, ResourceMetadata.response), ({ message }) =>
        Effect.as(Effect.logError("Failed to forward the authorization server's metadata", message), unavailable)
      )
    )
  )

const unavailable = HttpServerResponse.jsonUnsafe({ error: "temporarily_unavailable" }, { status: 503 })
