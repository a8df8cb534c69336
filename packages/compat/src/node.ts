/** What `@modelcontextprotocol/node` has: servers on `node:http`. */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Readable } from "node:stream"
import { type McpHttpHandler, node, type NodeHandler } from "./http/handler.ts"
import type { NodeRequest } from "./http/requests.ts"
import { hostRefusal, isChecked, originRefusal, refused } from "./http/validation.ts"

export { NodeStreamableHTTPServerTransport, type StreamableHTTPServerTransportOptions } from "./http/transport.ts"

const isOwn = (handler: McpHttpHandler): handler is NodeHandler => node in handler

/** The listener of a handler that `createMcpHandler` made. `body` is the parsed body where that was read before. */
export const toNodeHandler = (
  handler: McpHttpHandler
): ((request: NodeRequest, response: ServerResponse, body?: unknown) => Promise<void>) => {
  if (!isOwn(handler)) throw new TypeError("toNodeHandler was given a value that createMcpHandler did not make")
  return handler[node]
}

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

/** Answers by 403 and gives `false` where `Host` is none of the names. */
export const hostHeaderValidation = (names: ReadonlyArray<string>) => check(names, "host")
/** The same for the names of loopback. */
export const localhostHostValidation = () => check(undefined, "host")
/** Answers by 403 and gives `false` where `Origin` is another site than loopback. */
export const localhostOriginValidation = () => check(undefined, "origin")

/** The request of Node's as one of the Web API. With a body that was read before, the stream is not touched. */
export const toWebRequest = async (request: IncomingMessage, parsedBody?: unknown): Promise<Request> => {
  const headers = Object.entries(request.headers).flatMap(([name, value]) =>
    typeof value === "string" ? [[name, value] as [string, string]] : []
  )
  const { method = "GET" } = request
  const url = new URL(request.url ?? "/", `http://${request.headers.host ?? "localhost"}`)
  if (method === "GET" || method === "HEAD") return new Request(url, { method, headers })
  if (parsedBody !== undefined) return new Request(url, { method, headers, body: JSON.stringify(parsedBody) })
  const chunks = await Readable.from(request).toArray()
  return new Request(url, { method, headers, body: Buffer.concat(chunks) })
}
