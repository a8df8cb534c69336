/**
 * The authorization code grant. The user logs in on the authorization server's page, which returns a code to exchange for tokens (OAuth 2.1
 * section 4.1).
 *
 * Always uses PKCE (S256) and `state`. Each request records the expected response: its issuer (RFC 9207), state and verifier. If
 * the state or issuer doesn't match, no other parameter of the response is read or shown.
 */
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as Effect from "effect/Effect"
import * as Jose from "jose"
import { Authorizer } from "./Authorizer.ts"
import * as TrustedUrl from "../shared/TrustedUrl.ts"
import type { Grant, GrantRequest } from "./Grant.ts"
import { random, sha256 } from "../shared/hash.ts"
import { OAuthError, listed } from "../shared/OAuthError.ts"
import * as Registration from "./Registration.ts"
import * as TokenEndpoint from "./TokenEndpoint.ts"

/** Options for the grant: how to register the client, and whether to request a refresh token. */
export interface Options extends Registration.Options {
  /** Whether to request `offline_access`, and thereby a refresh token, if the authorization server offers that scope. Default true. */
  readonly offlineAccess?: boolean | undefined
}

/** Values that the response must contain, recorded before the browser opens. */
interface Expected {
  readonly issuer: string
  readonly state: string
  readonly verifier: string
  readonly issRequired: boolean
}

const fail = (details: Omit<ConstructorParameters<typeof OAuthError>[0], "step">) =>
  new OAuthError({ step: "authorization", ...details })

/** Returns the code if the response matches. */
const codeOf = (answer: URLSearchParams, expected: Expected): Effect.Effect<string, OAuthError> => {
  const one = (name: string) => {
    const values = answer.getAll(name)
    return values.length === 1 ? values[0] : undefined
  }
  if (one("state") !== expected.state)
    return Effect.fail(
      fail({
        problem: "the response belongs to a different login: its `state` does not match",
        advice: "Log in again."
      })
    )
  // By code units: RFC 9207 section 2.4 and MCP allow no normalization.
  if (answer.has("iss") ? one("iss") !== expected.issuer : expected.issRequired)
    return Effect.fail(
      fail({
        problem: answer.has("iss")
          ? "the response comes from a different authorization server"
          : "the response does not say which authorization server it comes from",
        expected: `\`iss\` ${excerpt(expected.issuer)}`,
        advice: "This may be an attack (mix-up), so the response was not used."
      })
    )
  const error = answer.get("error")
  if (error !== null)
    return Effect.fail(
      fail({
        problem: error === "access_denied" ? "the login was declined" : "the authorization server refused the request",
        url: excerpt(expected.issuer),
        code: excerpt(error),
        found: answer.has("error_description") ? excerpt(answer.get("error_description") ?? "") : undefined
      })
    )
  const code = one("code")
  return code === undefined || code === ""
    ? Effect.fail(fail({ problem: "the response has no code", url: excerpt(expected.issuer) }))
    : Effect.succeed(code)
}

/** The request's scopes, including `offline_access` if the options and the server allow it. */
const withOffline = (options: Options, { metadata, scopes }: GrantRequest): string | undefined => {
  if (scopes === undefined) return undefined
  const offline = options.offlineAccess !== false && metadata.scopes_supported?.includes("offline_access") === true
  return [...new Set(offline ? [...scopes, "offline_access"] : scopes)].join(" ")
}

/** URL of the login page. Fails if the authorization server does not advertise PKCE support. */
export const page = Effect.fnUntraced(function* (request: GrantRequest): Effect.fn.Return<URL, OAuthError> {
  const { metadata } = request
  if (metadata.code_challenge_methods_supported?.includes("S256") !== true)
    return yield* new OAuthError({
      step: "server-metadata",
      problem: "the authorization server does not advertise support for PKCE with S256",
      url: excerpt(metadata.issuer),
      expected: "`code_challenge_methods_supported` with S256",
      found: listed(metadata.code_challenge_methods_supported),
      advice: "Without PKCE, an attacker could use a stolen code. Ask the authorization server's operator to enable it."
    })
  return yield* TrustedUrl.check(
    "server-metadata",
    "`authorization_endpoint`",
    metadata.authorization_endpoint ?? "",
    request
  )
})

