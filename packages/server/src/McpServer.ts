/**
 * The server as users import it: the service, its layer, and one function for each way to serve it.
 *
 * Owns no behaviour. HTTP endpoints are imported when they are first used, so that a program over stdio does not load them.
 */
import { lateImport } from "@effect-mcp/core/internal/lateImport"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import type * as Router from "./http/RouterEndpoint.ts"
import type * as Node from "./http/NodeListener.ts"
import * as Socket from "./socket/Socket.ts"
import type * as Sse from "./http/legacy/SseEndpoint.ts"
import * as Stdio from "./stdio/Stdio.ts"
import type { McpServer, Server } from "./dispatch/Server.ts"
import * as StatelessDispatch from "./dispatch/StatelessDispatch.ts"

export { type ConnectOptions, layer, McpServer, type Options, type Registries, type Server } from "./dispatch/Server.ts"
export type { DispatchOptions } from "./dispatch/StatelessDispatch.ts"
export type { ResumeOptions, SessionOptions } from "./http/Endpoint.ts"
export type { Options as SseOptions } from "./http/legacy/SseEndpoint.ts"
export type { BuildOptions as NodeListenerOptions, Built as NodeListener } from "./http/NodeListener.ts"
export type { Options as HttpOptions } from "./http/RouterEndpoint.ts"
export type { Session } from "./session/Session.ts"
export type { ContractOptions } from "./view/readContract.ts"
export type { RequestRow, RequestsView as Requests } from "./view/Requests.ts"
export type { Options as StdioOptions } from "./stdio/Stdio.ts"

/**
 * Builds a server and serves it over stdin and stdout (spec: basic/transports, stdio): the whole program.
 *
 * Keeps stdout clean from its first moment: logs and stray prints go to stderr. Uses the `Stdio` of the context if there is one, else
 * the streams of the process, which is faster. Ends when stdin ends; fails when the server cannot be built or stdout breaks.
 *
 * @example
 * ```ts
 * import { Tool, Tools } from "@effect-mcp/core"
 * import { McpServer } from "@effect-mcp/server"
 * import { Effect } from "effect"
 *
 * const Hello = Tool.make("hello", { description: "Greets the user" })
 * const features = Tools.layer(Hello, () => Effect.succeed("Hello"))
 * const server = McpServer.layer({ name: "hello", version: "1.0.0", features })
 *
 * // Run it with `NodeRuntime.runMain(program)`.
 * export const program = McpServer.runStdio(server, { grace: "5 seconds" })
 * ```
 */
export const runStdio: typeof Stdio.run = Stdio.run

/**
 * Serves the server of the context over stdin and stdout until stdin ends. Options: message limit, outbox budgets, `grace` for requests
 * in flight (default 1 second). Fails when stdout breaks. Logs go to stderr; output before it runs is not redirected: see `runStdio`.
 *
 * @example
 * ```ts
 * import { McpServer } from "@effect-mcp/server"
 * import { Effect, type Layer } from "effect"
 *
 * export const main = (server: Layer.Layer<McpServer.McpServer>) => Effect.provide(McpServer.serveStdio(), server)
 * ```
 */
export const serveStdio: typeof Stdio.serve = Stdio.serve

/**
 * Serves every connection of a `SocketServer` (TCP or Unix socket), one session each, until interrupted (spec: basic/transports, custom
 * transports). Options are those of stdio; `grace` is 0 by default. Fails when the listener does. There is no authentication: listen on
 * loopback or on a file that only its owner can open.
 *
 * @example
 * ```ts
 * import { NodeSocketServer } from "@effect/platform-node"
 * import { McpServer } from "@effect-mcp/server"
 * import { Effect, type Layer } from "effect"
 *
 * export const main = (server: Layer.Layer<McpServer.McpServer>) =>
 *   Effect.provide(McpServer.serveSocket(), [
 *     server,
 *     NodeSocketServer.layer({ path: "/run/mcp.sock" })
 *   ])
 * ```
 */
export const serveSocket: typeof Socket.serve = Socket.serve

/**
 * Adds the Streamable HTTP endpoint at `options.path`, for all revisions, to the router (spec: basic/transports, Streamable HTTP).
 *
 * The application may add routes and middleware of its own; middleware that provides a `Principal` names the caller. Serve the router with
 * `serveHttp`: with another function, open streams hold up the server's shutdown.
 *
 * @example
 * ```ts
 * import { NodeHttpServer } from "@effect/platform-node"
 * import { McpServer } from "@effect-mcp/server"
 * import { Layer } from "effect"
 * import { createServer } from "node:http"
 *
 * const routes = McpServer.layerHttp({ path: "/mcp", allowedHosts: ["mcp.example.com"] })
 *
 * // Run it with `Layer.launch(http(server))`.
 * export const http = (server: Layer.Layer<McpServer.McpServer>) =>
 *   McpServer.serveHttp(routes).pipe(Layer.provide([server, NodeHttpServer.layer(createServer, { port: 3000 })]))
 * ```
 */
export const layerHttp = (options: Router.Options): Layer.Layer<never, never, McpServer | HttpRouter.HttpRouter> =>
  Layer.unwrap(
    Effect.map(Effect.promise(lateImport(() => import("./http/RouterEndpoint.ts"))), ({ layer }) => layer(options))
  )

/**
 * Adds the two endpoints of HTTP with SSE (2024-11-05, deprecated) to the router, below `options.path`. Serve the router with `serveHttp`.
 *
 * @example
 * ```ts
 * import { McpServer } from "@effect-mcp/server"
 * import { Layer } from "effect"
 *
 * // Old clients beside new ones.
 * export const routes = Layer.merge(McpServer.layerHttp({ path: "/mcp" }), McpServer.layerSse({ path: "/legacy" }))
 * ```
 */
