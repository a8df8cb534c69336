/** The failure of a request over HTTP, and whether the server may have acted on the request. */
import { TransportError } from "@effect-mcp/core/Transport"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import type { HttpClientError } from "effect/http/HttpClientError"
import * as Predicate from "effect/Predicate"
import type { Forbidden, Unauthorized } from "../../ClientError.ts"
import * as Denial from "./Denial.ts"

export interface ExchangeFailure {
  readonly error: TransportError
  /** Whether the server has certainly not acted on the request. */
  readonly unsent: boolean
}

/** Codes of platforms for a connection that was never made, or a server with a wrong certificate: nothing was sent then. */
const unconnected = new RegExp(
  "^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused|FailedToOpenSocket" +
    "|(ERR_TLS_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_).*)$"
)

/** Looks at an error and its causes, up to a depth: a chain may be long, or a circle. */
const neverConnected = (error: unknown, depth = 5): boolean => {
  if (depth === 0 || !Predicate.isObject(error)) return false
  const { cause, code, syscall }: { readonly [field in "cause" | "code" | "syscall"]?: unknown } = error
  if (syscall === "connect" || syscall === "getaddrinfo") return true
  return (typeof code === "string" && unconnected.test(code)) || neverConnected(cause, depth - 1)
}

/** No response arrived, or an HTTP client that logs in (OAuth) could not meet what the server demands. */
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

/** Statuses by which a server says that it has not acted on the request. */
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

/** The refusal is the cause of the transport error: `ClientError.denied` finds it there. */
const denied = (cause: Forbidden | Unauthorized): ExchangeFailure => ({
  unsent: true,
  error: new TransportError({
    reason: "Status",
    status: cause._tag === "Unauthorized" ? 401 : 403,
    message: cause.message,
    cause
  })
})

/** A response that is no answer to the request. */
export const refused = (answered: Denial.Answered): ExchangeFailure => {
  const { status } = answered.response
  return Denial.isDenied(status)
    ? denied(Denial.make(answered))
    : {
        unsent: untouched.has(status),
        error: new TransportError({ reason: "Status", status, message: describe(answered) })
      }
}

/** The server does not know the session, or has ended it (404). */
export const sessionLost = (unsent: boolean): ExchangeFailure => ({
  unsent,
  error: new TransportError({ reason: "SessionLost", status: 404, message: "The server has ended the session" })
})

/** The server seems not to know the session, by a status that may have another meaning (see `SessionExpired`). */
export const sessionForgotten = (answered: Denial.Answered): ExchangeFailure => ({
  unsent: true,
  error: new TransportError({
    reason: "SessionLost",
    status: answered.response.status,
    message: describe(answered)
  })
})

/** The exchange ended without the answer. */
export const unanswered = (message: string): ExchangeFailure => ({
  unsent: false,
  error: new TransportError({ reason: "Read", message })
})

/** The body of the answer could not be read to its end. */
export const unread = (error: TransportError): ExchangeFailure => ({ error, unsent: false })
