/**
 * The grant for a workload with an identity of its platform (workload identity federation, RFC 7523 section 2.1): a JWT that the platform
 * issues, exchanged for an access token.
 *
 * The JWT is asked for before each exchange, since platforms rotate it. A refusal is final: no other grant is tried.
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { Credentials } from "./ClientIdentity.ts"
import type { Grant } from "./Grant.ts"
import { issuerOnly } from "./issuerOnly.ts"
import type { OAuthError } from "../shared/OAuthError.ts"
import * as TokenEndpoint from "./TokenEndpoint.ts"

/** `grant_type` of JWT bearer assertions (RFC 7523 section 2.1). */
export const grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"

/** The client, and the JWT of its platform. */
export interface Options extends Credentials {
  /** The authorization server that trusts the platform, exactly as its metadata name it; see `ClientCredentials`. */
  readonly issuer?: string | undefined
  /** The platform's JWT for this authorization server (its `aud`), such as the text of a projected service account token. */
  readonly assertion: (issuer: string) => Effect.Effect<Redacted.Redacted<string>, OAuthError>
}

/**
 * The grant that exchanges the platform's JWT for access tokens.
 *
 * @example
 * ```ts
 * import { WorkloadIdentity } from "@effect-mcp/auth"
 * import { Effect, Redacted } from "effect"
 *
 * export const grant = WorkloadIdentity.make({
 *   clientId: "nightly-report",
 *   issuer: "https://login.example.com",
 *   assertion: (issuer) => Effect.succeed(Redacted.make(`the service account token for ${issuer}`))
 * })
 * ```
 */
export const make = (options: Options): Grant => ({
  clientId: options.clientId,
  obtain: (request) =>
    issuerOnly(options, request.metadata.issuer).pipe(
      Effect.andThen(options.assertion(request.metadata.issuer)),
      Effect.flatMap((assertion) =>
        TokenEndpoint.tokens(
          request,
          options,
          {
            grant_type: grantType,
            assertion: Redacted.value(assertion),
            resource: request.resource,
            scope: request.scopes?.join(" ")
          },
          request.scopes ?? []
        )
      )
    ),
  credentials: () => Effect.succeed(options),
  forget: () => Effect.void,
  prefers: (issuer) => options.issuer === issuer
})
