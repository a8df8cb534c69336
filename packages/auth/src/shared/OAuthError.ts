/**
 * The error a client receives if it cannot obtain or use authorization.
 *
 * Contains the failed step, the URL, the expected and actual values, and a suggested fix. It never contains tokens, codes, secrets or URL
 * queries, because errors are logged and displayed.
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

/** Error details. They contain no secrets. */
export interface OAuthErrorDetails {
  readonly step: Step
  /** The problem, in one clause. */
  readonly problem: string
  /** The request URL, without query, fragment or user info. */
  readonly url?: string | undefined
  readonly expected?: string | undefined
  readonly found?: string | undefined
  /** Suggested fix for the user or developer. */
  readonly advice?: string | undefined
  /** HTTP status of the response. */
  readonly status?: number | undefined
  /** Error code from the authorization server (RFC 6749 section 5.2). */
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

/** Authorization failed. The message says which step failed, why, and what to do. */
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

/** Maximum length of a URL or a list of names in an error, in UTF-16 code units. */
const maxShown = 1000

/** Formats a URL for display, without user info, query and fragment. */
export const shown = (url: URL | string): string => {
  const parsed = typeof url === "string" ? parseUrl(url) : url
  return parsed === undefined ? excerpt(String(url)) : excerpt(`${parsed.origin}${parsed.pathname}`, maxShown)
}

/** Formats names received from another party, such as scopes, for display. */
export const listed = (names: ReadonlyArray<string> | undefined): string =>
  names === undefined ? "nothing" : excerpt(names.join(" "), maxShown)

/**
 * Finds the `OAuthError` among an error's causes, for example in the `HttpClientError` of a request. Returns `undefined` if there is none.
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
  // Bounded, because a chain of causes may be circular.
  let current = error
  for (let depth = 0; depth < 8 && typeof current === "object" && current !== null; depth++) {
    if (current instanceof OAuthError) return current
    const next: object = current
    current = "cause" in next ? next.cause : "reason" in next ? next.reason : undefined
  }
  return undefined
}
