/** An actor over HTTP: as a listener of `node:http`, and as a `fetch` handler. */
import { Principal } from "@effect-mcp/core/Principal"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Context from "effect/Context"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { AuthInfo } from "../model/types.ts"
import type { NodeRequest, RequestExtra } from "./requests.ts"
import { principalOf } from "../request/auth.ts"
import type { Actor } from "../server/Actor.ts"

export interface EndpointOptions {
  readonly sessions: boolean
  /** Milliseconds. */
  readonly retry?: number | undefined
  /** Names of the server; undefined for any, as in the SDK. */
  readonly allowedHosts?: ReadonlyArray<string> | undefined
  readonly allowedOrigins?: ReadonlyArray<string> | undefined
}

const settings = ({ allowedHosts = ["*"], allowedOrigins = ["*"], retry, sessions }: EndpointOptions) => ({
  allowedHosts,
  allowedOrigins,
  ...(sessions ? undefined : { sessions }),
  ...(retry === undefined ? undefined : { resume: { retry } })
})

export interface NodeEndpoint {
  readonly handle: (request: NodeRequest, response: ServerResponse, body?: unknown) => void
  readonly dispose: () => Promise<void>
}

export const nodeEndpoint = (actor: Actor, options: EndpointOptions): NodeEndpoint => {
  const auths = new WeakMap<IncomingMessage, AuthInfo>()
  const { dispose, listener } = McpServer.toNodeListener(actor.layer, {
    ...settings(options),
    principal: (request) => principalOf(auths.get(request))
  })
  return {
    dispose,
    handle: (request, response, body) => {
      if (request.auth !== undefined) auths.set(request, request.auth)
      if (body !== undefined) Object.assign(request, { body })
      listener(request, response)
    }
  }
}

export interface WebEndpoint {
  readonly handle: (request: Request, extra?: RequestExtra) => Promise<Response>
  readonly dispose: () => Promise<void>
}

/** The request with a body that was read before. */
const withBody = (request: Request, body: unknown): Request =>
  body === undefined || !request.bodyUsed
    ? request
    : new Request(request.url, { method: request.method, headers: request.headers, body: JSON.stringify(body) })

export const webEndpoint = (actor: Actor, options: EndpointOptions): WebEndpoint => {
  const routes = McpServer.layerHttp({ ...settings(options), path: "*" })
  const { dispose, handler } = HttpRouter.toWebHandler(Layer.provide(routes, actor.layer), { disableLogger: true })
  return {
    dispose,
    handle: (request, { authInfo, parsedBody } = {}) => {
      const asked = withBody(request, parsedBody)
      const principal = principalOf(authInfo)
      return principal === undefined ? handler(asked) : handler(asked, Context.make(Principal, principal))
    }
  }
}
