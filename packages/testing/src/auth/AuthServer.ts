/**
 * An OAuth 2.1 authorization server for tests, with real HTTP, real JWTs, a scripted user, and faults on demand.
 *
 * Implements every endpoint a client or a protected server may need: metadata, authorization code with PKCE, refresh with rotation, client
 * credentials, token exchange, assertions, registration, client metadata documents, introspection, revocation and DPoP. It discards all
 * data when its scope closes and never asks a user for consent, so don't use it outside tests.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServer from "effect/http/HttpServer"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Jose from "jose"
import * as Authorize from "./Authorize.ts"
import * as Clients from "./Clients.ts"
import * as Metadata from "./Metadata.ts"
import type * as Model from "./Model.ts"
import { invalidRequest, type OAuthRefusal } from "./OAuthError.ts"
import * as State from "./State.ts"
import * as Token from "./Token.ts"

export type * from "./Model.ts"

export interface Issued {
  readonly subject?: string
  readonly scopes?: ReadonlyArray<string>
  /** The token's audience: the resources it is valid for. */
  readonly resources?: ReadonlyArray<string>
  readonly clientId?: string
  /** Thumbprint of the key the token is bound to. */
  readonly jkt?: string
  /** Lifetime in seconds. Use a negative number for a token that has already expired. */
  readonly lifetime?: number
  /** The token's `typ` header. Default `at+jwt`. */
  readonly type?: string
}

/** An authorization server running in the test process. */
export class AuthServer extends Context.Service<
  AuthServer,
  {
    readonly issuer: string
    /** The metadata document, with the script's changes applied. */
    readonly metadata: Effect.Effect<{ readonly [name: string]: unknown }>
    /** Changes the server's behavior from now on. */
    readonly script: (changes: Partial<Model.AuthorizationScript>) => Effect.Effect<void>
    /**
     * Registers a client ahead of time. Default: a public client that may use all common grants and redirects to `/callback` on any
     * loopback port.
     */
    readonly register: (client?: Partial<Model.RegisteredClient>) => Effect.Effect<Model.RegisteredClient>
    /** Issues an access token directly, without going through a flow. */
    readonly issue: (token?: Issued) => Effect.Effect<string>
    /** Issues an ID token for a user and client. */
    readonly idToken: (token: { readonly subject: string; readonly clientId: string }) => Effect.Effect<string>
    /** Revokes a token. Revoking a refresh token also revokes every other token from the same approval. */
    readonly revoke: (token: string) => Effect.Effect<void>
    /** The keys currently published. */
    readonly jwks: Effect.Effect<Jose.JSONWebKeySet>
    /** Starts signing with a new key. Unless `keep` is set, withdraws the older keys. */
    readonly rotateKeys: (options?: { readonly keep?: boolean }) => Effect.Effect<void>
    /** Accepts assertions from this issuer as grants (RFC 7523). */
    readonly trust: (issuer: string, keys: Jose.JSONWebKeySet) => Effect.Effect<void>
    /** Acts as the browser: follows an authorization URL and returns the URL it redirects to. */
    readonly visit: (url: string | URL) => Effect.Effect<URL>
    /** Requests received so far, oldest first. */
    readonly requests: Effect.Effect<ReadonlyArray<Model.RecordedRequest>>
    /** Number of requests of this kind received so far. */
    readonly count: (kind: Model.RequestKind) => Effect.Effect<number>
  }
>()("@effect-mcp/testing/auth/AuthServer") {}

const json = (value: unknown, status = 200) =>
  HttpServerResponse.jsonUnsafe(value, { status, headers: { "cache-control": "no-store" } })

const allGrants = Object.keys(Token.grants)

