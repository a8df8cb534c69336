/**
 * Finds the authorization server that protects an MCP server (RFC 9728, RFC 8414, OpenID Connect Discovery 1.0).
 *
 * Tries the well-known URIs in order, and checks that `resource` covers the MCP server and that `issuer` exactly matches the requested one.
 * A server without resource metadata is treated as a 2025-03-26 server, whose own origin is the authorization server.
 */
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Option from "effect/Option"
import * as TrustedUrl from "./TrustedUrl.ts"
import * as Fetch from "./Fetch.ts"
import { parseUrl } from "./url.ts"
import * as Metadata from "./Metadata.ts"
import { OAuthError, type Step, shown } from "./OAuthError.ts"

export interface Options extends TrustedUrl.Trust {
  readonly http: HttpClient.HttpClient
  /** Revision to send in the `MCP-Protocol-Version` header of metadata requests. */
  readonly protocolVersion: string
  /** Whether to treat a server without resource metadata as a 2025-03-26 server. */
  readonly fallback: boolean
}

/** A protected server: its resource indicator, authorization servers and metadata. */
export interface ProtectedServer {
  /** The `resource` parameter for token requests (RFC 8707), or `undefined` for a 2025-03-26 server. */
  readonly indicator: string | undefined
  readonly issuers: readonly [string, ...ReadonlyArray<string>]
  readonly scopes: ReadonlyArray<string> | undefined
  readonly metadata: Metadata.ProtectedResource | undefined
}

const get = (options: Options, step: Step, url: URL) =>
  Fetch.send(
    options.http,
    step,
    HttpClientRequest.get(url, { headers: { "mcp-protocol-version": options.protocolVersion } })
  )

/** Returns the well-known URIs of a server's resource metadata, first for its path and then for its root. */
export const resourceMetadataUrls = (server: URL): ReadonlyArray<URL> => {
  const root = new URL("/.well-known/oauth-protected-resource", server.origin)
  const path = server.pathname.replace(/\/+$/, "")
  return path === "" ? [root] : [new URL(root.pathname + path + server.search, server.origin), root]
}

/** Returns the well-known URIs of an issuer's metadata, in the order that the specification defines. */
export const serverMetadataUrls = (issuer: URL): ReadonlyArray<URL> => {
  const path = issuer.pathname.replace(/\/+$/, "")
  const at = (pathname: string) => new URL(pathname, issuer.origin)
  const oauth = "/.well-known/oauth-authorization-server"
  const openid = "/.well-known/openid-configuration"
  return path === "" ? [at(oauth), at(openid)] : [at(oauth + path), at(openid + path), at(path + openid)]
}

const failed = (step: Step, url: URL, status: number): OAuthError =>
  new OAuthError({ step, problem: "the server returned an error", url: shown(url), status, advice: "Try again later." })

/** True if metadata with this `resource` covers the server, because the URL is the same or a parent path (RFC 9728 section 3.3). */
export const speaksFor = (resource: string, server: URL): boolean => {
  const url = parseUrl(resource)
  if (url === undefined || url.hash !== "" || url.origin !== server.origin) return false
  if (url.search !== "" && url.search !== server.search) return false
  const base = url.pathname.replace(/\/+$/, "")
  return server.pathname === base || server.pathname.startsWith(`${base}/`)
}

const readResource = Effect.fnUntraced(function* (
  options: Options,
  url: URL,
  json: unknown
): Effect.fn.Return<ProtectedServer, OAuthError> {
  const decoded = Metadata.protectedResource(json)
  const fail = (problem: string, expected: string, found?: string) =>
    new OAuthError({
      step: "resource-metadata",
      problem,
      url: shown(url),
      expected,
      found,
      advice: "Ask the MCP server's operator to correct its Protected Resource Metadata (RFC 9728)."
    })
  if (Option.isNone(decoded)) return yield* fail("the document is not Protected Resource Metadata", "`resource`")
  const metadata = decoded.value
  if (!speaksFor(metadata.resource, options.server))
    return yield* fail("the metadata is for a different resource", shown(options.server), excerpt(metadata.resource))
  const [first, ...others] = metadata.authorization_servers ?? []
  if (first === undefined) return yield* fail("the metadata lists no authorization server", "`authorization_servers`")
  return { indicator: metadata.resource, issuers: [first, ...others], scopes: metadata.scopes_supported, metadata }
})

