/**
 * Serves a program's server over HTTP (spec: basic/transports, Streamable HTTP), as a `node:http` listener or a `fetch` handler.
 *
 * Handles authentication: before a request reaches the endpoint, it either receives its principal or is rejected with status 401.
 */
import { Principal as PrincipalService } from "@effect-mcp/core/Principal"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import * as HttpRouter from "effect/http/HttpRouter"
import type { IncomingMessage } from "node:http"
import type { Principal } from "../handler/Context.ts"
import {
  checked,
  type Auth,
  type AuthRequest,
  type FetchHandler,
  type HttpOptions,
  type Listener
} from "./HttpOptions.ts"
import { corsFetch, corsListener } from "./cors.ts"
import { principalOf } from "./principal.ts"
import type { ServerRuntime } from "./runtime.ts"

const bearer = (headers: Headers): string | undefined =>
  /^Bearer +(\S+) *$/i.exec(headers.get("authorization") ?? "")?.[1]

/** Result of authentication: either a principal, or the status and headers of a rejection. */
type Outcome =
  | { readonly principal: Principal }
  | { readonly status: number; readonly headers: { readonly [name: string]: string }; readonly body?: string }

/** Body of a 401 response, in the format of OAuth errors (RFC 6749, 5.2). */
const refusal = (token: string | undefined): string =>
  JSON.stringify(
    token === undefined
      ? { error: "unauthorized", error_description: "Missing token. Send the header Authorization: Bearer TOKEN" }
      : { error: "invalid_token", error_description: "Invalid token. Ask the server's operator for a valid one" }
  )

const challenge = (token: string | undefined, { resourceMetadata }: Auth): string => {
  const params = [
    ...(token === undefined ? [] : ['error="invalid_token"']),
    ...(resourceMetadata === undefined ? [] : [`resource_metadata="${resourceMetadata}"`])
  ]
  return params.length === 0 ? "Bearer" : `Bearer ${params.join(", ")}`
}

/** Authenticates a request. Both `request` and `verify` may throw. */
const authenticate = async (
  auth: Auth,
  request: () => AuthRequest,
  failed: (error: unknown) => void
): Promise<Outcome> => {
  try {
    const asked = request()
    const token = bearer(asked.headers)
    const user: unknown = await auth.verify(token, asked)
    if (user === undefined || user === null || user === false) {
      const headers = { "www-authenticate": challenge(token, auth), "content-type": "application/json" }
      return { status: 401, headers, body: refusal(token) }
    }
    return { principal: principalOf("auth.verify returned", user) }
  } catch (error) {
    failed(error)
    return { status: 500, headers: {} }
  }
}

const headersOf = (request: IncomingMessage): Headers => {
  const headers = new Headers()
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined && !name.startsWith(":")) headers.set(name, Array.isArray(value) ? value.join(", ") : value)
  }
  return headers
}

const endpointOptions = ({ drain }: ServerRuntime, given: HttpOptions) => {
  const { auth: _auth, cors: _cors, path: _path, ...options } = given
  return { ...options, drain }
}

const caller: unique symbol = Symbol("@effect-mcp/promise/Principal")

interface Admitted extends IncomingMessage {
  [caller]?: Principal | undefined
}

/** A listener, and the functions that close it: see `McpServer.toNodeListener`. */
export const listener = (
  runtime: ServerRuntime,
  options: HttpOptions,
  failed: (error: unknown) => void,
  lameDuck?: number
): ReturnType<typeof McpServer.toNodeListener> => {
  const { auth, path } = checked(options)
  const built = McpServer.toNodeListener(runtime.layer, {
    ...endpointOptions(runtime, options),
    lameDuck,
    path,
    principal: (request: Admitted) => request[caller]
  })
  if (auth === undefined) return { ...built, listener: corsListener(options, built.listener) }
  const admitted: Listener = (request: Admitted, response) => {
    const { method = "", url = "" } = request
    const answer = async (): Promise<void> => {
      const outcome = await authenticate(auth, () => ({ method, url, headers: headersOf(request) }), failed)
      if (response.headersSent) return
      if (!("principal" in outcome)) return void response.writeHead(outcome.status, outcome.headers).end(outcome.body)
      request[caller] = outcome.principal
      built.listener(request, response)
    }
    void answer().catch((error: unknown) => {
      failed(error)
      response.destroy()
    })
  }
  return { ...built, listener: corsListener(options, admitted) }
}

/** A `fetch` handler; the function closes it. */
export const fetchHandler = (
  runtime: ServerRuntime,
  options: HttpOptions,
  failed: (error: unknown) => void
): { readonly handler: FetchHandler; readonly dispose: () => Promise<void> } => {
  const { auth, path = "*" } = checked(options)
  const routes = McpServer.layerHttp({ ...endpointOptions(runtime, options), path })
  const { dispose, handler } = HttpRouter.toWebHandler(Layer.provide(routes, runtime.layer), { disableLogger: true })
  if (auth === undefined) return { handler: corsFetch(options, (request) => handler(request)), dispose }
  const admitted: FetchHandler = async (request) => {
    const outcome = await authenticate(auth, () => request, failed)
    return "principal" in outcome
      ? handler(request, Context.make(PrincipalService, outcome.principal))
      : new Response(outcome.body ?? null, outcome)
  }
  return { handler: corsFetch(options, admitted), dispose }
}
