/**
 * The metadata of a protected resource (RFC 9728), for tests of clients: correct ones and wrong ones.
 */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as Layer from "effect/Layer"

export interface Options {
  /** The resource's identifier: the URL of the MCP endpoint. */
  readonly resource: string
  /** Issuers of the tokens that it takes. */
  readonly authorizationServers: ReadonlyArray<string>
  readonly scopes?: ReadonlyArray<string> | undefined
  /** Further fields; they replace those above. */
  readonly fields?: { readonly [name: string]: unknown } | undefined
}

const suffix = "/.well-known/oauth-protected-resource"

/** The document. */
export const metadata = ({ authorizationServers, fields, resource, scopes }: Options) => ({
  resource,
  authorization_servers: authorizationServers,
  bearer_methods_supported: ["header"],
  ...(scopes === undefined ? undefined : { scopes_supported: scopes }),
  ...fields
})

/** The URL where the metadata of a resource belong: the well-known suffix goes before the path. */
export const metadataUrl = (resource: string): string => {
  const { origin, pathname } = new URL(resource)
  return `${origin}${suffix}${pathname === "/" ? "" : pathname}`
}

/** Serves the document; `at` is where: before the resource's path, at the root, or at another path. Default `path` and `root`. */
export const layer = (
  options: Options & { readonly at?: ReadonlyArray<"path" | "root" | `/${string}`> }
): Layer.Layer<never, never, HttpRouter.HttpRouter> => {
  const { pathname } = new URL(metadataUrl(options.resource))
  const paths = (options.at ?? ["path", "root"]).map((at): string =>
    at === "path" ? pathname : at === "root" ? suffix : at
  )
  return HttpRouter.use((router) =>
    Effect.forEach(
      new Set(paths),
      (path) => router.add("GET", `/${path.slice(1)}`, HttpServerResponse.jsonUnsafe(metadata(options))),
      { discard: true }
    )
  )
}
