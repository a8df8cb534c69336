/**
 * Which requests an HTTP endpoint admits by their headers, before a body is read: host and origin, media types, and length.
 *
 * Owns the checks that every endpoint over HTTP shares. Refuses to read a message.
 */
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Framing from "@effect-mcp/core/Framing"
import * as Rebinding from "./DnsRebinding.ts"
import type { HttpRequest } from "./HttpRequest.ts"
import { refuse, type ErrorResponse } from "../response/Responses.ts"

export interface Options extends Rebinding.Options {
  /** Bytes of the largest body. Default 4 MiB; a larger one is answered by 413. */
  readonly maxMessageBytes?: number | undefined
  /** Levels that a message may nest. Default 256; a deeper one is answered by 400 and -32600. */
  readonly maxMessageDepth?: number | undefined
}

const jsonType = "application/json"
const eventsType = "text/event-stream"

/** Whether an `Accept` header admits a media type. */
const accepts = (accept: string, type: string): boolean =>
  accept.split(",").some((range) => {
    const [name = "", ...params] = range.split(";").map((part) => part.trim().toLowerCase())
    const wanted = name === type || name === "*/*" || name === `${type.split("/")[0]}/*`
    return wanted && !params.some((param) => /^q=0(\.0*)?$/.test(param))
  })

type Headed = Pick<HttpRequest, "headers" | "originalUrl">

/** The host: requests over HTTP/2 and of the Web API may have no `host` header. */
const hostOf = ({ headers, originalUrl }: Headed): string | undefined =>
  headers[":authority"] ??
  (/^https?:\/\//.test(originalUrl) && URL.canParse(originalUrl) ? new URL(originalUrl).host : undefined)

export interface Admission {
  /** The error response (403) to a foreign host or origin. */
  readonly caller: (request: Headed) => ErrorResponse | undefined
  /**
   * The error response to the media types, the length or an upgrade of a POST: 400, 406, 413 or 415. `answers`: whether its response carries an answer
   * (default), so that `Accept` counts.
   */
  readonly post: (request: Headed, answers?: boolean) => ErrorResponse | undefined
  /** The error response (406) to a GET whose client does not accept events. */
  readonly get: (request: Headed) => ErrorResponse | undefined
  /** The error response (413) to a body that is too large. */
  readonly tooLarge: ErrorResponse
  readonly maxMessageBytes: number
  readonly maxMessageDepth: number | undefined
}

const plainest = [jsonType, "application/json; charset=utf-8"]
const usual = [`${jsonType}, ${eventsType}`, "*/*"]

/** Refused hosts and origins that are reported, each once: clients must not fill the log. */
const reportedAtMost = 16

/** `report` is called with a refused host or origin and the option that admits it. */
export const make = (options: Options, report?: (message: string) => void): Admission => {
  const { maxMessageBytes = Framing.defaultMaxMessageBytes } = options
  const tooLarge = refuse(413, McpError.limitExceeded(`The message is larger than ${maxMessageBytes} bytes`))
  const noJson = refuse(415, McpError.invalidRequest("The body must be application/json"))
  const notBoth = refuse(406, McpError.invalidRequest(`Accept must list ${jsonType} and ${eventsType}`))
  const upgrade = refuse(400, McpError.invalidRequest("A POST cannot become a WebSocket: send it without Upgrade"))
  const encoded = refuse(415, McpError.invalidRequest("The body must not be encoded"), undefined, {
    "accept-encoding": "identity"
  })
  let known: string | undefined
  const reported = new Set<string>()
  const tell = (foreign: string): void => {
    if (report === undefined || reported.has(foreign) || reported.size >= reportedAtMost) return
    reported.add(foreign)
    report(
      `Refused a request: ${foreign}. If it is meant to be, add it to allowedHosts or allowedOrigins of the endpoint`
    )
  }
  const notEvents = refuse(406, McpError.invalidRequest(`Accept must list ${eventsType}`))
  return {
    maxMessageBytes,
    maxMessageDepth: options.maxMessageDepth,
    tooLarge,
    caller: (request) => {
      const { headers } = request
      // Most requests name the same host, and no origin.
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
