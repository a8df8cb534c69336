/**
 * The client credentials grant, for programs that act on their own behalf without a user. They authenticate with a secret or a signed
 * assertion (MCP extension `io.modelcontextprotocol/oauth-client-credentials`, OAuth 2.1 section 4.2).
 */
import * as Effect from "effect/Effect"
import type { Credentials } from "./ClientIdentity.ts"
import type { Grant } from "./Grant.ts"
import { issuerOnly } from "./issuerOnly.ts"
import * as TokenEndpoint from "./TokenEndpoint.ts"

/** The client's credentials, and the authorization server that issued them. */
export interface Options extends Credentials {
  /**
   * The issuer that the credentials are for, spelled exactly as in its metadata. If it is omitted, the credentials are sent to any
   * authorization server that the MCP server names. Only omit it if every such server may see the secret.
   */
  readonly issuer?: string | undefined
}

/**
 * Creates a grant for a program that acts on its own behalf.
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
 *   clientSecret: Redacted.make("read from the environment")
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
