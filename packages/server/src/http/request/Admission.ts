/**
 * Decides which requests an HTTP endpoint accepts, based on their headers, before reading a body: by host and origin, media types, and
 * length.
 *
 * Contains the checks that all HTTP endpoints share. Doesn't inspect messages.
 */
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Framing from "@effect-mcp/core/Framing"
import * as Rebinding from "./DnsRebinding.ts"
import type { HttpRequest } from "./HttpRequest.ts"
import { refuse, type ErrorResponse } from "../response/Responses.ts"

export interface Options extends Rebinding.Options {
  /** Maximum body size in bytes. Beyond it, clients receive a 413. Default 4 MiB. */
  readonly maxMessageBytes?: number | undefined
  /** Maximum nesting depth of a message. Beyond it, clients receive a 400 with -32600. Default 256. */
  readonly maxMessageDepth?: number | undefined
}

const jsonType = "application/json"
const eventsType = "text/event-stream"

/** True if an `Accept` header allows a media type. */
const accepts = (accept: string, type: string): boolean =>
  accept.split(",").some((range) => {
    const [name = "", ...params] = range.split(";").map((part) => part.trim().toLowerCase())
    const wanted = name === type || name === "*/*" || name === `${type.split("/")[0]}/*`
    return wanted && !params.some((param) => /^q=0(\.0*)?$/.test(param))
  })

type Headed = Pick<HttpRequest, "headers" | "originalUrl">

/** Returns the host. HTTP/2 and Web API requests may lack the `host` header. */
const hostOf = ({ headers, originalUrl }: Headed): string | undefined =>
  headers[":authority"] ??
  (/^https?:\/\//.test(originalUrl) && URL.canParse(originalUrl) ? new URL(originalUrl).host : undefined)

export interface Admission {
  /** Returns the error response (403) if the host or origin is not allowed. */
  readonly caller: (request: Headed) => ErrorResponse | undefined
  /**
   * Returns the error response (400, 406, 413 or 415) if a POST's media types, length or upgrade are not acceptable. `Accept` is only
   * checked if the response carries a message (`answers`, default true).
   */
  readonly post: (request: Headed, answers?: boolean) => ErrorResponse | undefined
  /** Returns the error response (406) if a GET's client doesn't accept events. */
  readonly get: (request: Headed) => ErrorResponse | undefined
  /** The error response (413) to a body that is too large. */
  readonly tooLarge: ErrorResponse
  readonly maxMessageBytes: number
  readonly maxMessageDepth: number | undefined
}

const plainest = [jsonType, "application/json; charset=utf-8"]
const usual = [`${jsonType}, ${eventsType}`, "*/*"]

/** Maximum number of rejected hosts and origins to report, once each, so that clients can't flood the log. */
const reportedAtMost = 16

/** Creates the checks. `report` is called with a message that names a rejected host or origin, and the option that would allow it. */
export const make = (options: Options, report?: (message: string) => void): Admission => {
  const { maxMessageBytes = Framing.defaultMaxMessageBytes } = options
  const tooLarge = refuse(413, McpError.limitExceeded(`The message is larger than ${maxMessageBytes} bytes`))
  const noJson = refuse(415, McpError.invalidRequest("The body must be application/json"))
  const notBoth = refuse(406, McpError.invalidRequest(`Accept must list ${jsonType} and ${eventsType}`))
  const upgrade = refuse(
    400,
    McpError.invalidRequest("A POST cannot be upgraded to a WebSocket. Send it without the Upgrade header")
  )
  const encoded = refuse(
    415,
    McpError.invalidRequest("Compressed or otherwise encoded bodies are not supported"),
    undefined,
    {
      "accept-encoding": "identity"
    }
  )
  let known: string | undefined
  const reported = new Set<string>()
  const tell = (foreign: string): void => {
    if (report === undefined || reported.has(foreign) || reported.size >= reportedAtMost) return
    reported.add(foreign)
    report(`Rejected a request: ${foreign}. To allow it, add it to allowedHosts or allowedOrigins of the endpoint`)
  }
  const notEvents = refuse(406, McpError.invalidRequest(`Accept must list ${eventsType}`))
  return {
    maxMessageBytes,
    maxMessageDepth: options.maxMessageDepth,
    tooLarge,
    caller: (request) => {
      const { headers } = request
      // Fast path: most requests name the same host and no origin.
      if (headers["host"] === known && headers["origin"] === undefined && known !== undefined) return undefined
      const named = headers["host"] === undefined ? { ...headers, host: hostOf(request) } : headers
      const foreign = Rebinding.check(named, options)
      if (foreign !== undefined) {
        tell(foreign)
        return refuse(403, McpError.invalidRequest(foreign))
      }
      if (headers["origin"] === undefined) known = headers["host"]
      return undefined
    },
    post: ({ headers }, answers = true) => {
      // Effect's HTTP server does not read the body of a WebSocket handshake.
      if (headers["upgrade"]?.toLowerCase() === "websocket") return upgrade
      const type = headers["content-type"] ?? ""
      if (!plainest.includes(type) && !/^\s*application\/json\s*(;|$)/i.test(type)) return noJson
      const { accept = "*/*" } = headers
      const encoding = headers["content-encoding"]
      if (encoding !== undefined && encoding.trim().toLowerCase() !== "identity") return encoded
      if (answers && !usual.includes(accept) && !(accepts(accept, jsonType) && accepts(accept, eventsType))) {
        return notBoth
      }
      return Number(headers["content-length"]) > maxMessageBytes ? tooLarge : undefined
    },
    get: ({ headers: { accept = "*/*" } }) => (accepts(accept, eventsType) ? undefined : notEvents)
  }
}