/** No resource metadata was found. */
export class Absent extends Data.TaggedError("Absent")<{ readonly error: OAuthError }> {}

/** Reads the resource metadata from the URL in the challenge if there is one, or else from the well-known URIs. */
export const find = Effect.fnUntraced(function* (
  options: Options,
  challenged: string | undefined
): Effect.fn.Return<ProtectedServer, OAuthError | Absent> {
  const step = "resource-metadata"
  if (challenged !== undefined) {
    const url = yield* TrustedUrl.check(step, "the challenge's `resource_metadata`", challenged, options)
    const { status, json } = yield* get(options, step, url)
    if (status === 200) return yield* readResource(options, url, json)
    const error = new OAuthError({ step, problem: "the metadata document was not found", url: shown(url), status })
    return yield* status >= 500 ? error : new Absent({ error })
  }
  const urls = resourceMetadataUrls(options.server)
  for (const url of urls) {
    const { status, json } = yield* get(options, step, url)
    if (status >= 500) return yield* failed(step, url, status)
    // Many sites answer every path with a web page, so a response that is not JSON counts as absent.
    if (status === 200 && json !== undefined) return yield* readResource(options, url, json)
  }
  return yield* new Absent({
    error: new OAuthError({
      step,
      problem: "the server has no Protected Resource Metadata",
      expected: `JSON at ${urls.map(shown).join(" or ")}`
    })
  })
})

/** Like `find`, but if the options allow it, treats a server without metadata or a challenge as a 2025-03-26 server. */
export const resource = (
  options: Options,
  challenged: string | undefined
): Effect.Effect<ProtectedServer, OAuthError> =>
  Effect.catchTag(find(options, challenged), "Absent", ({ error }) =>
    challenged === undefined && options.fallback
      ? Effect.succeed<ProtectedServer>({
          indicator: undefined,
          issuers: [options.server.origin],
          scopes: undefined,
          metadata: undefined
        })
      : Effect.fail(error)
  )

/** Default endpoints for a 2025-03-26 server without metadata. */
const defaults = (origin: string): Metadata.AuthorizationServer => ({
  issuer: origin,
  authorization_endpoint: `${origin}/authorize`,
  token_endpoint: `${origin}/token`,
  registration_endpoint: `${origin}/register`,
  code_challenge_methods_supported: ["S256"]
})

/** Finds an issuer's metadata and checks that it names that issuer (RFC 8414 section 3.3). */
export const server = Effect.fnUntraced(function* (
  options: Options,
  issuer: string,
  legacy: boolean
): Effect.fn.Return<Metadata.AuthorizationServer, OAuthError> {
  const step = "server-metadata"
  const base = yield* TrustedUrl.check(step, "the issuer", issuer, options)
  const wellKnown = serverMetadataUrls(base)
  // Before 2025-06-18 the specification names only one URI.
  const urls = legacy ? wellKnown.slice(0, 1) : wellKnown
  for (const url of urls) {
    const { status, json } = yield* get(options, step, url)
    if (status >= 500) return yield* failed(step, url, status)
    if (status !== 200 || json === undefined) continue
    const decoded = Metadata.authorizationServer(json)
    if (Option.isNone(decoded))
      return yield* new OAuthError({
        step,
        problem: "the document is not valid metadata",
        url: shown(url),
        expected: "`issuer`"
      })
    if (decoded.value.issuer !== issuer)
      return yield* new OAuthError({
        step,
        problem: "the metadata belongs to a different issuer",
        url: shown(url),
        expected: excerpt(issuer),
        found: excerpt(decoded.value.issuer),
        advice:
          "`authorization_servers` and `issuer` must be identical, including a trailing slash. A different issuer may be an attack."
      })
    return decoded.value
  }
  if (legacy) return defaults(issuer)
  return yield* new OAuthError({
    step,
    problem: "the authorization server has no metadata",
    expected: `JSON at ${urls.map(shown).join(" or ")}`
  })
})
