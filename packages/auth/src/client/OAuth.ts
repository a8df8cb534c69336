/**
 * OAuth 2.1 for the client of a protected MCP server: an `HttpClient` that sends tokens along, and gets them when the server demands some.
 *
 * A transformation of the `HttpClient` below it, so that whatever sends MCP over HTTP needs to know nothing of authorization: a request
 * that is refused with 401, or with 403 for want of scopes, is sent again with new tokens. What cannot be got fails the request with an
 * `HttpClientError` whose cause is an `OAuthError` (`OAuthError.find`).
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

/** What is asked for, of whom, and how far it may lead. */
export interface Options<R = never> {
  /**
   * The server, if all requests to its origin are for it: one of HTTP with SSE has two URLs. By default every URL without its query is a
   * server of its own.
   */
  readonly server?: string | URL | undefined
  /** How tokens are got: `AuthorizationCode.make`, `ClientCredentials.make`, `EnterpriseManaged.make` or `WorkloadIdentity.make`. */
  readonly grant: Grant<R>
  /** Whose tokens these are, where several users share a store: each has only his own. Default: there is one user. */
  readonly account?: string | undefined
  /** Scopes to ask for beside those that the server demands. Default none. */
  readonly scopes?: ReadonlyArray<string> | undefined
  /**
   * Whether tokens are bound to a key (DPoP): `auto` (default) where the server's metadata speak of it, `prefer` wherever the
   * authorization server can, `require` always, or `never`.
   */
  readonly dpop?: "auto" | "prefer" | "require" | "never" | undefined
  /** How often one request may lead to more scopes being asked for. Default 2; 0 never asks for more. */
  readonly stepUps?: number | undefined
  /** Lets metadata of public servers name private addresses. Default false. */
  readonly allowPrivate?: boolean | undefined
  /** Whether a server without resource metadata is taken for one of 2025-03-26. Default true. */
  readonly fallback?: boolean | undefined
  /** Named in `MCP-Protocol-Version` of metadata requests. Default 2025-11-25. */
  readonly protocolVersion?: string | undefined
}

/** What is known of a login. */
export interface Login {
  readonly server: string
  readonly issuer: string
  /** Undefined for a server of 2025-03-26. */
  readonly resource: string | undefined
  readonly clientId: string | undefined
  /** What was granted, or asked for where the authorization server did not say. */
  readonly scopes: ReadonlyArray<string>
  /** Milliseconds since 1970. */
  readonly expiresAt: number | undefined
  readonly refreshable: boolean
  /** Whether the tokens are bound to a key. */
  readonly bound: boolean
}

/** Logging in and out, apart from any request. */
export class OAuth extends Context.Service<
  OAuth,
  {
    /** Gets tokens for the server, new ones if there are some already. */
    readonly login: (server: string | URL) => Effect.Effect<Login, OAuthError>
    /** Revokes the tokens where that is possible (RFC 7009) and forgets them; false if there were none. */
    readonly logout: (server: string | URL) => Effect.Effect<boolean, OAuthError>
    /** The login at the server that is stored; asks nobody. */
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
  // An unauthorized request shows where the metadata are and which scopes are wanted; a server that answers it has none to show.
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

/** An `HttpClient` that authorizes its requests, from one that does not; and `OAuth` beside it. */
export const layer = <R = never>(
  options: Options<R>
): Layer.Layer<HttpClient.HttpClient | OAuth, never, HttpClient.HttpClient | TokenStore | R> =>
  Layer.effectContext(
    Effect.map(make(options), ({ client, service }) =>
      Context.make(HttpClient.HttpClient, client).pipe(Context.add(OAuth, service))
    )
  )
