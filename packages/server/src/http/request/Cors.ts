/**
 * Cross-origin resource sharing: the answers to preflight requests, and the headers that pages of other sites may read.
 *
 * Refuses to decide which origins are allowed: `DnsRebinding` does.
 */
import * as Duration from "effect/Duration"
import * as HttpMiddleware from "effect/http/HttpMiddleware"
import * as Rebinding from "./DnsRebinding.ts"

export interface Options {
  /** How long a browser may cache the answer to a preflight request. Default 10 minutes. */
  readonly maxAge?: Duration.Input | undefined
  /** Whether pages may send cookies; only those whose origin is listed by name. Default false. */
  readonly credentials?: boolean | undefined
  /** Response headers that a page may read, beside those of the protocol and of authorization. Default none. */
  readonly exposedHeaders?: ReadonlyArray<string> | undefined
}

/** The middleware. Pages may send any header: the names of those that mirror arguments are not known in advance. */
export const cors = (
  { credentials = false, exposedHeaders = [], maxAge = "10 minutes" }: Options,
  allowed: Pick<Rebinding.Options, "allowedOrigins">
): ReturnType<typeof HttpMiddleware.cors> =>
  HttpMiddleware.cors({
    allowedOrigins: (origin) =>
      credentials ? Rebinding.isListed(origin, allowed) : Rebinding.isAllowed(origin, allowed),
    allowedMethods: ["GET", "POST", "DELETE"],
    exposedHeaders: ["Mcp-Session-Id", "Retry-After", "WWW-Authenticate", "DPoP-Nonce", ...exposedHeaders],
    maxAge: Math.floor(Duration.toSeconds(Duration.fromInputUnsafe(maxAge))),
    credentials
  })