/** Returns a login's redirect URI. Fails unless it is secure. */
export const secureRedirect = (redirectUri: string): Effect.Effect<string, OAuthError> =>
  TrustedUrl.isRedirectUri(redirectUri)
    ? Effect.succeed(redirectUri)
    : Effect.fail(
        fail({
          problem: "the redirect URI is not secure",
          expected: "https, or http on the loopback interface",
          found: excerpt(redirectUri)
        })
      )

/** Parameters for a single login. */
export interface PageRequest {
  readonly clientId: string
  readonly redirectUri: string
  readonly state: string | undefined
  /** The PKCE secret. Only its hash is sent. */
  readonly verifier: string
  readonly scope: string | undefined
}

/** Returns the URL to open in the browser for this login. */
export const pageFor = Effect.fnUntraced(function* (
  page: URL,
  { binding, resource }: GrantRequest,
  { clientId, redirectUri, scope, state, verifier }: PageRequest
): Effect.fn.Return<URL> {
  const parameters = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    state,
    code_challenge: yield* sha256(verifier),
    code_challenge_method: "S256",
    resource,
    scope,
    // OpenID Connect grants offline access only after consent (Core 1.0 section 11).
    prompt: scope?.split(" ").includes("offline_access") === true ? "consent" : undefined,
    dpop_jkt: binding === undefined ? undefined : yield* thumbprint(binding)
  }
  const url = new URL(page)
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) url.searchParams.set(name, value)
  return url
})

const obtain = Effect.fnUntraced(function* (options: Options, request: GrantRequest) {
  const { metadata, resource } = request
  const authorizer = yield* Authorizer
  const endpoint = yield* page(request)
  const flow = yield* authorizer.open
  const redirectUri = yield* secureRedirect(flow.redirectUri)
  const credentials = yield* Registration.credentials(options, request, redirectUri)
  const { clientId } = credentials
  const expected: Expected = {
    issuer: metadata.issuer,
    state: yield* random,
    verifier: yield* random,
    issRequired: metadata.authorization_response_iss_parameter_supported === true
  }
  const login = { ...expected, clientId, redirectUri, scope: withOffline(options, request) }
  const code = yield* codeOf(yield* flow.authorize(yield* pageFor(endpoint, request, login)), expected)
  return yield* TokenEndpoint.tokens(
    request,
    credentials,
    {
      grant_type: "authorization_code",
      code,
      redirect_uri: redirectUri,
      code_verifier: expected.verifier,
      resource
    },
    request.scopes ?? []
  )
}, Effect.scoped)

const thumbprint = ({ key }: TokenEndpoint.Binding) => Effect.promise(() => Jose.calculateJwkThumbprint(key.jwk))

/**
 * Creates a grant for a user, who logs in using the browser that `Authorizer` opens.
 *
 * @example
 * ```ts
 * import { AuthorizationCode } from "@effect-mcp/auth"
 *
 * export const grant = AuthorizationCode.make({
 *   clientName: "Notes",
 *   metadataUrl: "https://notes.example.com/client.json",
 *   preRegistered: [{ issuer: "https://login.example.com", clientId: "notes" }]
 * })
 * ```
 */
export const make = (options: Options): Grant<Authorizer> => ({
  obtain: (request) =>
    Effect.tapError(obtain(options, request), ({ code, step }) =>
      // The registration may have been deleted, which some authorization servers only show on a page: register again next time.
      code === "invalid_client" || (step === "authorization" && code === undefined)
        ? Registration.forget(request.metadata.issuer)
        : Effect.void
    ),
  credentials: (request, tokens) => Registration.known(options, request, tokens),
  forget: Registration.forget,
  prefers: (issuer) => options.preRegistered?.some((credentials) => credentials.issuer === issuer) === true
})
