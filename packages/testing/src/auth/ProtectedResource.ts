/** Serves a protected resource's metadata (RFC 9728), either correct or wrong, for client tests. */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as Layer from "effect/Layer"

export interface Options {
  /** Resource identifier: the MCP endpoint's URL. */
  readonly resource: string
  /** Issuers whose tokens the resource accepts. */
  readonly authorizationServers: ReadonlyArray<string>
  readonly scopes?: ReadonlyArray<string> | undefined
  /** Additional fields, which override the ones above. */
  readonly fields?: { readonly [name: string]: unknown } | undefined
}

const suffix = "/.well-known/oauth-protected-resource"

/** Returns the document. */
export const metadata = ({ authorizationServers, fields, resource, scopes }: Options) => ({
  resource,
  authorization_servers: authorizationServers,
  bearer_methods_supported: ["header"],
  ...(scopes === undefined ? undefined : { scopes_supported: scopes }),
  ...fields
})

/** Returns the URL of a resource's metadata, which has the well-known suffix before the path. */
export const metadataUrl = (resource: string): string => {
  const { origin, pathname } = new URL(resource)
  return `${origin}${suffix}${pathname === "/" ? "" : pathname}`
}

/** Serves the document before the resource's path, at the root, or at other paths. Default `path` and `root`. */
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
