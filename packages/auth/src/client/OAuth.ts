/**
 * OAuth 2.1 for clients of a protected MCP server: an `HttpClient` that authorizes its requests (spec: basic/authorization).
 *
 * It wraps an `HttpClient`, so transports don't need to know about authorization. If the server responds with a 401, or with a 403 because
 * of missing scopes, the request is sent again with new tokens. If no tokens can be obtained, the request fails with an `HttpClientError`
 * whose cause is an `OAuthError` (see `OAuthError.find`).
 */
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Access from "./Access.ts"
import * as AuthorizedClient from "./AuthorizedClient.ts"
import * as Challenge from "@effect-mcp/protocol/Challenge"
import * as Dpop from "./Dpop.ts"
import * as TrustedUrl from "../shared/TrustedUrl.ts"
import type { Grant } from "./Grant.ts"
import { parseUrl } from "../shared/url.ts"
import { OAuthError } from "../shared/OAuthError.ts"
import * as Revocation from "./Revocation.ts"
import * as Stored from "./Stored.ts"
import { partOf, TokenStore } from "./TokenStore.ts"

/** Options for `layer`: the grant, account, scopes and limits. */
export interface Options<R = never> {
  /**
   * The server that all requests to its origin belong to. Set it for HTTP+SSE, where one server has two URLs. By default every URL, without
   * its query, counts as a separate server.
   */
  readonly server?: string | URL | undefined
  /** The grant: `AuthorizationCode.make`, `ClientCredentials.make`, `EnterpriseManaged.make` or `WorkloadIdentity.make`. */
  readonly grant: Grant<R>
  /** Account name, if several users share a store. Each account has its own tokens. By default there is a single user. */
  readonly account?: string | undefined
  /** Scopes to request in addition to the ones that the server requires. Default: none. */
  readonly scopes?: ReadonlyArray<string> | undefined
  /**
   * When to bind tokens to a key (DPoP). `auto` binds them if the server's metadata asks for it, `prefer` whenever the authorization server
   * supports it, `require` always, and `never` not at all. Default `auto`.
   */
  readonly dpop?: "auto" | "prefer" | "require" | "never" | undefined
  /** How many times a request may ask for more scopes after a 403. Set it to 0 to disable this. Default 2. */
  readonly stepUps?: number | undefined
  /** Whether to allow private addresses in a public server's metadata. Default false. */
  readonly allowPrivate?: boolean | undefined
  /** Whether to treat a server without resource metadata as a 2025-03-26 server. Default true. */
  readonly fallback?: boolean | undefined
  /** `MCP-Protocol-Version` header for metadata requests. Default 2025-11-25. */
  readonly protocolVersion?: string | undefined
}

/** A login at a server. Contains no token. */
export interface Login {
  readonly server: string
  readonly issuer: string
  /** The resource indicator, or `undefined` for a 2025-03-26 server. */
  readonly resource: string | undefined
  readonly clientId: string | undefined
  /** The granted scopes, or the requested ones if the authorization server didn't list any. */
  readonly scopes: ReadonlyArray<string>
  /** When the access token expires, in milliseconds since 1970, or `undefined` if unknown. */
  readonly expiresAt: number | undefined
  readonly refreshable: boolean
  /** True if the tokens are bound to a key. */
  readonly bound: boolean
}

/** Logs in and out without sending an MCP request. Fails with an `OAuthError`. */
export class OAuth extends Context.Service<
  OAuth,
  {
    /** Obtains new tokens for the server and replaces the stored ones. */
    readonly login: (server: string | URL) => Effect.Effect<Login, OAuthError>
    /** Deletes the tokens, and revokes them if the authorization server supports it (RFC 7009). Returns false if there were none. */
    readonly logout: (server: string | URL) => Effect.Effect<boolean, OAuthError>
    /** Returns the stored login for the server, or `undefined` if there is none. Sends no request. */
    readonly whoami: (server: string | URL) => Effect.Effect<Login | undefined, OAuthError>
  }
>()("@effect-mcp/auth/OAuth") {}

const toLogin = (server: URL, target: Stored.AuthorizationTarget, tokens: Stored.Tokens): Login => ({
  server: server.href,
  issuer: target.issuer,
  resource: target.resource,
  clientId: tokens.clientId,
  scopes: tokens.granted ?? tokens.requested,
  expiresAt: tokens.expiresAt,
  refreshable: tokens.refreshToken !== undefined,
  bound: tokens.tokenType === "DPoP"
})

/** State shared by the service and the client. */
interface Parts<R> {
  readonly http: HttpClient.HttpClient
  readonly options: Options<R>
  /** The part of the store that belongs to this account and client. */
  readonly store: TokenStore["Service"]
  readonly context: Context.Context<R | TokenStore>
  readonly accessTo: (server: URL) => Effect.Effect<Access.Access>
  /** Returns the server that a URL belongs to: the server in the options, or the URL without its query. */
  readonly serverOf: (url: URL) => URL
}

/** Parses the server URL. Fails unless it is safe to send tokens there. */
const parseServer = <R>({ serverOf }: Parts<R>, server: string | URL): Effect.Effect<URL, OAuthError> => {
  const url = parseUrl(String(server))
  return url !== undefined && TrustedUrl.isSecure(url)
    ? Effect.succeed(serverOf(url))
    : Effect.fail(
        new OAuthError({
          step: "access",
          problem: "refusing to send tokens to this server",
          expected: "an https URL, or http on the loopback interface",
          found: excerpt(String(server))
        })
      )
}

