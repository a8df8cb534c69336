/**
 * A web page that shows everything running on a server, live: sessions with their requests, subscriptions and questions, a timeline for
 * each session, small charts, and buttons to stop stuck requests. Programs have no console unless they add one.
 *
 * The page is static and contains no secrets. It reads everything from the admin endpoint under it, using the token that the user enters.
 * It rejects the same requests as the admin endpoint: from other machines if tokens are used, for rebound host names, and from other sites'
 * pages.
 */
import * as Access from "../admin/Access.ts"
import * as Admin from "../admin/Admin.ts"
import type { McpServer } from "@effect-mcp/server/McpServer"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import { html } from "./html.ts"
import { modules } from "./modules.ts"
import { css } from "./style.ts"

export type Options = Admin.TokenOptions & {
  /** Path of the page. Its admin endpoint is at `{path}/api`. Default `/console`. */
  readonly path?: `/${string}` | undefined
}

export interface PageOptions {
  /** Path of the page. It reads the admin endpoint at `{path}/api`. Default `/console`. */
  readonly path?: `/${string}` | undefined
  /** The server's host names besides loopback, as for `McpServer.layerHttp`. Requests for other names receive a 403. Default: none. */
  readonly allowedHosts?: ReadonlyArray<string> | undefined
}

/** Allows only the page's own files, which contain no inline scripts or styles. Text is never inserted as HTML. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'"
].join("; ")

const headers = {
  "cache-control": "no-cache",
  "content-security-policy": policy,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY"
}

const file = (contentType: string, text: string) => HttpServerResponse.text(text, { contentType, headers })

const page = (path: `/${string}`, access: Parameters<typeof Access.refusalOf>[1]) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const router = yield* HttpRouter.HttpRouter
      const add = (at: `/${string}`, response: HttpServerResponse.HttpServerResponse) =>
        router.add(
          "GET",
          at,
          Effect.map(HttpServerRequest.HttpServerRequest, (request) => Access.refusalOf(request, access) ?? response)
        )
      yield* add(path, file("text/html; charset=utf-8", html(path)))
      yield* add(`${path}/style.css`, file("text/css; charset=utf-8", css))
      for (const [name, text] of yield* modules) {
        yield* add(`${path}/page/${name}`, file("text/javascript; charset=utf-8", text))
      }
    })
  )

/**
 * Serves the page at `path` and its admin endpoint at `{path}/api`, for this machine only. Holders of `token` may view and interrupt;
 * holders of `readOnlyToken` may only view. To show events from before the page was opened, provide `Admin.layerHistory()` to both the page
 * and the server. To show rates and durations, provide `Telemetry.layer()` to the server. Serve it with `McpServer.serveHttp`, which closes
 * open pages on shutdown.
 *
 * @example
 * ```ts
 * import { NodeHttpServer } from "@effect/platform-node"
 * import { Admin, Telemetry } from "@effect-mcp/operate"
 * import * as Console from "@effect-mcp/operate/console"
 * import { McpServer } from "@effect-mcp/server"
 * import { Config, Effect, Layer } from "effect"
 * import { createServer } from "node:http"
 *
 * const history = Admin.layerHistory()
 * const server = McpServer.layer({ name: "orders", version: "1.0.0", features: Layer.empty }).pipe(
 *   Layer.provide([history, Telemetry.layer()])
 * )
 *
 * const page = Layer.unwrap(Effect.map(Config.Redacted("ADMIN_TOKEN"), (token) => Console.layer({ token })))
 *
 * // At http://127.0.0.1:9464/console, in the same program as the server over stdio or HTTP.
 * export const app = McpServer.serveHttp(page).pipe(
 *   Layer.provide([history, NodeHttpServer.layer(createServer, { port: 9464, host: "127.0.0.1" })]),
 *   Layer.provideMerge(server)
 * )
 * ```
 */
export const layer = (options: Options): Layer.Layer<never, never, McpServer | HttpRouter.HttpRouter> => {
  const { path = "/console" } = options
  return Layer.merge(page(path, { isLocal: true }), Admin.layer({ ...options, path: `${path}/api` }))
}

/**
 * Serves only the page, for servers with authorization. It uses the endpoint from `Admin.layer` with `scopes`, behind `Auth.protect` or
 * other middleware that provides a `Principal`. The page itself is not protected, because it contains no secrets and browsers send no token
 * for it. Serve it over HTTPS.
 *
 * @example
 * ```ts
 * import { Auth } from "@effect-mcp/auth"
 * import { Admin } from "@effect-mcp/operate"
 * import * as Console from "@effect-mcp/operate/console"
 * import { McpServer } from "@effect-mcp/server"
 * import { Layer } from "effect"
 *
 * const allowedHosts = ["mcp.example.com"]
 * const scopes = { see: "console:see", steer: "console:steer" }
 *
 * // The endpoint for clients and the endpoint for the page, both behind the same authorization.
 * export const routes = Layer.mergeAll(
 *   Auth.protect(
 *     Layer.merge(
 *       McpServer.layerHttp({ path: "/mcp", allowedHosts }),
 *       Admin.layer({ path: "/console/api", scopes, allowedHosts })
 *     )
 *   ),
 *   Console.layerPage({ path: "/console", allowedHosts })
 * )
 * ```
 */
export const layerPage = ({ allowedHosts, path = "/console" }: PageOptions = {}): Layer.Layer<
  never,
  never,
  HttpRouter.HttpRouter
> => page(path, { isLocal: false, allowedHosts })