const make = (state: State.AuthorizationState): AuthServer["Service"] => ({
  issuer: state.issuer,
  metadata: Effect.sync(() => Metadata.document(state)),
  script: (changes) => Effect.sync(() => void (state.script = { ...state.script, ...changes })),
  register: (client) =>
    Effect.sync(() => {
      const registered: Model.RegisteredClient = {
        clientId: State.random(),
        authMethod: "none",
        redirectUris: ["http://127.0.0.1/callback"],
        grantTypes: allGrants,
        metadata: {},
        ...client
      }
      state.clients.set(registered.clientId, registered)
      return registered
    }),
  issue: ({ clientId = "client", jkt, lifetime, resources = [], scopes = [], subject = "alice", type } = {}) =>
    State.accessToken(state, { clientId, jkt, resources, scopes, subject, family: State.random() }, lifetime, type),
  idToken: ({ clientId, subject }) =>
    Effect.flatMap(State.now, (iat) =>
      State.sign(
        state,
        "id_token",
        { iss: state.issuer, sub: subject, aud: clientId, iat, exp: iat + 600 },
        { typ: "JWT" }
      )
    ),
  revoke: (token) => Effect.sync(() => revoke(state, token)),
  jwks: Effect.sync(() => state.keys.published()),
  rotateKeys: (options) => state.keys.rotate(options),
  trust: (issuer, keys) => Effect.sync(() => void state.trusted.set(issuer, keys)),
  visit: (url) =>
    Effect.promise(async () => {
      const response = await fetch(url, { redirect: "manual" })
      const location = response.headers.get("location")
      if (location === null)
        throw new Error(`Expected a redirect, but received ${response.status}: ${await response.text()}`)
      return new URL(location)
    }),
  requests: Effect.sync(() => [...state.requests]),
  count: (kind) => Effect.sync(() => state.requests.filter((request) => request.kind === kind).length)
})

const revoke = (state: State.AuthorizationState, token: string): void => {
  const access = state.accessTokens.get(token)
  if (access !== undefined) access.revoked = true
  const refresh = state.refreshTokens.get(token)
  if (refresh !== undefined) State.endFamily(state, refresh.family)
}

/** Introspection (RFC 7662): returns the claims of a valid token. For any other token it only says that the token is not active. */
const introspect = Effect.fnUntraced(function* (
  state: State.AuthorizationState,
  token: string
): Effect.fn.Return<object> {
  const known = state.accessTokens.get(token)
  if (known === undefined || known.revoked || known.expires <= (yield* State.now)) return { active: false }
  const claims = state.script.claims("access_token", State.claimsOf(state, known))
  return { active: true, token_type: known.jkt === undefined ? "Bearer" : "DPoP", username: known.subject, ...claims }
})

type Answer = Effect.Effect<HttpServerResponse.HttpServerResponse, OAuthRefusal>

/** Records the request, and answers it unless the script does. */
const serve = (
  state: State.AuthorizationState,
  request: HttpServerRequest,
  kind: Model.RequestKind,
  params: { readonly [name: string]: unknown },
  answer: Answer
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  const recorded = { kind, params, path: request.url, headers: request.headers }
  state.requests.push(recorded)
  return Effect.flatMap(state.script.intercept(recorded), (scripted) =>
    scripted === undefined ? Effect.catch(answer, (error) => Effect.succeed(error.response)) : Effect.succeed(scripted)
  )
}

const noForm = invalidRequest("The body must be application/x-www-form-urlencoded")

/** Adds routes below the issuer's path that record their requests. */
const recorder = (state: State.AuthorizationState, router: HttpRouter.HttpRouter, path: string) => {
  const below = (name: string): `/${string}` => `/${`${path}/${name}`.slice(1)}`
  const get = (at: `/${string}`, kind: Model.RequestKind, answer: (query: URLSearchParams) => Answer) =>
    router.add("GET", at, (request) => {
      const query = new URL(request.url, state.issuer).searchParams
      const answered = Effect.suspend(() => answer(query))
      return serve(state, request, kind, Object.fromEntries(query), answered)
    })
  const post = (
    name: string,
    kindOf: (form: URLSearchParams) => Model.RequestKind,
    answer: (form: URLSearchParams, headers: Model.RecordedRequest["headers"]) => Answer
  ) =>
    router.add("POST", below(name), (request) =>
      Effect.flatMap(Effect.orDie(request.text), (body) => {
        const form = new URLSearchParams(body)
        const isForm = /^application\/x-www-form-urlencoded\b/.test(request.headers["content-type"] ?? "")
        const answered = isForm ? Effect.suspend(() => answer(form, request.headers)) : Effect.fail(noForm)
        return serve(state, request, kindOf(form), Object.fromEntries(form), answered)
      })
    )
  return { below, get, post }
}

