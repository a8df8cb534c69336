/** The API of `@modelcontextprotocol/node`: servers on `node:http`. */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { node, type NodeHandler } from "./http/handler.ts"
import { nestingRefusal } from "./http/nesting.ts"
import type { NodeRequest, RequestExtra } from "./http/requests.ts"
import { urlOf } from "./request/urls.ts"
import { hostRefusal, isChecked, originRefusal, refused } from "./http/validation.ts"

export { NodeStreamableHTTPServerTransport, type StreamableHTTPServerTransportOptions } from "./http/transport.ts"

/** An object that answers Web API requests. */
export interface FetchLikeMcpHandler {
  readonly fetch: (request: Request, extra?: RequestExtra) => Response | Promise<Response>
}

const isOwn = (handler: FetchLikeMcpHandler): handler is NodeHandler => node in handler

/** Returns a listener that passes each request to a Web API function. If the client goes away, the request's signal aborts. */
const bridged =
  ({ fetch }: FetchLikeMcpHandler): NodeHandler[typeof node] =>
  async (request, response, body) => {
    const gone = new AbortController()
    response.once("close", () => gone.abort())
    if (urlOf(request.url, request.headers.host) === undefined) {
      response.writeHead(400).end()
      return
    }
    const deep = nestingRefusal(body)
    if (deep !== undefined) {
      response.writeHead(400, { "content-type": "application/json" }).end(JSON.stringify(deep))
      return
    }
    const asked = new Request(await toWebRequest(request, body), { signal: gone.signal })
    const { body: answer, headers, status } = await fetch(asked, { authInfo: request.auth, parsedBody: body })
    response.writeHead(status, Object.fromEntries(headers))
    if (answer === null) response.end()
    else await pipeline(Readable.from(answer), response).catch(() => undefined)
  }

/**
 * Returns the listener of a handler from `createMcpHandler`, or of any object with `fetch`. Pass the parsed body as `body` if it was
 * already read.
 */
export const toNodeHandler = (
  handler: FetchLikeMcpHandler
): ((request: NodeRequest, response: ServerResponse, body?: unknown) => Promise<void>) =>
  isOwn(handler) ? handler[node] : bridged(handler)

const check =
  (names: ReadonlyArray<string> | undefined, part: "host" | "origin") =>
  (request: IncomingMessage, response: ServerResponse): boolean => {
    const { host, origin } = request.headers
    const why = part === "host" ? hostRefusal(host, names) : originRefusal(origin, names)
    if (why === undefined) {
      isChecked(request, part)
      return true
    }
    response.writeHead(403, { "content-type": "application/json" }).end(JSON.stringify(refused(why)))
    return false
  }

/** Answers 403 and returns `false` if `Host` is not one of the names. */
export const hostHeaderValidation = (names: ReadonlyArray<string>) => check(names, "host")
/** Like `hostHeaderValidation`, with the names of the loopback interface. */
export const localhostHostValidation = () => check(undefined, "host")
/** Answers 403 and returns `false` if `Origin` is a site other than loopback. */
export const localhostOriginValidation = () => check(undefined, "origin")

/** Converts a Node request to a Web API request. If the parsed body is passed, the stream is not touched. */
export const toWebRequest = async (request: IncomingMessage, parsedBody?: unknown): Promise<Request> => {
  const headers = Object.entries(request.headers).flatMap(([name, value]) =>
    typeof value === "string" ? [[name, value] as [string, string]] : []
  )
  const { method = "GET" } = request
  const url = urlOf(request.url, request.headers.host)
  if (url === undefined) {
    throw new TypeError(`Invalid request URL: ${request.url} (Host: ${request.headers.host})`)
  }
  if (method === "GET" || method === "HEAD") return new Request(url, { method, headers })
  if (parsedBody !== undefined) return new Request(url, { method, headers, body: JSON.stringify(parsedBody) })
  const chunks = await Readable.from(request).toArray()
  return new Request(url, { method, headers, body: Buffer.concat(chunks) })
}
