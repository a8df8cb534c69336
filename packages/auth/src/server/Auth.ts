/**
 * Authorization of an MCP server as users import it: an OAuth 2.1 resource server as layers (spec: basic/authorization).
 *
 * `Auth.layer` names the resource and its issuers, `Auth.protect` guards an endpoint and serves the metadata that lead clients to the
 * authorization server, `Auth.requires` demands scopes for tools, resources and prompts, and `Auth.caller` is the caller of a handler.
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

/** Provides `Auth` and the guard: callers are the subjects of tokens that the verifier accepts. Dies on contradictory options. */
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

type Protected<R> =
  | Exclude<R, HttpRouter.Request.From<"Requires", Principal>>
  | GuardModule.Guard
  | HttpRouter.HttpRouter

/**
 * Guards an endpoint (or any routes), and serves the Protected Resource Metadata (RFC 9728) beside it. The standalone stream of a
 * session and a `subscriptions/listen` end when the token that opened them expires.
 */
export const protect = <A, E, R>(
  endpoint: Layer.Layer<A, E, R>,
  options: {
    /** Whether the metadata are also served at the root of the host, for older clients. Default true; true for one resource of a host. */
    readonly root?: boolean
  } = {}
): Layer.Layer<A, E, Protected<R>> =>
  Layer.merge(Layer.provide(endpoint, GuardModule.middleware().layer), metadata(options.root !== false))

const metadata = (root: boolean): Layer.Layer<never, never, GuardModule.Guard | HttpRouter.HttpRouter> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { dpop, options } = yield* GuardModule.Guard
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
 * For clients of 2025-03-26, which take the server's origin for the authorization server: serves the metadata of the first
 * authorization server there (RFC 8414), fetched on request and kept for a minute, or `document`.
 */
export const layerLegacyMetadata = (
  options: { readonly document?: { readonly [name: string]: unknown } } = {}
): Layer.Layer<never, never, GuardModule.Guard | HttpClient.HttpClient | HttpRouter.HttpRouter> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { authorizationServers } = (yield* GuardModule.Guard).options
      const http = yield* HttpClient.HttpClient
      const router = yield* HttpRouter.HttpRouter
      const fetched = yield* Effect.cachedWithTTL(
        Effect.exit(Documents.metadata(http, authorizationServers[0])),
        "1 minute"
      )
      const answer = Effect.flatMap(fetched, (exit) =>
        Effect.catch(Effect.map(exit, ResourceMetadata.response), ({ message }) =>
          Effect.as(Effect.logError("The metadata cannot be passed on", message), unavailable)
        )
      )
      const path = "/.well-known/oauth-authorization-server"
      yield* router.add(
        "GET",
        path,
        options.document === undefined ? answer : ResourceMetadata.response(options.document)
      )
      yield* router.add("OPTIONS", path, ResourceMetadata.preflight)
    })
  )

const unavailable = HttpServerResponse.jsonUnsafe({ error: "temporarily_unavailable" }, { status: 503 })
