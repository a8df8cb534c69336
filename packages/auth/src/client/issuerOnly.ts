/**
 * The check that credentials made for one authorization server are not sent to another.
 */
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as Effect from "effect/Effect"
import { OAuthError } from "../shared/OAuthError.ts"

/** Fails unless `issuer` is the one in the options; without one in the options any issuer may see the credentials. */
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
          expected: excerpt(options.issuer),
          found: excerpt(issuer),
          advice: "Register the client with the new one and give the credentials that it issues."
        })
      )
