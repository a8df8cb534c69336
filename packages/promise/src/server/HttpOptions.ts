/** Options for serving over HTTP and authenticating callers. Times are in milliseconds, sizes in bytes. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Principal } from "../handler/Context.ts"
import { checkedOptions, type Known, required } from "./checked.ts"

/** How callers prove their identity. */
export interface Auth {
  /**
   * Returns the user of a request, or `undefined` (`null`, `false`) to refuse it with 401. `token` is the bearer token of the `Authorization`
   * header, if there is one: other credentials are in `headers`. If it throws, or returns anything but a user, the answer is 500 and
   * `onError` is called.
   */
  readonly verify: (
    token: string | undefined,
    request: AuthRequest
  ) => PrincipalInput | undefined | PromiseLike<PrincipalInput | undefined>
  /** The URL of the protected resource metadata (RFC 9728), for clients that can log in; a refusal names it. */
  readonly resourceMetadata?: string
}

/** The HTTP request to authenticate. */
export interface AuthRequest {
  readonly method: string
  readonly url: string
  readonly headers: Headers
}

/** A user: sessions belong to a subject. */
export interface PrincipalInput {
  readonly subject: string
  readonly scopes?: ReadonlyArray<string>
  readonly claims?: Principal["claims"]
}

export interface HttpOptions {
  /** The path of the endpoint; others are answered by 404. Default: every path that reaches the handler; `/mcp` of `listen`. */
  readonly path?: `/${string}`
  /** Authenticates callers. Default: every caller is anonymous. */
  readonly auth?: Auth
  /** Names of the server beside loopback: `example.com`, `example.com:8443`, or `*` for any. Others get 403. */
  readonly allowedHosts?: ReadonlyArray<string>
  /** Origins of pages of other sites, as `https://example.com`, or `*` for any. Others get 403. */
  readonly allowedOrigins?: ReadonlyArray<string>
  /** Maximum size of a request body. Default 4 MiB. */
  readonly maxMessageBytes?: number
  /** How long a stream may be silent before a comment is sent. Default 15 seconds; 0 for no comments. */
  readonly keepAlive?: number
  /** How long running requests may take to finish when the server closes. Default 10 seconds. */
  readonly drain?: number
  /** `false`: no sessions, for platforms that share nothing between requests. Revisions up to 2025-11-25 then cannot ask or subscribe. */
  readonly sessions?: SessionOptions | false
}

export interface SessionOptions {
  /** Maximum number of open sessions. Default 10 000. */
  readonly capacity?: number
  /** Maximum number of open sessions per authenticated user. Default 1000. */
  readonly perCaller?: number
  /** Maximum number of open anonymous sessions per address. Behind a proxy, all callers share one address. Default 5000. */
  readonly perAddress?: number
  /** How long a session may have neither a request nor a stream before it ends. Default 30 minutes. */
  readonly idle?: number
}

const known: Known<HttpOptions> = {
  path: "string",
  auth: "object",
  allowedHosts: "array",
  allowedOrigins: "array",
  maxMessageBytes: "number",
  keepAlive: "number",
  drain: "number",
  sessions: "any"
}
const knownAuth: Known<Auth> = { verify: "function", resourceMetadata: "string" }
const knownSessions: Known<SessionOptions> = {
  capacity: "number",
  perCaller: "number",
  perAddress: "number",
  idle: "number"
}

/** Returns the options. Throws a `TypeError` for another name: a misspelt `auth` would serve every caller. */
export const checked = (options: HttpOptions): HttpOptions => {
  const { auth, sessions } = checkedOptions("HTTP", options, known)
  if (typeof sessions === "object") checkedOptions("HTTP sessions", sessions, knownSessions)
  if (auth === undefined) return options
  const { resourceMetadata, verify } = checkedOptions("HTTP auth", auth, knownAuth)
  required("HTTP auth", "a verify", verify, "function")
  if (resourceMetadata !== undefined && !/^https?:[!#-[\]-~]+$/.test(resourceMetadata))
    throw new TypeError(`resourceMetadata of HTTP auth is ${JSON.stringify(resourceMetadata)}: expected a URL`)
  return options
}

/** A request handler of Node's HTTP servers. */
export type Listener = (request: IncomingMessage, response: ServerResponse) => void

/** A handler of the Web API. */
export type FetchHandler = (request: Request) => Promise<Response>
