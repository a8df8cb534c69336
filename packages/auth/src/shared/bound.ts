/** Credentials that were given for one authorization server are not shown to another. */
import * as Effect from "effect/Effect"
import { OAuthError, printable } from "./OAuthError.ts"

export const issuerOnly = (
  options: { readonly issuer?: string | undefined; readonly clientId: string },
  issuer: string
): Effect.Effect<void, OAuthError> =>
  options.issuer === undefined || options.issuer === issuer
    ? Effect.void
    : Effect.fail(
        new OAuthError({
          step: "registration",
          problem: `the client ${options.clientId} is registered with another authorization server`,
          expected: printable(options.issuer),
          found: printable(issuer),
          advice: "Register the client with the new one and give the credentials that it issues."
        })
      )
