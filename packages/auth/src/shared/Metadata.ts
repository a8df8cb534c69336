/**
 * Discovery documents: Protected Resource Metadata (RFC 9728) and authorization server metadata (RFC 8414, OpenID Connect Discovery 1.0).
 * Includes only the fields that a client uses.
 */
import * as Schema from "effect/Schema"

const Strings = Schema.Array(Schema.String)

/** Protected Resource Metadata (RFC 9728). */
export const ProtectedResource = Schema.Struct({
  resource: Schema.String,
  authorization_servers: Schema.optionalKey(Strings),
  scopes_supported: Schema.optionalKey(Strings),
  dpop_signing_alg_values_supported: Schema.optionalKey(Strings),
  dpop_bound_access_tokens_required: Schema.optionalKey(Schema.Boolean)
})
export type ProtectedResource = typeof ProtectedResource.Type

/** Authorization server metadata (RFC 8414). */
export const AuthorizationServer = Schema.Struct({
  issuer: Schema.String,
  authorization_endpoint: Schema.optionalKey(Schema.String),
  token_endpoint: Schema.optionalKey(Schema.String),
  registration_endpoint: Schema.optionalKey(Schema.String),
  revocation_endpoint: Schema.optionalKey(Schema.String),
  scopes_supported: Schema.optionalKey(Strings),
  grant_types_supported: Schema.optionalKey(Strings),
  code_challenge_methods_supported: Schema.optionalKey(Strings),
  token_endpoint_auth_methods_supported: Schema.optionalKey(Strings),
  token_endpoint_auth_signing_alg_values_supported: Schema.optionalKey(Strings),
  authorization_response_iss_parameter_supported: Schema.optionalKey(Schema.Boolean),
  client_id_metadata_document_supported: Schema.optionalKey(Schema.Boolean),
  dpop_signing_alg_values_supported: Schema.optionalKey(Strings)
})
export type AuthorizationServer = typeof AuthorizationServer.Type

const decodeResource = Schema.decodeUnknownOption(ProtectedResource)
const decodeServer = Schema.decodeUnknownOption(AuthorizationServer)

/** Removes fields that are null, because some servers write null for absent fields. */
export const withoutNulls = (value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null))
    : value

/** Decodes Protected Resource Metadata. */
export const protectedResource = (value: unknown) => decodeResource(withoutNulls(value))
/** Decodes authorization server metadata. */
export const authorizationServer = (value: unknown) => decodeServer(withoutNulls(value))
