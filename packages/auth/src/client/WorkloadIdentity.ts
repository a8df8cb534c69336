/**
 * The grant for workloads whose platform provides an identity (workload identity federation, RFC 7523 section 2.1). It exchanges the
 * platform's JWT for an access token.
 *
 * The JWT is requested before each exchange, because platforms rotate it. If it is rejected, no other grant is tried.
 */
import { effectOf } from "@effect-mcp/core/internal/calling"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { Credentials } from "./ClientIdentity.ts"
import type { Grant } from "./Grant.ts"
import { issuerOnly } from "./issuerOnly.ts"
import type { OAuthError } from "../shared/OAuthError.ts"
import * as TokenEndpoint from "./TokenEndpoint.ts"

/** The `grant_type` for JWT bearer assertions (RFC 7523 section 2.1). */
export const grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"

/** The client's credentials and its platform's JWT. */
export interface Options extends Credentials {
  /** The issuer that trusts the platform, spelled exactly as in its metadata; see `ClientCredentials`. */
  readonly issuer?: string | undefined
  /** Returns the platform's JWT for this authorization server (its `aud`), for example a projected service account token. */
  readonly assertion: (issuer: string) => Effect.Effect<Redacted.Redacted<string>, OAuthError>
}

/**
 * Creates a grant that exchanges the platform's JWT for access tokens.
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
      Effect.andThen(effectOf("WorkloadIdentity.assertion", () => options.assertion(request.metadata.issuer))),
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
