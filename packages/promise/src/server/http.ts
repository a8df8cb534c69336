/**
 * HTTP for a program's server (spec: basic/transports, Streamable HTTP): a listener of `node:http`, and a `fetch` handler.
 *
 * Owns authentication: each request gets its principal before the endpoint sees it, or is refused by 401.
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
import { principalOf } from "./principal.ts"
import type { ServerRuntime } from "./runtime.ts"

const bearer = (headers: Headers): string | undefined =>
  /^Bearer +(\S+) *$/i.exec(headers.get("authorization") ?? "")?.[1]

/** The outcome of authentication: a principal, or the status and headers of a refusal. */
type Outcome =
  | { readonly principal: Principal }
  | { readonly status: number; readonly headers: { readonly [name: string]: string }; readonly body?: string }

/** What a refusal says, in the form of OAuth errors (RFC 6749, 5.2). */
const refusal = (token: string | undefined): string =>
  JSON.stringify(
    token === undefined
      ? { error: "unauthorized", error_description: "A token is needed: Authorization: Bearer TOKEN" }
      : { error: "invalid_token", error_description: "The token is not known: get one from the operator" }
  )

const challenge = (token: string | undefined, { resourceMetadata }: Auth): string => {
  const params = [
    ...(token === undefined ? [] : ['error="invalid_token"']),
    ...(resourceMetadata === undefined ? [] : [`resource_metadata="${resourceMetadata}"`])
  ]
  return params.length === 0 ? "Bearer" : `Bearer ${params.join(", ")}`
}

/** `request` may throw, as `verify` may. */
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

const endpointOptions = ({ auth: _ours, path: _too, ...options }: HttpOptions) => options

/** A listener; the function closes it. */
export const listener = (
  runtime: ServerRuntime,
  options: HttpOptions,
  failed: (error: unknown) => void
): { readonly listener: Listener; readonly dispose: () => Promise<void> } => {
  const { auth, path } = checked(options)
  const principals = new WeakMap<IncomingMessage, Principal>()
  const built = McpServer.toNodeListener(runtime.layer, {
    ...endpointOptions(options),
    path,
    principal: (request) => principals.get(request)
  })
  if (auth === undefined) return built
  const admitted: Listener = (request, response) => {
    const { method = "", url = "" } = request
    const answer = async (): Promise<void> => {
      const outcome = await authenticate(auth, () => ({ method, url, headers: headersOf(request) }), failed)
      if (response.headersSent) return
      if (!("principal" in outcome)) return void response.writeHead(outcome.status, outcome.headers).end(outcome.body)
      principals.set(request, outcome.principal)
      built.listener(request, response)
    }
    void answer().catch((error: unknown) => {
      failed(error)
      response.destroy()
    })
  }
  return { listener: admitted, dispose: built.dispose }
}

/** A `fetch` handler; the function closes it. */
export const fetchHandler = (
  runtime: ServerRuntime,
  options: HttpOptions,
  failed: (error: unknown) => void
): { readonly handler: FetchHandler; readonly dispose: () => Promise<void> } => {
  const { auth, path = "*" } = checked(options)
  const routes = McpServer.layerHttp({ ...endpointOptions(options), path })
  const { dispose, handler } = HttpRouter.toWebHandler(Layer.provide(routes, runtime.layer), { disableLogger: true })
  if (auth === undefined) return { handler: (request) => handler(request), dispose }
  const admitted: FetchHandler = async (request) => {
    const outcome = await authenticate(auth, () => request, failed)
    return "principal" in outcome
      ? handler(request, Context.make(PrincipalService, outcome.principal))
      : new Response(outcome.body ?? null, outcome)
  }
  return { handler: admitted, dispose }
}
