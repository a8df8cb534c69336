/** Why a request over HTTP got no answer, and whether the server may have acted on it nevertheless. */
import { TransportError } from "@effect-mcp/core/Transport"
import type { HttpClientError } from "effect/http/HttpClientError"
import * as Predicate from "effect/Predicate"

export interface Refusal {
  readonly error: TransportError
  /** The server has certainly not acted on it. */
  readonly unsent: boolean
}

/** What platforms call a connection that was never made, or a server that is not who it should be: nothing was sent then. */
const unconnected = new RegExp(
  "^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused|FailedToOpenSocket" +
    "|(ERR_TLS_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_).*)$"
)

/** Looks at an error and at what caused it; chains are short, but nobody promises that. */
const neverConnected = (error: unknown, depth = 5): boolean => {
  if (depth === 0 || !Predicate.isObject(error)) return false
  const { cause, code, syscall }: { readonly [field in "cause" | "code" | "syscall"]?: unknown } = error
  if (syscall === "connect" || syscall === "getaddrinfo") return true
  return (typeof code === "string" && unconnected.test(code)) || neverConnected(cause, depth - 1)
}

/** No answer came at all, or a client that answers demands itself (OAuth) could not meet one. */
export const unreachable = (error: HttpClientError, { origin }: URL): Refusal => {
  const { _tag, cause } = error.reason
  if (error.reason._tag === "StatusCodeError") {
    const { status } = error.reason.response
    const message = cause instanceof Error ? cause.message : error.message
    return {
      unsent: untouched.has(status),
      error: new TransportError({ reason: "Status", status, message, cause: error })
    }
  }
  const unsent = _tag !== "TransportError" || neverConnected(cause)
  const why =
    cause instanceof Error ? (cause.cause instanceof Error ? cause.cause.message : cause.message) : error.message
  return {
    unsent,
    error: new TransportError({
      reason: unsent ? "Open" : "Read",
      message: unsent ? `Cannot reach ${origin}: ${why}` : `The connection to ${origin} broke: ${why}`,
      cause: error
    })
  }
}

/** By these a server says that it did not even look at what was asked. */
const untouched: ReadonlySet<number> = new Set([401, 403, 404, 405, 406, 413, 415, 429, 503])

/** How much of a body is shown. */
const excerpt = 200

/** An answer that was none. */
export const refused = (what: string, status: number, body: string): Refusal => ({
  unsent: untouched.has(status),
  error: new TransportError({
    reason: "Status",
    status,
    message: `${what} was answered with status ${status}${body === "" ? "" : `: ${body.slice(0, excerpt)}`}`
  })
})

/** The server does not know the session (any more). */
export const sessionLost = (unsent: boolean): Refusal => ({
  unsent,
  error: new TransportError({ reason: "SessionLost", status: 404, message: "The server has ended the session" })
})

/** The server seems not to know the session (any more): it says so by a status that may mean something else, too. */
export const sessionForgotten = (what: string, status: number, body: string): Refusal => ({
  unsent: true,
  error: new TransportError({ reason: "SessionLost", status, message: refused(what, status, body).error.message })
})

/** The exchange ended, and the answer was not in it. */
export const unanswered = (message: string): Refusal => ({
  unsent: false,
  error: new TransportError({ reason: "Read", message })
})

/** The answer had begun, but could not be read to its end. */
export const unread = (error: TransportError): Refusal => ({ error, unsent: false })
