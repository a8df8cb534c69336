/** Converts rejections, from a response's status or an HTTP client that logs in, to request failures. */
import { TransportError } from "@effect-mcp/core/Transport"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import type { Forbidden, Unauthorized } from "../../ClientError.ts"
import * as Denial from "./Denial.ts"
import { placeOf } from "./Endpoint.ts"
import * as ExchangeFailure from "./ExchangeFailure.ts"
import type { HttpFailure } from "./HttpSender.ts"

/** Statuses that mean that the server has not acted on the request. */
const untouched: ReadonlySet<number> = new Set([401, 403, 404, 405, 406, 413, 415, 429, 503])

const isPage = (type: string, body: string): boolean =>
  /^(text\/html|application\/xhtml\+xml)\b/i.test(type) || /^\s*<(!doctype html|html)\b/i.test(body)

const describe = ({ body, method, response: { headers, status }, url }: Denial.Answered): string => {
  const place = placeOf(url)
  const given = headers["content-type"]
  const type = given === undefined ? "no content type" : excerpt(given)
  const path =
    status === 404 && url.pathname === "/"
      ? ` Most servers have their endpoint at ${placeOf(new URL("/mcp", url))}`
      : ""
  if (isPage(type, body)) {
    return (
      `${place} is not an MCP endpoint: it responded to ${method} with status ${status} and a web page (${type}). ` +
      `Check the path of the URL: an MCP endpoint responds with application/json or text/event-stream.${path}`
    )
  }
  if (status === 0)
    return `${place} redirects, but this platform does not reveal the target. Use the endpoint's final URL`
  const answered = `${place} responded to ${method} with status ${status}`
  if (body === "") return `${answered} and no content${path === "" ? "" : `.${path}`}`
  const what = status >= 200 && status < 300 ? ", which is not an MCP response" : ""
  return `${answered} (${type})${what}: ${excerpt(body)}${path === "" ? "" : `.${path}`}`
}

/** Makes the rejection the cause of the transport error, so that `ClientError.denied` finds it. */
const denied = (cause: Forbidden | Unauthorized): ExchangeFailure.ExchangeFailure => ({
  unsent: true,
  error: new TransportError({
    reason: "Status",
    status: cause._tag === "Unauthorized" ? 401 : 403,
    message: cause.message,
    cause
  })
})

/** Returns the failure for a response that does not answer the request. */
export const refused = (answered: Denial.Answered): ExchangeFailure.ExchangeFailure => {
  const { status } = answered.response
  return Denial.isDenied(status)
    ? denied(Denial.make(answered))
    : {
        unsent: untouched.has(status),
        error: new TransportError({ reason: "Status", status, message: describe(answered) })
      }
}

/** The server seems not to know the session, but the status may have another meaning (see `SessionExpired`). */
export const sessionForgotten = (answered: Denial.Answered): ExchangeFailure.ExchangeFailure => ({
  unsent: true,
  error: new TransportError({
    reason: "SessionLost",
    status: answered.response.status,
    message: describe(answered)
  })
})

/** No response arrived, or an HTTP client that logs in (OAuth) could not satisfy the server. */
export const unreachable = (error: HttpFailure, method: string, url: URL): ExchangeFailure.ExchangeFailure => {
  if (error._tag !== "HttpClientError" || error.reason._tag !== "StatusCodeError") {
    return ExchangeFailure.unreachable(error, url)
  }
  const { cause, response } = error.reason
  const message = cause instanceof Error ? cause.message : error.message
  return Denial.isDenied(response.status)
    ? denied(Denial.make({ method, url, response, body: "" }, { error, message }))
    : {
        unsent: untouched.has(response.status),
        error: new TransportError({ reason: "Status", status: response.status, message, cause: error })
      }
}
