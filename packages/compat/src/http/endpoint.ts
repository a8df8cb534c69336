/** An actor over HTTP, as a listener for `node:http` and as a `fetch` handler. */
import { Principal } from "@effect-mcp/core/Principal"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Context from "effect/Context"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import type { ServerResponse } from "node:http"
import { nestingRefusal } from "./nesting.ts"
import type { NodeRequest, RequestExtra } from "./requests.ts"
import { principalOf } from "../request/auth.ts"
import { endpointRefusal, refused } from "./validation.ts"
import type { Actor } from "../server/Actor.ts"

export interface EndpointOptions {
  readonly sessions: boolean
  /** In milliseconds. */
  readonly retry?: number | undefined
  /** Host names of the server, in addition to loopback. Default none. */
  readonly allowedHosts?: ReadonlyArray<string> | undefined
  /** Origins of pages that may send requests, in addition to the server's own and loopback. Default none. */
  readonly allowedOrigins?: ReadonlyArray<string> | undefined
  /** Called with the reason why a request was rejected. */
  readonly refused: (error: Error) => void
}

/** Lets effect-mcp's endpoint admit every name, because the names to admit depend on the checks of earlier code. */
const settings = ({ retry, sessions }: EndpointOptions) => ({
  allowedHosts: ["*"],
  allowedOrigins: ["*"],
  ...(sessions ? undefined : { sessions }),
  ...(retry === undefined ? undefined : { resume: { retry } })
})

/** Returns the body of a 403, or `undefined` if the request is admitted. */
const refusal = (
  request: object,
  headers: Parameters<typeof endpointRefusal>[1],
  options: EndpointOptions
): string | undefined => {
  const why = endpointRefusal(request, headers, options)
  if (why === undefined) return undefined
  const message = `Rejected a request: ${why}. To allow it, add it to allowedHosts or allowedOrigins`
  options.refused(new Error(message))
  return JSON.stringify(refused(why))
}

const asJson = { "content-type": "application/json" }

export interface NodeEndpoint {
  readonly handle: (request: NodeRequest, response: ServerResponse, body?: unknown) => void
  readonly dispose: () => Promise<void>
}

/** Replaces the body of a request with the body that the program has parsed. */
const withParsed = (request: NodeRequest, body: unknown): void => {
  Object.assign(request, { body })
  if (request.readableDidRead) return
  // The listener uses `body` only if the request was already read.
  Object.defineProperty(request, "readableDidRead", { value: true })
  request.resume()
}

export const nodeEndpoint = (actor: Actor, options: EndpointOptions): NodeEndpoint => {
  const { dispose, listener } = McpServer.toNodeListener(actor.layer, {
    ...settings(options),
    principal: (request: NodeRequest) => principalOf(request.auth)
  })
  return {
    dispose,
    handle: (request, response, body) => {
      // HTTP/2 sends the host name in a different header.
      const { ":authority": authority, host = authority, origin } = request.headers
      const why = refusal(request, { host: host?.toString(), origin }, options)
      if (why !== undefined) {
        response.writeHead(403, asJson).end(why)
        return
      }
      const deep = nestingRefusal(body ?? ("body" in request ? request.body : undefined))
      if (deep !== undefined) {
        response.writeHead(400, asJson).end(JSON.stringify(deep))
        return
      }
      if (body !== undefined) withParsed(request, body)
      listener(request, response)
    }
  }
}

export interface WebEndpoint {
  readonly handle: (request: Request, extra?: RequestExtra) => Promise<Response>
  readonly dispose: () => Promise<void>
}

/** Returns the request with the body that the program has parsed, or unchanged if there is none. */
const withBody = (request: Request, body: unknown): Request => {
  if (body === undefined || request.method !== "POST") return request
  const { method, signal, url } = request
  const headers = new Headers(request.headers)
  headers.delete("content-length")
  return new Request(url, { method, headers, signal, body: JSON.stringify(body) })
}

export const webEndpoint = (actor: Actor, options: EndpointOptions): WebEndpoint => {
  const routes = McpServer.layerHttp({ ...settings(options), path: "*" })
  const { dispose, handler } = HttpRouter.toWebHandler(Layer.provide(routes, actor.layer), { disableLogger: true })
  return {
    dispose,
    handle: async (request, { authInfo, parsedBody } = {}) => {
      const { headers, url } = request
      const why = refusal(
        request,
        { host: headers.get("host") ?? new URL(url).host, origin: headers.get("origin") },
        options
      )
      if (why !== undefined) return new Response(why, { status: 403, headers: asJson })
      const deep = nestingRefusal(parsedBody)
      if (deep !== undefined) return Response.json(deep, { status: 400 })
      const asked = withBody(request, parsedBody)
      const principal = principalOf(authInfo)
      return principal === undefined ? handler(asked) : handler(asked, Context.make(Principal, principal))
    }
  }
}
