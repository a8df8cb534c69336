/**
 * Protected Resource Metadata of an MCP endpoint (RFC 9728): the document and its well-known paths.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9728 OAuth 2.0 Protected Resource Metadata
 */
import * as Headers from "effect/http/Headers"
import * as HttpServerResponse from "effect/http/HttpServerResponse"

/** Content of the metadata. */
export interface Options {
  /** Public URL of the MCP endpoint, as clients know it. It is the audience of the endpoint's tokens. */
  readonly resource: string
  /** Issuers of accepted tokens, spelled exactly as in their own metadata. */
  readonly authorizationServers: readonly [string, ...ReadonlyArray<string>]
  /** Scopes to advertise: the fewest with which a client can do something useful. Default: the scopes that every request needs. */
  readonly scopesSupported?: ReadonlyArray<string> | undefined
  /** Name of this server for users (`resource_name`). */
  readonly name?: string | undefined
  /** URL of documentation for users (`resource_documentation`). */
  readonly documentation?: string | undefined
}

/** The well-known path of RFC 9728. */
export const suffix = "/.well-known/oauth-protected-resource"

/** Returns the path of the metadata: the suffix, then the path of the resource (RFC 9728 section 3.1). */
export const path = (resource: string): `/${string}` => {
  const { pathname } = new URL(resource)
  return `${suffix}${pathname === "/" ? "" : pathname}`
}

/** Returns the URL of the metadata, for challenges. */
export const url = (resource: string): string => `${new URL(resource).origin}${path(resource)}`

interface Dpop {
  readonly algorithms: ReadonlyArray<string>
  readonly required: boolean
}

/** Returns the metadata as JSON. */
export const document = (options: Options, scopes: ReadonlyArray<string>, dpop: Dpop | undefined) => ({
  resource: options.resource,
  authorization_servers: options.authorizationServers,
  ...(scopes.length === 0 ? undefined : { scopes_supported: scopes }),
  bearer_methods_supported: ["header"],
  ...(options.name === undefined ? undefined : { resource_name: options.name }),
  ...(options.documentation === undefined ? undefined : { resource_documentation: options.documentation }),
  ...(dpop === undefined
    ? undefined
    : {
        dpop_signing_alg_values_supported: dpop.algorithms,
        dpop_bound_access_tokens_required: dpop.required
      })
})

/** Metadata are public, so clients in browsers may read them from anywhere. */
const open = { "access-control-allow-origin": "*", "cache-control": "max-age=300" }

/** The response with a public document, cacheable for five minutes. */
export const response = (body: unknown): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(body, { headers: Headers.fromInput(open) })

/** The response to a CORS preflight for headers such as `MCP-Protocol-Version`. */
export const preflight = HttpServerResponse.empty({
  status: 204,
  headers: { ...open, "access-control-allow-methods": "GET", "access-control-allow-headers": "*" }
})
