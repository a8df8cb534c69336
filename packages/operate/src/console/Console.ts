/**
 * A page that shows what runs at a server, live: sessions with their requests, subscriptions and questions, the timeline of one session,
 * small plots, and the end of what hangs. There is none unless a program adds it.
 *
 * The page is static and has no secrets; all that it shows it reads from the admin endpoint below it, with the token that its user types.
 * Refuses what the admin endpoint refuses: other machines, where tokens are what admits, names that were rebound, pages of other sites.
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
  /** Where the page is; its admin endpoint is at `{path}/api`. Default `/console`. */
  readonly path?: `/${string}` | undefined
}

export interface PageOptions {
  /** Where the page is. It asks the admin endpoint at `{path}/api`. Default `/console`. */
  readonly path?: `/${string}` | undefined
  /** Names of the server beside loopback, as for `McpServer.layerHttp`. Default none; others get 403. */
  readonly allowedHosts?: ReadonlyArray<string> | undefined
}

/** Nothing but the page's own files, which have no inline script and no inline style; text never becomes HTML. */
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
 * The page at `path`, and its admin endpoint at `{path}/api`, for this machine only: `token` sees and interrupts, `readOnlyToken` sees. For
 * a timeline that begins before the page was opened, give the page and the server `Admin.layerHistory()`. For rates and durations, give
 * the server `Telemetry.layer()`. Serve it with `McpServer.serveHttp`, which ends open pages at a shutdown.
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
 * // At http://127.0.0.1:9464/console, beside the server over stdio or HTTP.
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
 * The page alone, for servers with authorization: `Admin.layer` with `scopes` is its endpoint, behind `Auth.protect` or another middleware
 * that provides a `Principal`. The page itself is not behind it: it has no secrets, and a browser sends no token for it. Serve it over HTTPS.
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
 * // The endpoint of clients and that of the page, both behind the same authorization.
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
