/**
 * A protected server, its authorization server and its user, in memory: every request is answered by a function and recorded. Honest
 * unless a test changes one of its parts.
 */
import * as Authorizer from "@effect-mcp/auth/client/Authorizer"
import * as AuthorizationCode from "@effect-mcp/auth/client/AuthorizationCode"
import { find } from "@effect-mcp/auth/OAuthError"
import * as OAuth from "@effect-mcp/auth/client/OAuth"
import * as TokenStore from "@effect-mcp/auth/client/TokenStore"
import { type Revision, since } from "@effect-mcp/spec/Requirement"
import { assert } from "@effect/vitest"
import { Context, Effect, Layer, type Scope } from "effect"
import { HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"

export const server = "https://mcp.example.com/mcp"
export const issuer = "https://auth.example.com"
export const prmUrl = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
export const asUrl = "https://auth.example.com/.well-known/oauth-authorization-server"

export interface Hit {
  readonly method: string
  readonly url: URL
  readonly headers: { readonly [name: string]: string | undefined }
  /** The body as a form, if it is one. */
  readonly form: URLSearchParams
  /** The body as JSON, if it is JSON. */
  readonly json: any
  readonly text: string
}

export type Answer = Response | undefined
type Handler = (hit: Hit) => Answer | Promise<Answer>

export const json = (value: unknown, status = 200, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(value), { status, headers: { "content-type": "application/json", ...headers } })

/** An HTTP client whose network is `handler`. Unanswered requests get a 404. */
export const network = (handler: Handler) => {
  const hits: Array<Hit> = []
  const http = HttpClient.make((request, url) =>
    Effect.promise(async () => {
      const web = await Effect.runPromise(HttpClientRequest.toWeb(request))
      const text = await web.text()
      const type = request.headers["content-type"] ?? ""
      const hit: Hit = {
        method: request.method,
        url,
        headers: request.headers,
        text,
        form: new URLSearchParams(type.includes("form") ? text : ""),
        json: type.includes("json") && text !== "" ? JSON.parse(text) : undefined
      }
      hits.push(hit)
      return HttpClientResponse.fromWeb(request, (await handler(hit)) ?? new Response("nothing here", { status: 404 }))
    })
  )
  return { hits, http }
}

/** Changes that a test makes to the world. */
export interface Parts {
  prm: Record<string, unknown> | undefined
  as: Record<string, unknown> | undefined
  challenge: string
  /** Returns true for access tokens that the server accepts. */
  accepts: (token: string, hit: Hit) => boolean
  /** Answers a request in place of its server. */
  intercept: Handler
  /** Changes the redirect with which the user returns. */
  redirect: (answer: URLSearchParams, url: URL) => void
  /** Changes the answer of the token endpoint. */
  token: (body: Record<string, unknown>, hit: Hit) => Record<string, unknown>
  redirectUri: string
}

const honest = (): Parts => ({
  prm: { resource: server, authorization_servers: [issuer] },
  as: {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    registration_endpoint: `${issuer}/register`,
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"]
  },
  challenge: `Bearer resource_metadata="${prmUrl}"`,
  accepts: () => true,
  intercept: () => undefined,
  redirect: () => {},
  token: (body) => body,
  redirectUri: "http://127.0.0.1/callback"
})

export interface World {
  readonly parts: Parts
  readonly hits: ReadonlyArray<Hit>
  readonly http: HttpClient.HttpClient
  /** Authorization URLs that the user has visited. */
  readonly visits: ReadonlyArray<URL>
  readonly authorizer: Authorizer.Authorizer["Service"]
  /** Returns the requests to a URL. */
  readonly at: (url: string) => ReadonlyArray<Hit>
  /** Returns the forms that the token endpoint received for a grant. */
  readonly grants: (type: string) => ReadonlyArray<URLSearchParams>
}

/** Creates a world. Its tokens are numbered in the order of issue: `at-1` with `rt-1`, and so on. */
export const make = (changes: Partial<Parts> = {}): World => {
  const parts: Parts = { ...honest(), ...changes }
  let issued = 0
  let registered = 0
  const visits: Array<URL> = []
  const { hits, http } = network(async (hit) => {
    const own = await parts.intercept(hit)
    if (own !== undefined) return own
    const url = `${hit.url.origin}${hit.url.pathname}`
    if (url === prmUrl) return parts.prm && json(parts.prm)
    if (url === asUrl) return parts.as && json(parts.as)
    if (url === `${issuer}/register`)
      return json({ client_id: `client-${++registered}`, redirect_uris: hit.json.redirect_uris }, 201)
    if (url === `${issuer}/token`) {
      issued++
      const body = {
        access_token: `at-${issued}`,
        token_type: "Bearer",
        expires_in: 3600,
        refresh_token: `rt-${issued}`
      }
      return json(parts.token(body, hit))
    }
    if (url === server) {
      const token = /^(?:Bearer|DPoP) (.+)$/.exec(hit.headers["authorization"] ?? "")?.[1]
      return token !== undefined && parts.accepts(token, hit)
        ? json({ ok: true })
        : new Response("who are you?", { status: 401, headers: { "www-authenticate": parts.challenge } })
    }
    return undefined
  })
  const authorizer = Authorizer.Authorizer.of({
    open: Effect.sync(() => ({
      redirectUri: parts.redirectUri,
      authorize: (url: URL) =>
        Effect.sync(() => {
          visits.push(url)
          const answer = new URLSearchParams({ code: "code-1", state: url.searchParams.get("state") ?? "" })
          parts.redirect(answer, url)
          return answer
        })
    }))
  })
  return {
    parts,
    hits,
    http,
    visits,
    authorizer,
    at: (url) => hits.filter((hit) => `${hit.url.origin}${hit.url.pathname}` === url),
    grants: (type) => hits.filter((hit) => hit.form.get("grant_type") === type).map((hit) => hit.form)
  }
}

export const code = (options: Partial<AuthorizationCode.Options> = {}) =>
  AuthorizationCode.make({ clientName: "test client", ...options })

export interface Client {
  readonly http: HttpClient.HttpClient
  readonly oauth: OAuth.OAuth["Service"]
  readonly store: TokenStore.TokenStore["Service"]
  /** Sends a request to the server and returns the status. */
  readonly ask: (request?: HttpClientRequest.HttpClientRequest) => Effect.Effect<number, unknown>
}

/** Creates a client in this world, with a new store by default. */
export const client = Effect.fnUntraced(function* (
  world: Pick<World, "http" | "authorizer">,
  options: Partial<OAuth.Options<Authorizer.Authorizer>> = {},
  store: TokenStore.TokenStore["Service"] = TokenStore.makeMemory()
): Effect.fn.Return<Client, never, Scope.Scope> {
  const layer = OAuth.layer({ grant: code(), ...options }).pipe(
    Layer.provide([
      Layer.succeed(TokenStore.TokenStore, store),
      Layer.succeed(HttpClient.HttpClient, world.http),
      Layer.succeed(Authorizer.Authorizer, world.authorizer)
    ])
  )
  const context = yield* Layer.build(layer)
  const http = Context.get(context, HttpClient.HttpClient)
  return {
    http,
    oauth: Context.get(context, OAuth.OAuth),
    store,
    ask: (request = HttpClientRequest.post(server)) => Effect.map(http.execute(request), ({ status }) => status)
  }
})

/** Revisions with authorization. */
export const revisions = since("2025-03-26")

/** Headers that a client of this revision sends with every request. */
const headersOf = (revision: Revision): Record<string, string> =>
  revision === "2025-03-26" ? {} : { "mcp-protocol-version": revision }

/** Like `client`, for one revision, which all of its requests name. */
export const clientAt =
  (revision: Revision) =>
  (...[world, options, store]: Parameters<typeof client>): ReturnType<typeof client> =>
    Effect.map(client(world, { protocolVersion: revision, ...options }, store), ({ ask, ...made }) => ({
      ...made,
      ask: (request = HttpClientRequest.post(server)) => ask(HttpClientRequest.setHeaders(request, headersOf(revision)))
    }))

/** Returns the `OAuthError` that the effect fails with. */
export const failure = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => {
    const found = find(error)
    assert.isDefined(found, `not an OAuthError: ${String(error)}`)
    return found
  })
