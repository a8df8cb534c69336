/**
 * Why a client could not get or use authorization.
 *
 * Names the step that failed, the URL asked, what was expected, what was found and what to do about it. Never holds a token, a code,
 * a secret or the query of a URL: an error is logged and shown as it is.
 */
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as Data from "effect/Data"
import { parseUrl } from "./url.ts"

/** Where in the flow it failed. */
export type Step =
  | "resource-metadata"
  | "server-metadata"
  | "registration"
  | "authorization"
  | "token"
  | "identity"
  | "access"
  | "storage"

/** What an error says; nothing of it is secret. */
export interface Details {
  readonly step: Step
  /** What went wrong, in one sentence. */
  readonly problem: string
  /** The URL that was asked, without query, fragment or user. */
  readonly url?: string | undefined
  readonly expected?: string | undefined
  readonly found?: string | undefined
  /** What the user or developer can do. */
  readonly advice?: string | undefined
  /** The HTTP status, where an answer was the problem. */
  readonly status?: number | undefined
  /** The error code of OAuth (RFC 6749 section 5.2), where the authorization server gave one. */
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

/** Authorization failed; the message says where, why and what to do. */
export class OAuthError extends Data.TaggedError("OAuthError")<Details> {
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

/** The `OAuthError` that made a request fail, if one did: HTTP errors carry it as their cause. */
export const find = (error: unknown): OAuthError | undefined => {
  // Bounded: a chain of causes may be a circle.
  let current = error
  for (let depth = 0; depth < 8 && typeof current === "object" && current !== null; depth++) {
    if (current instanceof OAuthError) return current
    const next: object = current
    current = "cause" in next ? next.cause : "reason" in next ? next.reason : undefined
  }
  return undefined
}
