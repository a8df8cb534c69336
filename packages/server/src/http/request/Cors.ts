/**
 * Cross-origin resource sharing: responses to preflight requests, and the headers that other sites' pages may read.
 *
 * `DnsRebinding` decides which origins are allowed.
 */
import * as Duration from "effect/Duration"
import * as HttpMiddleware from "effect/http/HttpMiddleware"
import * as Rebinding from "./DnsRebinding.ts"

export interface Options {
  /** How long a browser may cache a preflight response. Default 10 minutes. */
  readonly maxAge?: Duration.Input | undefined
  /** Whether to let pages send cookies if their origin is listed by name. Default false. */
  readonly credentials?: boolean | undefined
  /** Response headers that a page may read, besides the protocol and authorization headers. Default: none. */
  readonly exposedHeaders?: ReadonlyArray<string> | undefined
}

/** The endpoint's methods. */
export const allowedMethods = ["GET", "POST", "DELETE"]

/** Protocol and authorization response headers. */
export const exposedHeaders = ["Mcp-Session-Id", "Retry-After", "WWW-Authenticate", "DPoP-Nonce"]

/** Creates the middleware. Pages may send any header, because the names of headers that mirror arguments aren't known in advance. */
export const cors = (
  { credentials = false, exposedHeaders: others = [], maxAge = "10 minutes" }: Options,
  allowed: Pick<Rebinding.Options, "allowedOrigins">
): ReturnType<typeof HttpMiddleware.cors> =>
  HttpMiddleware.cors({
    allowedOrigins: (origin) =>
      credentials ? Rebinding.isListed(origin, allowed) : Rebinding.isAllowed(origin, allowed),
    allowedMethods,
    exposedHeaders: [...exposedHeaders, ...others],
    maxAge: Math.floor(Duration.toSeconds(Duration.fromInputUnsafe(maxAge))),
    credentials
  })
