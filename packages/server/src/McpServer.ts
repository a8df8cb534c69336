/**
 * The public entry point for building and serving an MCP server: the service, its layer, and a function for each transport.
 *
 * This module contains no logic. It imports the HTTP endpoints on first use, so stdio programs don't load them.
 */
import { lateImport } from "@effect-mcp/core/internal/calling"
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

export {
  type ConnectOptions,
  layer,
  McpServer,
  NotPortable,
  type Options,
  type Registries,
  type Server,
  type StrictOptions,
  type Unportable
} from "./dispatch/Server.ts"
export type { DispatchOptions } from "./dispatch/StatelessDispatch.ts"
export type { ResumeOptions, SessionOptions } from "./http/Endpoint.ts"
export type { Options as SseOptions } from "./http/legacy/SseEndpoint.ts"
export type { BuildOptions as NodeListenerOptions, Built as NodeListener } from "./http/NodeListener.ts"
export type { Options as HttpOptions, WebHandler, WebHandlerOptions } from "./http/RouterEndpoint.ts"
export type { Session } from "./session/Session.ts"
export type { ContractOptions } from "./view/readContract.ts"
export type { RequestRow, RequestsView as Requests } from "./view/Requests.ts"
export type { Options as StdioOptions } from "./stdio/Stdio.ts"

/**
 * Builds a server and serves it over stdin and stdout (spec: basic/transports, stdio). This is usually your whole program.
 *
 * Logs and stray prints go to stderr from the start, so stdout carries only MCP messages. Uses the `Stdio` service if the context has one,
 * or else the process streams, which are faster. Returns when stdin ends. Fails if the server cannot be built or stdout breaks.
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
 * Serves the server in the context over stdin and stdout until stdin ends. The options set the message size limit, the outbox budgets, and
 * the `grace` period for in-flight requests (default 1 second). Fails if stdout breaks. Logs go to stderr, but output written before this
 * call is not redirected. To redirect that too, use `runStdio`.
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
 * Serves every connection of a `SocketServer` (TCP or Unix socket) until interrupted, with one session per connection (spec:
 * basic/transports, custom transports). Takes the same options as stdio, except that `grace` defaults to 0. Fails if the listener fails.
 * Connections are not authenticated, so listen on loopback or on a socket file with owner-only permissions.
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
 * Adds the Streamable HTTP endpoint to the router at `options.path`, for all revisions (spec: basic/transports, Streamable HTTP).
 *
 * You can add your own routes and middleware to the same router. Middleware that provides a `Principal` identifies the caller. Serve the
 * router with `serveHttp`; with any other function, open streams delay the server's shutdown. Provide `NodeHttpServer` first and the MCP
 * server second, so that the program only starts listening once the MCP server is ready.
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
 *   McpServer.serveHttp(routes).pipe(
 *     Layer.provide(NodeHttpServer.layer(createServer, { port: 3000 })),
 *     Layer.provide(server)
 *   )
 * ```
 */
export const layerHttp = (options: Router.Options): Layer.Layer<never, never, McpServer | HttpRouter.HttpRouter> =>
  Layer.unwrap(
    Effect.map(Effect.promise(lateImport(() => import("./http/RouterEndpoint.ts"))), ({ layer }) => layer(options))
  )

/**
 * Adds the two endpoints of the deprecated HTTP+SSE transport (2024-11-05) to the router, under `options.path`. Serve the router with
 * `serveHttp`.
 *
 * @example
 * ```ts
 * import { McpServer } from "@effect-mcp/server"
 * import { Layer } from "effect"
 *
 * // Serves old clients next to new ones.
 * export const routes = Layer.merge(McpServer.layerHttp({ path: "/mcp" }), McpServer.layerSse({ path: "/legacy" }))
 * ```
 */
export const layerSse = (options: Sse.Options): Layer.Layer<never, never, McpServer | HttpRouter.HttpRouter> =>
  Layer.unwrap(
    Effect.map(Effect.promise(lateImport(() => import("./http/legacy/SseEndpoint.ts"))), ({ layer }) => layer(options))
  )

/**
 * Like `HttpRouter.serve`, but closes open MCP streams gracefully at shutdown, before the HTTP server waits for them. See `layerHttp`.
 * Failed requests are logged. With `disableLogger: false`, the path and status of every request are logged too.
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
 * Returns the Streamable HTTP endpoint as a `fetch` handler, for Workers, Deno, Bun and tests.
 *
 * The server starts building immediately, and requests wait until it is ready. `dispose` gracefully closes open streams and sessions. To
 * add your own routes or middleware, pass `layerHttp` to `HttpRouter.toWebHandler` instead.
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
 * Returns the Streamable HTTP endpoint as a listener for `node:http`, or as an Express route. A call costs a quarter less than through a
 * router.
 *
 * The server starts building immediately, and requests wait until it is ready. If the build fails, the reason is logged and requests
 * receive a 500. `close` stops the HTTP server and gracefully closes open streams and sessions. `dispose` does the same, but leaves the
 * HTTP server running. Neither one fails.
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
 * Makes the program exit with code 0 when a signal stops it. By default Effect exits with 130, which process supervisors treat as a
 * failure.
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
 *     Layer.provide(NodeHttpServer.layer(createServer, { port: 3000 })),
 *     Layer.provide(server),
 *     Layer.launch,
 *     NodeRuntime.runMain({ teardown: McpServer.teardown })
 *   )
 * ```
 */
export const teardown: Runtime.Teardown = (exit, onExit) =>
  Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause) ? onExit(0) : Runtime.defaultTeardown(exit, onExit)

/**
 * Creates a function that handles requests of a stateless revision without a session, for use in your own endpoints. Each call handles one
 * request. Requests with neither a principal nor an address share a single rate limit.
 */
export const dispatch = (server: Server): StatelessDispatch.Dispatch => StatelessDispatch.make(server.stateless)
