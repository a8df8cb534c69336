/**
 * OAuth 2.1 for the client of a protected MCP server: an `HttpClient` that authorizes its requests (spec: basic/authorization).
 *
 * Wraps the `HttpClient` below it, so that transports need no knowledge of authorization. A request that is refused with 401, or with 403
 * for want of scopes, is sent again with new tokens. Where none can be got the request fails with an `HttpClientError` whose cause is an
 * `OAuthError` (`OAuthError.find`).
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

/** How tokens are got, for which account, and within which limits. */
export interface Options<R = never> {
  /**
   * The server that all requests to its origin belong to: with HTTP with SSE it has two URLs. By default every URL, without its query, is
   * a server of its own.
   */
  readonly server?: string | URL | undefined
  /** The grant: `AuthorizationCode.make`, `ClientCredentials.make`, `EnterpriseManaged.make` or `WorkloadIdentity.make`. */
  readonly grant: Grant<R>
  /** The name of the user, where several users share a store: each has tokens of its own. Default: one user. */
  readonly account?: string | undefined
  /** Scopes to ask for beside those that the server demands. Default none. */
  readonly scopes?: ReadonlyArray<string> | undefined
  /**
   * Whether tokens are bound to a key (DPoP): `auto` (default) where the metadata of the server name it, `prefer` wherever the
   * authorization server supports it, `require` always, or `never`.
   */
  readonly dpop?: "auto" | "prefer" | "require" | "never" | undefined
  /** How often one request may ask for more scopes after a 403. Default 2; 0 never. */
  readonly stepUps?: number | undefined
  /** Whether metadata of public servers may name private addresses. Default false. */
  readonly allowPrivate?: boolean | undefined
  /** Whether a server without resource metadata counts as one of 2025-03-26. Default true. */
  readonly fallback?: boolean | undefined
  /** The value of `MCP-Protocol-Version` in metadata requests. Default 2025-11-25. */
  readonly protocolVersion?: string | undefined
}

/** A login at a server. Holds no token. */
export interface Login {
  readonly server: string
  readonly issuer: string
  /** Undefined for a server of 2025-03-26. */
  readonly resource: string | undefined
  readonly clientId: string | undefined
  /** The granted scopes; the requested ones where the authorization server did not name them. */
  readonly scopes: ReadonlyArray<string>
  /** When the access token expires, in milliseconds since 1970; undefined where that is unknown. */
  readonly expiresAt: number | undefined
  readonly refreshable: boolean
  /** Whether the tokens are bound to a key. */
  readonly bound: boolean
}

/** Logging in and out without a request of MCP. Fails with an `OAuthError`. */
export class OAuth extends Context.Service<
  OAuth,
  {
    /** Gets new tokens for the server, and replaces the stored ones. */
    readonly login: (server: string | URL) => Effect.Effect<Login, OAuthError>
    /** Forgets the tokens, and revokes them where the authorization server supports it (RFC 7009); false if there were none. */
    readonly logout: (server: string | URL) => Effect.Effect<boolean, OAuthError>
    /** The stored login at the server, without any request; undefined if there is none. */
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

/** What the service and the client share. */
interface Parts<R> {
  readonly http: HttpClient.HttpClient
  readonly options: Options<R>
  /** The part of the store that belongs to this account and client. */
  readonly store: TokenStore["Service"]
  readonly context: Context.Context<R | TokenStore>
  readonly accessTo: (server: URL) => Effect.Effect<Access.Access>
  /** The server that a URL belongs to: the one of the options, or the URL without the query of a single request. */
  readonly serverOf: (url: URL) => URL
}

/** The server that the caller names; fails unless tokens may be sent there. */
const parseServer = <R>({ serverOf }: Parts<R>, server: string | URL): Effect.Effect<URL, OAuthError> => {
  const url = parseUrl(String(server))
  return url !== undefined && TrustedUrl.isSecure(url)
    ? Effect.succeed(serverOf(url))
    : Effect.fail(
        new OAuthError({
          step: "access",
          problem: "this server cannot be sent tokens",
          expected: "an https URL, or http on the loopback interface",
          found: excerpt(String(server))
        })
      )
}

/** The stored login at a server. */
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
  // The challenge to a request without a token names the metadata and the scopes; a server that accepts the request has none.
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
  // The tokens are forgotten here even if the authorization server cannot be reached.
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
    // `Access.make` does not suspend, so no other fiber has made one meanwhile.
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
 * The `HttpClient` that authorizes requests, over the one below it, and the service `OAuth`.
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
