/**
 * Prevents credentials for one authorization server from being sent to another.
 */
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as Effect from "effect/Effect"
import { OAuthError } from "../shared/OAuthError.ts"

/** Fails unless `issuer` matches the one in the options. If the options name no issuer, any issuer may see the credentials. */
export const issuerOnly = (
  options: { readonly issuer?: string | undefined; readonly clientId: string },
  issuer: string
): Effect.Effect<void, OAuthError> =>
  options.issuer === undefined || options.issuer === issuer
    ? Effect.void
    : Effect.fail(
        new OAuthError({
          step: "registration",
          problem: `the client ${options.clientId} is registered with a different authorization server`,
          expected: excerpt(options.issuer),
          found: excerpt(issuer),
          advice: "Register the client with this server, and use the credentials it issues."
        })
      )
