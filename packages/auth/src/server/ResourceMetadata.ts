/**
 * Protected Resource Metadata for an MCP endpoint (RFC 9728): the document and its well-known paths.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9728 OAuth 2.0 Protected Resource Metadata
 */
import * as Headers from "effect/http/Headers"
import * as HttpServerResponse from "effect/http/HttpServerResponse"

/** The metadata's content. */
export interface Options {
  /** The MCP endpoint's public URL, as clients know it. It is also the audience of the endpoint's tokens. */
  readonly resource: string
  /** Issuers of accepted tokens, spelled exactly as in their own metadata. */
  readonly authorizationServers: readonly [string, ...ReadonlyArray<string>]
  /** Scopes to advertise: the minimum with which a client can do something useful. Defaults to the scopes required for every request. */
  readonly scopesSupported?: ReadonlyArray<string> | undefined
  /** The server's display name (`resource_name`). */
  readonly name?: string | undefined
  /** URL of the user documentation (`resource_documentation`). */
  readonly documentation?: string | undefined
}

/** The well-known path of RFC 9728. */
export const suffix = "/.well-known/oauth-protected-resource"

/** Returns the metadata's path: the suffix followed by the resource's path (RFC 9728 section 3.1). */
export const path = (resource: string): `/${string}` => {
  const { pathname } = new URL(resource)
  return `${suffix}${pathname === "/" ? "" : pathname}`
}

/** Returns the metadata's URL, for challenges. */
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

/** The metadata is public, so browser clients may read it from any origin. */
const open = { "access-control-allow-origin": "*", "cache-control": "max-age=300" }

/** A response with a public document, cacheable for five minutes. */
export const response = (body: unknown): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(body, { headers: Headers.fromInput(open) })

/** The response to a CORS preflight for headers such as `MCP-Protocol-Version`. */
export const preflight = HttpServerResponse.empty({
  status: 204,
  headers: { ...open, "access-control-allow-methods": "GET", "access-control-allow-headers": "*" }
})
