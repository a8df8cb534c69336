/**
 * The grant for a workload that its platform vouches for (workload identity federation, RFC 7523 section 2.1): a JWT of the platform,
 * exchanged for a token.
 *
 * The assertion is asked for each time: platforms rotate them. A refusal is final; nothing else is tried.
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { Credentials } from "./ClientIdentity.ts"
import type { Grant } from "./Grant.ts"
import { issuerOnly } from "./issuerOnly.ts"
import type { OAuthError } from "../shared/OAuthError.ts"
import * as TokenEndpoint from "./TokenEndpoint.ts"

/** JWT bearer assertions (RFC 7523). */
export const grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"

/** The client, and what its platform says of it. */
export interface Options extends Credentials {
  /** The authorization server that trusts the platform, exactly as its metadata name it; see `ClientCredentials`. */
  readonly issuer?: string | undefined
  /** The platform's JWT for this authorization server (its `aud`), such as the text of a projected service account token. */
  readonly assertion: (issuer: string) => Effect.Effect<Redacted.Redacted<string>, OAuthError>
}

/** Tokens for what the platform vouches for. */
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
