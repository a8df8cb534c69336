/**
 * The grant for an organization's employees (MCP extension `io.modelcontextprotocol/enterprise-managed-authorization`). Single sign-on with
 * the organization's identity provider replaces the login at each authorization server.
 *
 * It sends two requests. First the identity provider exchanges the identity assertion for an ID-JAG, a grant for one authorization server
 * and one resource (RFC 8693). Then that authorization server exchanges the ID-JAG for an access token (RFC 7523).
 */
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as ClientIdentity from "./ClientIdentity.ts"
import * as TrustedUrl from "../shared/TrustedUrl.ts"
import type { Grant, GrantRequest } from "./Grant.ts"
import { issuerOnly } from "./issuerOnly.ts"
import { parseUrl } from "../shared/url.ts"
import { OAuthError, shown } from "../shared/OAuthError.ts"
import * as TokenEndpoint from "./TokenEndpoint.ts"
import { grantType } from "./WorkloadIdentity.ts"

const idJag = "urn:ietf:params:oauth:token-type:id-jag"

/** The organization's identity provider. */
export interface IdentityProvider {
  /** The provider's issuer identifier. */
  readonly issuer: string
  readonly tokenEndpoint: string
  /** The client as registered with the provider for single sign-on. */
  readonly client: ClientIdentity.Credentials
  /**
   * The signed-in user's ID token or SAML assertion, requested before each exchange. If there are several users, also set the `account`
   * option of `OAuth`.
   */
  readonly assertion: Effect.Effect<Redacted.Redacted<string>, OAuthError>
  /** Assertion type. Default `id_token`. */
  readonly assertionType?: "id_token" | "saml2" | undefined
}

/** The client as registered with the MCP server's authorization server. */
export interface Options extends ClientIdentity.Credentials {
  /** Issuer of the MCP server's authorization server, spelled exactly as in its metadata; see `ClientCredentials`. */
  readonly issuer?: string | undefined
  readonly identityProvider: IdentityProvider
}

/** Exchanges the identity assertion for an ID-JAG. */
const exchange = Effect.fnUntraced(function* (
  { assertion, assertionType, client, issuer, tokenEndpoint }: IdentityProvider,
  request: GrantRequest
): Effect.fn.Return<string, OAuthError> {
  const url = parseUrl(tokenEndpoint)
  if (url === undefined || !TrustedUrl.isSecure(url))
    return yield* new OAuthError({
      step: "identity",
      problem: "the token endpoint of the identity provider is not secure",
      expected: "https, or http on the loopback interface",
      found: excerpt(tokenEndpoint)
    })
  const subject = yield* assertion
  const proof = yield* ClientIdentity.prove(client, { issuer, token_endpoint: tokenEndpoint })
  const response = yield* TokenEndpoint.ask(
    { server: request.server, http: request.http },
    "identity",
    url,
    {
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      requested_token_type: idJag,
      audience: request.metadata.issuer,
      resource: request.resource,
      scope: request.scopes?.join(" "),
      subject_token: Redacted.value(subject),
      subject_token_type: `urn:ietf:params:oauth:token-type:${assertionType ?? "id_token"}`,
      ...proof.parameters
    },
    proof.headers
  )
  if (response.issued_token_type !== idJag)
    return yield* new OAuthError({
      step: "identity",
      problem: "the identity provider did not issue an ID-JAG",
      url: shown(url),
      expected: idJag,
      found: excerpt(response.issued_token_type ?? "nothing")
    })
  return response.access_token
})

/**
 * Creates a grant for the user who is signed in with the identity provider.
 *
 * @example
 * ```ts
 * import { EnterpriseManaged } from "@effect-mcp/auth"
 * import { Effect, Redacted } from "effect"
 *
 * export const grant = EnterpriseManaged.make({
 *   clientId: "notes-at-files",
 *   identityProvider: {
 *     issuer: "https://sso.example.com",
 *     tokenEndpoint: "https://sso.example.com/token",
 *     client: { clientId: "notes" },
 *     assertion: Effect.succeed(Redacted.make("the ID token of the single sign-on"))
 *   }
 * })
 * ```
 */
export const make = (options: Options): Grant => ({
  clientId: options.clientId,
  obtain: (request) =>
    issuerOnly(options, request.metadata.issuer).pipe(
      Effect.andThen(exchange(options.identityProvider, request)),
      Effect.flatMap((assertion) =>
        // The ID-JAG already names the resource, but some authorization servers read the parameter instead.
        TokenEndpoint.tokens(
          request,
          options,
          { grant_type: grantType, assertion, resource: request.resource, scope: request.scopes?.join(" ") },
          request.scopes ?? []
        )
      )
    ),
  credentials: () => Effect.succeed(options),
  forget: () => Effect.void,
  prefers: (issuer) => options.issuer === issuer
})
