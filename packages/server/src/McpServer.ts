/**
 * The server as users import it: the service, its layer, and one function for each way to serve it.
 *
 * Owns no behaviour. The endpoints are loaded when they are first used, so a program over stdio does not load HTTP.
 */
import * as Effect from "effect/Effect"
import type * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import type * as Router from "./http/RouterEndpoint.ts"
import type * as Node from "./http/NodeListener.ts"
import type * as Socket from "./socket/Socket.ts"
import type * as Sse from "./http/legacy/SseEndpoint.ts"
import * as Stdio from "./stdio/Stdio.ts"
import type { McpServer } from "./dispatch/Server.ts"

export {
  type ConnectOptions,
  type DispatchOptions,
  layer,
  McpServer,
  type Options,
  type Registries,
  type Server
} from "./dispatch/Server.ts"
export type { ResumeOptions, SessionOptions } from "./http/Endpoint.ts"
export type { Options as SseOptions } from "./http/legacy/SseEndpoint.ts"
export type { BuildOptions as NodeListenerOptions, Built as NodeListener } from "./http/NodeListener.ts"
export type { Options as HttpOptions } from "./http/RouterEndpoint.ts"
export type { Session } from "./session/Session.ts"
export type { Options as StdioOptions } from "./stdio/Stdio.ts"

/**
 * Builds a server and serves it over stdin and stdout (spec: basic/transports, stdio): the whole program.
 *
 * Keeps stdout clean from its first moment: logs and stray prints go to stderr. Uses the `Stdio` of the context if there is one, else
 * the streams of the process, which is faster. Ends when stdin ends; fails when the server cannot be built or stdout breaks.
 */
export const runStdio: typeof Stdio.run = Stdio.run

/**
 * Serves the server of the context over stdin and stdout until stdin ends. Options: message limit, outbox budgets, `grace` for requests
 * in flight (default 1 second). Fails when stdout breaks. Logs go to stderr; what was printed before it runs is not caught: see
 * `runStdio`.
 */
export const serveStdio: typeof Stdio.serve = Stdio.serve

/** Serves every connection of a `SocketServer` (TCP or Unix socket) until interrupted. */
export const serveSocket: typeof Socket.serve = (options) =>
  Effect.flatMap(
    Effect.promise(() => import("./socket/Socket.ts")),
    ({ serve }) => serve(options)
  )

/**
 * Adds the Streamable HTTP endpoint at `options.path`, for all revisions, to the router (spec: basic/transports, Streamable HTTP).
 *
 * Routes and middleware of the application may stand beside it; middleware that provides a `Principal` names the caller. Serve the
 * router with `serveHttp`: with another function, open streams hold up the server's shutdown.
 */
export const layerHttp = (options: Router.Options): Layer.Layer<never, never, McpServer | HttpRouter.HttpRouter> =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./http/RouterEndpoint.ts")),
      ({ layer }) => layer(options)
    )
  )

/** Adds the two endpoints of HTTP with SSE (2024-11-05, deprecated) to the router, below `options.path`. */
export const layerSse = (options: Sse.Options): Layer.Layer<never, never, McpServer | HttpRouter.HttpRouter> =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./http/legacy/SseEndpoint.ts")),
      ({ layer }) => layer(options)
    )
  )

/** `HttpRouter.serve` that ends the open streams of MCP in order at shutdown, before the HTTP server waits for them. */
export const serveHttp: typeof HttpRouter.serve = (app, options) =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./http/request/Shutdown.ts")),
      ({ serve }) => serve(app, options)
    )
  )

/**
 * The Streamable HTTP endpoint as a `fetch` handler, for Workers, Deno, Bun and tests.
 *
 * The server is built at once; requests wait for it. `dispose` ends what is open, in order. For routes or middleware beside it, give
 * `layerHttp` to `HttpRouter.toWebHandler`.
 */
export const toWebHandler = <E>(
  server: Layer.Layer<McpServer, E>,
  options: Parameters<typeof Router.toWebHandler>[1]
): ReturnType<typeof Router.toWebHandler> => {
  const made = import("./http/RouterEndpoint.ts").then((router) => router.toWebHandler(server, options))
  return {
    handler: async (request) => (await made).handler(request),
    dispose: async () => (await made).dispose()
  }
}

/**
 * The Streamable HTTP endpoint as a listener of `node:http`, or a route of Express: a call costs a quarter less than through a router.
 *
 * The server is built at once; requests wait for it. A server that cannot be built is logged, and requests are answered by 500.
 * `dispose` ends what is open, in order, or what is still being built, and never fails: close the HTTP server after it.
 */
export const toNodeListener = <E>(server: Layer.Layer<McpServer, E>, options?: Node.BuildOptions): Node.Built => {
  const building = import("./http/NodeListener.ts").then(({ build }) => build(server, options))
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
    dispose: () => building.then(({ dispose }) => dispose())
  }
}
