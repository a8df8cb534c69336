/** An authorization server's metadata (RFC 8414, OpenID Connect Discovery 1.0), and the locations at which it is served. */
import type * as Model from "./Model.ts"
import * as Proof from "./Proof.ts"
import type { AuthorizationState } from "./State.ts"
import { grants } from "./Token.ts"

/** Returns the metadata document, after changes by the script. */
export const document = (state: AuthorizationState): { readonly [name: string]: unknown } => {
  const { issuer, options, script } = state
  const { authMethods, documents, dpop, registration, scopes } = options
  return script.metadata({
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    ...(registration ? { registration_endpoint: `${issuer}/register` } : undefined),
    introspection_endpoint: `${issuer}/introspect`,
    revocation_endpoint: `${issuer}/revoke`,
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: Object.keys(grants),
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: authMethods,
    token_endpoint_auth_signing_alg_values_supported: ["ES256", "RS256", "EdDSA"],
    ...(scopes.length === 0 ? undefined : { scopes_supported: scopes }),
    authorization_response_iss_parameter_supported: true,
    ...(documents ? { client_id_metadata_document_supported: true } : undefined),
    ...(dpop === "off" ? undefined : { dpop_signing_alg_values_supported: Proof.algorithms }),
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: [options.algorithm]
  })
}

/** Returns the metadata paths of an issuer with this path, which is empty or starts with a slash. */
export const paths = (path: string, discovery: NonNullable<Model.Options["discovery"]>): ReadonlyArray<`/${string}`> =>
  discovery.map((kind): `/${string}` => {
    if (kind === "oauth") return `/.well-known/oauth-authorization-server${path}`
    if (kind === "openid") return `/.well-known/openid-configuration${path}`
    return `/${path.slice(1)}${path === "" ? "" : "/"}.well-known/openid-configuration`
  })