export const layerSse = (options: Sse.Options): Layer.Layer<never, never, McpServer | HttpRouter.HttpRouter> =>
  Layer.unwrap(
    Effect.map(Effect.promise(lateImport(() => import("./http/legacy/SseEndpoint.ts"))), ({ layer }) => layer(options))
  )

/**
 * `HttpRouter.serve` that ends the open streams of MCP in order at shutdown, before the HTTP server waits for them. See `layerHttp`. It logs
 * requests that fail; with `disableLogger: false` every request, by path and status.
 *
 * @example
 * ```ts
 * import { McpServer } from "@effect-mcp/server"
 * import { Layer } from "effect"
 * import { HttpRouter, HttpServerResponse } from "effect/http"
 *
 * const health = HttpRouter.add("GET", "/health", HttpServerResponse.text("ok"))
 *
 * export const app = McpServer.serveHttp(Layer.merge(McpServer.layerHttp({ path: "/mcp" }), health))
 * ```
 */
export const serveHttp: typeof HttpRouter.serve = (app, options) =>
  Layer.unwrap(
    Effect.map(Effect.promise(lateImport(() => import("./http/request/Shutdown.ts"))), ({ serve }) =>
      serve(app, options)
    )
  )

/**
 * The Streamable HTTP endpoint as a `fetch` handler, for Workers, Deno, Bun and tests.
 *
 * The server is built at once; requests wait for it. `dispose` ends open streams and sessions, in order. For routes or middleware of your
 * own, give `layerHttp` to `HttpRouter.toWebHandler`.
 *
 * @example
 * ```ts
 * import { Tool, Tools } from "@effect-mcp/core"
 * import { McpServer } from "@effect-mcp/server"
 * import { Effect } from "effect"
 *
 * const Hello = Tool.make("hello", { description: "Greets the user" })
 * const features = Tools.layer(Hello, () => Effect.succeed("Hello"))
 * const server = McpServer.layer({ name: "hello", version: "1.0.0", features })
 *
 * const { dispose, handler } = McpServer.toWebHandler(server, { path: "/mcp" })
 *
 * const ping = new Request("http://localhost/mcp", {
 *   method: "POST",
 *   headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
 *   body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })
 * })
 * console.log((await handler(ping)).status) // => 400
 * await dispose()
 * ```
 */
export const toWebHandler = <E>(
  server: Layer.Layer<McpServer, E>,
  options: Router.WebHandlerOptions
): Router.WebHandler => {
  const made = lateImport(() => import("./http/RouterEndpoint.ts"))().then((router) =>
    router.toWebHandler(server, options)
  )
  return {
    handler: async (request) => (await made).handler(request),
    dispose: async () => (await made).dispose()
  }
}

/**
 * The Streamable HTTP endpoint as a listener of `node:http`, or a route of Express: a call costs a quarter less than through a router.
 *
 * The server is built at once; requests wait for it. If it cannot be built, the reason is logged and requests are answered by 500.
 * `close` stops the HTTP server, and ends open streams and sessions in order; `dispose` leaves the HTTP server alone. Neither fails.
 *
 * @example
 * ```ts
 * import { McpServer } from "@effect-mcp/server"
 * import type { Layer } from "effect"
 * import { createServer } from "node:http"
 *
 * export const listen = (server: Layer.Layer<McpServer.McpServer>) => {
 *   const { close, listener } = McpServer.toNodeListener(server, { path: "/mcp" })
 *   const http = createServer(listener).listen(3000)
 *   process.once("SIGTERM", () => close(http))
 * }
 * ```
 */
export const toNodeListener = <E>(server: Layer.Layer<McpServer, E>, options?: Node.BuildOptions): Node.Built => {
  const building = lateImport(() => import("./http/NodeListener.ts"))().then(({ build }) => build(server, options))
  const built = building.then(({ listener }) => listener)
  let listener: Node.Listener = (request, response) =>
    void built.then(
      (listener) => listener(request, response),
      () => void (response.headersSent || response.writeHead(500).end())
    )
  built.then(
    (ready) => (listener = ready),
    () => undefined
  )
  return {
    listener: (request, response) => listener(request, response),
    dispose: () => building.then(({ dispose }) => dispose()),
    close: (http) => building.then(({ close }) => close(http))
  }
}

/**
 * Ends a program with exit code 0 if a signal stopped it. Effect's own way is 130, which supervisors take for a failure.
 *
 * @example
 * ```ts
 * import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
 * import { McpServer } from "@effect-mcp/server"
 * import { Layer } from "effect"
 * import { createServer } from "node:http"
 *
 * export const run = (server: Layer.Layer<McpServer.McpServer>) =>
 *   McpServer.serveHttp(McpServer.layerHttp({ path: "/mcp" })).pipe(
 *     Layer.provide([server, NodeHttpServer.layer(createServer, { port: 3000 })]),
 *     Layer.launch,
 *     NodeRuntime.runMain({ teardown: McpServer.teardown })
 *   )
 * ```
 */
export const teardown: Runtime.Teardown = (exit, onExit) =>
  Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause) ? onExit(0) : Runtime.defaultTeardown(exit, onExit)

/**
 * What answers requests of a stateless revision, without a session: for endpoints of one's own. Each call answers one request; requests
 * without a name and an address share one rate limit.
 */
export const dispatch = (server: Server): StatelessDispatch.Dispatch => StatelessDispatch.make(server.stateless)
