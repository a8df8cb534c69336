/**
 * The error of a client that cannot get or use authorization.
 *
 * Names the failed step, the URL, what was expected, what was found and what to do. Holds no token, code, secret or query of a URL, since
 * errors are logged and shown.
 */
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as Data from "effect/Data"
import { parseUrl } from "./url.ts"

/** The step of the flow that failed. */
export type Step =
  | "resource-metadata"
  | "server-metadata"
  | "registration"
  | "authorization"
  | "token"
  | "identity"
  | "access"
  | "storage"

/** The content of an error; none of it is secret. */
export interface OAuthErrorDetails {
  readonly step: Step
  /** The problem, as one clause. */
  readonly problem: string
  /** The URL of the request, without query, fragment or user. */
  readonly url?: string | undefined
  readonly expected?: string | undefined
  readonly found?: string | undefined
  /** What the user or developer can do. */
  readonly advice?: string | undefined
  /** The HTTP status of the answer. */
  readonly status?: number | undefined
  /** The error code of the authorization server (RFC 6749 section 5.2). */
  readonly code?: string | undefined
  readonly cause?: unknown
}

const steps: { readonly [K in Step]: string } = {
  "resource-metadata": "finding the authorization server",
  "server-metadata": "reading the authorization server's metadata",
  registration: "registering the client",
  authorization: "asking the user",
  token: "getting a token",
  identity: "getting an identity assertion",
  access: "using the token",
  storage: "reading or writing stored tokens"
}

/** Authorization failed; the message names the step, the reason and what to do. */
export class OAuthError extends Data.TaggedError("OAuthError")<OAuthErrorDetails> {
  override get message(): string {
    const parts = [`Authorization failed while ${steps[this.step]}: ${this.problem}`]
    if (this.url !== undefined) parts.push(`URL: ${this.url}`)
    if (this.status !== undefined) parts.push(`status: ${this.status}`)
    if (this.code !== undefined) parts.push(`error: ${this.code}`)
    if (this.expected !== undefined) parts.push(`expected: ${this.expected}`)
    if (this.found !== undefined) parts.push(`found: ${this.found}`)
    if (this.advice !== undefined) parts.push(this.advice)
    return parts.join("; ")
  }
}

/** The longest URL or list of names in an error, in UTF-16 units. */
const maxShown = 1000

/** A URL as it may be shown: no user, no query, no fragment. */
export const shown = (url: URL | string): string => {
  const parsed = typeof url === "string" ? parseUrl(url) : url
  return parsed === undefined ? excerpt(String(url)) : excerpt(`${parsed.origin}${parsed.pathname}`, maxShown)
}

/** Names of another party, such as scopes, as they may be shown. */
export const listed = (names: ReadonlyArray<string> | undefined): string =>
  names === undefined ? "nothing" : excerpt(names.join(" "), maxShown)

/**
 * The `OAuthError` among the causes of an error, such as the `HttpClientError` of a request; undefined if there is none.
 *
 * @example
 * ```ts
 * import { OAuthError } from "@effect-mcp/auth"
 *
 * const error = new OAuthError.OAuthError({ step: "authorization", problem: "the login was declined" })
 * console.log(OAuthError.find(new Error("A request failed", { cause: error }))?.message)
 * // => Authorization failed while asking the user: the login was declined
 * ```
 */
export const find = (error: unknown): OAuthError | undefined => {
  // Bounded, since a chain of causes may be circular.
  let current = error
  for (let depth = 0; depth < 8 && typeof current === "object" && current !== null; depth++) {
    if (current instanceof OAuthError) return current
    const next: object = current
    current = "cause" in next ? next.cause : "reason" in next ? next.reason : undefined
  }
  return undefined
}
