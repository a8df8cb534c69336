/** Options for serving over HTTP and authenticating callers. Times are in milliseconds, sizes in bytes. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Principal } from "../handler/Context.ts"
import { checkedOptions, type Known, required } from "./checked.ts"

/** Authentication of callers. */
export interface Auth {
  /**
   * Returns the user who sent the request. Return `undefined`, `null` or `false` to reject the request with status 401. `token` is the
   * bearer token in the `Authorization` header, if any; look in `headers` for other credentials. If this throws or returns anything else,
   * the response has status 500 and `onError` is called.
   */
  readonly verify: (
    token: string | undefined,
    request: AuthRequest
  ) => PrincipalInput | undefined | PromiseLike<PrincipalInput | undefined>
  /** URL of the protected resource metadata (RFC 9728). It is included in every 401 response so that clients can log in. */
  readonly resourceMetadata?: string
}

/** An HTTP request to authenticate. */
export interface AuthRequest {
  readonly method: string
  readonly url: string
  readonly headers: Headers
}

/** A user. Each session belongs to one subject. */
export interface PrincipalInput {
  readonly subject: string
  readonly scopes?: ReadonlyArray<string>
  readonly claims?: Principal["claims"]
}

/** How web pages from other origins may use the server. */
export interface CorsOptions {
  /** How long browsers may cache the response to a preflight request. Default 10 minutes. */
  readonly maxAge?: number
  /** Whether to allow cookies. Only pages whose origin is listed explicitly can send them. Default false. */
  readonly credentials?: boolean
  /** Response headers pages may read, in addition to the protocol and authorization headers. Default none. */
  readonly exposedHeaders?: ReadonlyArray<string>
}

export interface HttpOptions {
  /**
   * Path of the endpoint; requests to other paths receive status 404. Default: every path that reaches the handler, or `/mcp` with
   * `listen`.
   */
  readonly path?: `/${string}`
  /** Authenticates callers. Default: every caller is anonymous. */
  readonly auth?: Auth
  /** Host names to accept in addition to loopback: `example.com`, `example.com:8443`, or `*` for any. Other hosts receive status 403. */
  readonly allowedHosts?: ReadonlyArray<string>
  /** Origins to accept requests from, such as `https://example.com`, or `*` for any. Other origins receive status 403. */
  readonly allowedOrigins?: ReadonlyArray<string>
  /** Whether to let pages from the `allowedOrigins` read responses. Default false. */
  readonly cors?: CorsOptions | boolean
  /** Maximum size of a request body. Default 4 MiB. */
  readonly maxMessageBytes?: number
  /** How long a stream may be silent before the server sends a comment. Default 15 seconds; 0 disables comments. */
  readonly keepAlive?: number
  /**
   * Session options. Set to `false` to disable sessions, for platforms that share nothing between requests. Without sessions, the server
   * can't ask questions or offer subscriptions in revisions up to 2025-11-25.
   */
  readonly sessions?: SessionOptions | false
}

export interface SessionOptions {
  /** Maximum number of open sessions. Default 10 000. */
  readonly capacity?: number
  /** Maximum number of open sessions per authenticated user. Default 1000. */
  readonly perCaller?: number
  /** Maximum number of open anonymous sessions per address. All callers behind a proxy share one address. Default 5000. */
  readonly perAddress?: number
  /** How long a session may be idle, with neither a request nor a stream, before it ends. Default 30 minutes. */
  readonly idle?: number
}

const known: Known<HttpOptions> = {
  path: "string",
  auth: "object",
  allowedHosts: "array",
  allowedOrigins: "array",
  cors: "any",
  maxMessageBytes: "number",
  keepAlive: "number",
  sessions: "any"
}
const knownAuth: Known<Auth> = { verify: "function", resourceMetadata: "string" }
const knownCors: Known<CorsOptions> = { maxAge: "number", credentials: "boolean", exposedHeaders: "array" }
const knownSessions: Known<SessionOptions> = {
  capacity: "number",
  perCaller: "number",
  perAddress: "number",
  idle: "number"
}

/** Returns the options. Throws a `TypeError` for another name: a misspelt `auth` would serve every caller. */
export const checked = (options: HttpOptions): HttpOptions => {
  const { auth, cors, sessions } = checkedOptions("HTTP", options, known)
  if (cors !== undefined && typeof cors !== "boolean") checkedOptions("HTTP cors", cors, knownCors)
  if (typeof sessions === "object") checkedOptions("HTTP sessions", sessions, knownSessions)
  if (auth === undefined) return options
  const { resourceMetadata, verify } = checkedOptions("HTTP auth", auth, knownAuth)
  required("HTTP auth", "verify", verify, "function")
  if (resourceMetadata !== undefined && !/^https?:[!#-[\]-~]+$/.test(resourceMetadata))
    throw new TypeError(`HTTP auth: resourceMetadata must be a URL, but is ${JSON.stringify(resourceMetadata)}`)
  return options
}

/** A request handler for Node's HTTP servers. */
export type Listener = (request: IncomingMessage, response: ServerResponse) => void

/** A Fetch API handler. */
export type FetchHandler = (request: Request) => Promise<Response>
