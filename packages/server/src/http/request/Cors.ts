/**
 * What lets a page of another site use an endpoint: the answers to its browser's questions, and the headers that it may see.
 *
 * Who is welcome is not decided here but by the protection from rebinding; a page that is not stays locked out.
 */
import * as Duration from "effect/Duration"
import * as HttpMiddleware from "effect/http/HttpMiddleware"
import * as Rebinding from "./DnsRebinding.ts"

export interface Options {
  /** How long a browser may remember an answer. Default 10 minutes. */
  readonly maxAge?: Duration.Input | undefined
  /** Whether a page may send cookies along: one of an origin that is listed by name, no other. Default false. */
  readonly credentials?: boolean | undefined
  /** Headers of answers that a page may see, beside those of the protocol and of authorization. */
  readonly exposedHeaders?: ReadonlyArray<string> | undefined
}

/** Around a handler. Any header may be sent: those that mirror arguments have names that nobody knows before. */
export const cors = (
  { credentials = false, exposedHeaders = [], maxAge = "10 minutes" }: Options,
  welcome: Pick<Rebinding.Options, "allowedOrigins">
): ReturnType<typeof HttpMiddleware.cors> =>
  HttpMiddleware.cors({
    allowedOrigins: (origin) =>
      credentials ? Rebinding.isListed(origin, welcome) : Rebinding.isWelcome(origin, welcome),
    allowedMethods: ["GET", "POST", "DELETE"],
    exposedHeaders: ["Mcp-Session-Id", "Retry-After", "WWW-Authenticate", "DPoP-Nonce", ...exposedHeaders],
    maxAge: Math.floor(Duration.toSeconds(Duration.fromInputUnsafe(maxAge))),
    credentials
  })