/** Returns the stored login for a server. */
const stored = Effect.fnUntraced(function* <R>(
  { accessTo, store }: Parts<R>,
  server: URL
): Effect.fn.Return<
  { readonly target: Stored.AuthorizationTarget; readonly tokens: Stored.Tokens } | undefined,
  OAuthError
> {
  const target = yield* (yield* accessTo(server)).target
  const { value } = target === undefined ? {} : yield* Stored.accountOf(store, target).read
  return target === undefined || value?.tokens === undefined ? undefined : { target, tokens: value.tokens }
})

const login = Effect.fnUntraced(function* <R>(
  parts: Parts<R>,
  text: string | URL
): Effect.fn.Return<Login, OAuthError> {
  const { accessTo, http } = parts
  const server = yield* parseServer(parts, text)
  const access = yield* accessTo(server)
  yield* access.current
  // The challenge to a request without a token names the metadata and the scopes. A server that accepts the request sends none.
  const challenge = yield* http
    .execute(HttpClientRequest.get(server, { headers: { accept: "text/event-stream" } }))
    .pipe(
      Effect.tap(AuthorizedClient.discard),
      Effect.map(({ status, headers }) => (status === 401 ? headers["www-authenticate"] : undefined)),
      Effect.orElseSucceed(() => undefined)
    )
  yield* access.forget
  const { target, tokens } = yield* access.renew(undefined, Challenge.demand(challenge))
  return toLogin(server, target, tokens)
})

const logout = Effect.fnUntraced(function* <R>(
  parts: Parts<R>,
  text: string | URL
): Effect.fn.Return<boolean, OAuthError> {
  const { accessTo, context, http, options } = parts
  const { allowPrivate, grant } = options
  const server = yield* parseServer(parts, text)
  const access = yield* accessTo(server)
  const found = yield* stored(parts, server)
  if (found === undefined) return false
  const revoke = Effect.gen(function* () {
    const metadata = yield* access.metadata(found.target)
    const request = { http, server, allowPrivate, metadata, scopes: undefined, resource: undefined }
    yield* Revocation.revoke(request, grant, found.tokens)
  })
  // The tokens are deleted even if the authorization server cannot be reached.
  yield* Effect.ignore(Effect.provideContext(revoke, context))
  yield* access.forget
  return true
})

const whoami = Effect.fnUntraced(function* <R>(
  parts: Parts<R>,
  text: string | URL
): Effect.fn.Return<Login | undefined, OAuthError> {
  const server = yield* parseServer(parts, text)
  const found = yield* stored(parts, server)
  return found === undefined ? undefined : toLogin(server, found.target, found.tokens)
})

const make = Effect.fnUntraced(function* <R>(
  options: Options<R>
): Effect.fn.Return<
  { readonly client: HttpClient.HttpClient; readonly service: OAuth["Service"] },
  never,
  R | TokenStore | HttpClient.HttpClient | Scope.Scope
> {
  const http = yield* HttpClient.HttpClient
  const shared = yield* TokenStore
  const store =
    options.account === undefined && options.grant.clientId === undefined
      ? shared
      : partOf(shared, options.account ?? "", options.grant.clientId ?? "")
  const scope = yield* Effect.scope
  const context = Context.add(yield* Effect.context<R | TokenStore>(), TokenStore, store)
  const nonces = Dpop.nonces()
  const { allowPrivate, dpop = "auto", fallback = true, grant, protocolVersion = "2025-11-25", scopes = [] } = options
  const servers = new Map<string, Access.Access>()
  const only = options.server === undefined ? undefined : parseUrl(String(options.server))
  const serverOf = (url: URL): URL => {
    const { origin, pathname } = only !== undefined && only.origin === url.origin ? only : url
    return new URL(pathname, origin)
  }
  const accessTo = Effect.fnUntraced(function* (server: URL) {
    const known = servers.get(server.href)
    if (known !== undefined) return known
    const made = yield* Access.make(
      server,
      { http, grant, scopes, dpop, nonces, allowPrivate, fallback, protocolVersion },
      scope
    )
    // `Access.make` does not suspend, so no other fiber has created one meanwhile.
    servers.set(server.href, made)
    return made
  }, Effect.provideContext(context))

  const parts: Parts<R> = { http, options, store, context, accessTo, serverOf }
  return {
    client: AuthorizedClient.make({
      http,
      nonces,
      stepUps: options.stepUps ?? 2,
      accessTo: (url) => accessTo(serverOf(url))
    }),
    service: OAuth.of({
      login: (server) => login(parts, server),
      logout: (server) => logout(parts, server),
      whoami: (server) => whoami(parts, server)
    })
  }
})

/**
 * Provides an `HttpClient` that authorizes requests, built on the given `HttpClient`, and the `OAuth` service.
 *
 * @example
 * ```ts
 * import { AuthorizationCode, Loopback, OAuth, TokenFiles } from "@effect-mcp/auth"
 * import { NodeHttpServer, NodeServices } from "@effect/platform-node"
 * import { Layer } from "effect"
 * import { FetchHttpClient } from "effect/http"
 * import { createServer } from "node:http"
 *
 * const browser = Loopback.layerBrowser({ server: NodeHttpServer.layer(createServer, { host: "127.0.0.1", port: 0 }) })
 *
 * export const authorized = OAuth.layer({ grant: AuthorizationCode.make({ clientName: "Notes" }) }).pipe(
 *   Layer.provide([browser, TokenFiles.layer({ directory: ".tokens" }), FetchHttpClient.layer]),
 *   Layer.provide(NodeServices.layer)
 * )
 * ```
 */
export const layer = <R = never>(
  options: Options<R>
): Layer.Layer<HttpClient.HttpClient | OAuth, never, HttpClient.HttpClient | TokenStore | R> =>
  Layer.effectContext(
    Effect.map(make(options), ({ client, service }) =>
      Context.make(HttpClient.HttpClient, client).pipe(Context.add(OAuth, service))
    )
  )
