/** Why a request over HTTP got no answer, and whether the server may have acted on it nevertheless. */
import { TransportError } from "@effect-mcp/core/Transport"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import type { HttpClientError } from "effect/http/HttpClientError"
import * as Predicate from "effect/Predicate"
import type { Forbidden, Unauthorized } from "../../ClientError.ts"
import * as Denial from "./Denial.ts"

export interface ExchangeFailure {
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
export const unreachable = (error: HttpClientError, method: string, url: URL): ExchangeFailure => {
  const { origin } = url
  const { _tag, cause } = error.reason
  if (error.reason._tag === "StatusCodeError") {
    const { response } = error.reason
    const message = cause instanceof Error ? cause.message : error.message
    return Denial.isDenied(response.status)
      ? denied(Denial.make({ method, url, response, body: "" }, { error, message }))
      : {
          unsent: untouched.has(response.status),
          error: new TransportError({ reason: "Status", status: response.status, message, cause: error })
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

const isPage = (type: string, body: string): boolean =>
  /^(text\/html|application\/xhtml\+xml)\b/i.test(type) || /^\s*<(!doctype html|html)\b/i.test(body)

const describe = ({ body, method, response: { headers, status }, url }: Denial.Answered): string => {
  const place = Denial.placeOf(url)
  const given = headers["content-type"]
  const type = given === undefined ? "no content type" : excerpt(given)
  if (isPage(type, body)) {
    return (
      `${place} is no MCP endpoint: it answered ${method} with status ${status} and a web page (${type}). ` +
      "Check the path of the URL; an MCP endpoint answers with application/json or text/event-stream."
    )
  }
  const answered = `${place} answered ${method} with status ${status}`
  if (body === "") return `${answered} and no content`
  const what = status >= 200 && status < 300 ? ", which is no answer of MCP" : ""
  return `${answered} (${type})${what}: ${excerpt(body)}`
}

/** The error of such a refusal is the cause of the transport's: `ClientError.denied` finds it there. */
const denied = (cause: Forbidden | Unauthorized): ExchangeFailure => ({
  unsent: true,
  error: new TransportError({
    reason: "Status",
    status: cause._tag === "Unauthorized" ? 401 : 403,
    message: cause.message,
    cause
  })
})

/** An answer that was none. */
export const refused = (answered: Denial.Answered): ExchangeFailure => {
  const { status } = answered.response
  return Denial.isDenied(status)
    ? denied(Denial.make(answered))
    : {
        unsent: untouched.has(status),
        error: new TransportError({ reason: "Status", status, message: describe(answered) })
      }
}

/** The server does not know the session (any more). */
export const sessionLost = (unsent: boolean): ExchangeFailure => ({
  unsent,
  error: new TransportError({ reason: "SessionLost", status: 404, message: "The server has ended the session" })
})

/** The server seems not to know the session (any more): it says so by a status that may mean something else, too. */
export const sessionForgotten = (answered: Denial.Answered): ExchangeFailure => ({
  unsent: true,
  error: new TransportError({
    reason: "SessionLost",
    status: answered.response.status,
    message: describe(answered)
  })
})

/** The exchange ended, and the answer was not in it. */
export const unanswered = (message: string): ExchangeFailure => ({
  unsent: false,
  error: new TransportError({ reason: "Read", message })
})

/** The answer had begun, but could not be read to its end. */
export const unread = (error: TransportError): ExchangeFailure => ({ error, unsent: false })