/** Endpoints that accept a form: token, introspection, revocation. */
const addForms = Effect.fnUntraced(function* (state: State.AuthorizationState, { post }: ReturnType<typeof recorder>) {
  yield* post(
    "token",
    (form) => Token.kindOf(form.get("grant_type")),
    (form, headers) => Effect.map(Token.token(state, form, headers, `${state.issuer}/token`), (value) => json(value))
  )
  yield* post(
    "introspect",
    () => "introspect",
    (form, headers) =>
      Effect.andThen(
        Clients.authenticate(state, form, headers),
        Effect.map(introspect(state, form.get("token") ?? ""), (value) => json(value))
      )
  )
  yield* post(
    "revoke",
    () => "revoke",
    (form, headers) =>
      Effect.map(Clients.authenticate(state, form, headers), () => {
        revoke(state, form.get("token") ?? "")
        return json({})
      })
  )
})

const routes = Effect.fnUntraced(function* (
  options: Model.Options
): Effect.fn.Return<AuthServer["Service"], never, HttpRouter.HttpRouter | HttpServer.HttpServer> {
  const router = yield* HttpRouter.HttpRouter
  const { address } = yield* HttpServer.HttpServer
  const { path = "" } = options
  const origin = HttpServer.formatAddress(address).replace("0.0.0.0", "127.0.0.1")
  const state = yield* State.make(`${origin}${path}`, options)
  const recorded = recorder(state, router, path)
  const { below, get } = recorded

  for (const at of Metadata.paths(path, state.options.discovery)) {
    yield* get(at, "metadata", () => Effect.sync(() => json(Metadata.document(state))))
  }
  yield* get(below("jwks"), "jwks", () => Effect.sync(() => json(state.keys.published())))
  yield* get(below("authorize"), "authorize", (query) => Authorize.authorize(state, query))
  yield* addForms(state, recorded)
  if (state.options.registration) {
    yield* router.add("POST", below("register"), (request) =>
      Effect.flatMap(Effect.option(request.json), (body) => {
        const params = Option.filter(body, Clients.isFields).pipe(Option.getOrElse(() => ({})))
        const answer = Effect.map(Clients.register(state, params), (client) => json(client, 201))
        return serve(state, request, "register", params, answer)
      })
    )
  }
  return make(state)
})

/** Adds the server's routes to an existing router. In 2025-03-26, the authorization server shares the MCP server's origin. */
export const layerRoutes = (
  options: Model.Options = {}
): Layer.Layer<AuthServer, never, HttpRouter.HttpRouter | HttpServer.HttpServer> =>
  Layer.effect(AuthServer, routes(options))

/**
 * Serves on its own HTTP server, whose address is the issuer.
 *
 * @example
 * ```ts
 * import { AuthServer } from "@effect-mcp/testing"
 * import { NodeHttpServer } from "@effect/platform-node"
 * import { Effect, Layer } from "effect"
 * import { createServer } from "node:http"
 *
 * const issuer = AuthServer.layer().pipe(
 *   Layer.provide(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }))
 * )
 *
 * const test = Effect.gen(function* () {
 *   const server = yield* AuthServer.AuthServer
 *   const token = yield* server.issue({ subject: "ada", scopes: ["notes:read"] })
 *   console.log(token.split(".").length) // => 3
 * })
 *
 * await Effect.runPromise(Effect.provide(test, issuer))
 * ```
 */
export const layer = (options: Model.Options = {}): Layer.Layer<AuthServer, never, HttpServer.HttpServer> =>
  HttpRouter.serve(layerRoutes(options), { disableLogger: true, disableListenLog: true })
