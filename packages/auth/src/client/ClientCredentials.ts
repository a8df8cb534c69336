/**
 * The client credentials grant, for a program that acts for itself (MCP extension `io.modelcontextprotocol/oauth-client-credentials`,
 * OAuth 2.1 section 4.2): a secret or a signed assertion, and no user.
 */
import * as Effect from "effect/Effect"
import type { Credentials } from "./ClientIdentity.ts"
import type { Grant } from "./Grant.ts"
import { issuerOnly } from "./issuerOnly.ts"
import * as TokenEndpoint from "./TokenEndpoint.ts"

/** The client, and the authorization server that knows it. */
export interface Options extends Credentials {
  /**
   * The authorization server that the credentials are for, exactly as its metadata name it. Without it they are sent to any one that the
   * MCP server names: leave it out only for a server that may see the secret.
   */
  readonly issuer?: string | undefined
}

/**
 * The grant for a program that acts for itself.
 *
 * @example
 * ```ts
 * import { ClientCredentials, OAuth, TokenStore } from "@effect-mcp/auth"
 * import { Layer, Redacted } from "effect"
 * import { FetchHttpClient } from "effect/http"
 *
 * const grant = ClientCredentials.make({
 *   issuer: "https://login.example.com",
 *   clientId: "nightly-report",
 *   clientSecret: Redacted.make("of the environment")
 * })
 *
 * export const authorized = OAuth.layer({ grant, scopes: ["files:read"] }).pipe(
 *   Layer.provide([TokenStore.layerMemory, FetchHttpClient.layer])
 * )
 * ```
 */
export const make = (options: Options): Grant => ({
  clientId: options.clientId,
  obtain: (request) =>
    Effect.andThen(
      issuerOnly(options, request.metadata.issuer),
      TokenEndpoint.tokens(
        request,
        options,
        { grant_type: "client_credentials", resource: request.resource, scope: request.scopes?.join(" ") },
        request.scopes ?? []
      )
    ),
  credentials: () => Effect.succeed(options),
  forget: () => Effect.void,
  prefers: (issuer) => options.issuer === issuer
})
