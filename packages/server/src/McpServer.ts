/**
 * The server as users import it: the service and its layer, and the endpoints it can be served at.
 */
import * as Effect from "effect/Effect"
import type * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import type * as Http from "./http/RouterEndpoint.ts"
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
export type { Session } from "./session/Session.ts"

/**
 * Builds a server and serves it over stdin and stdout: all there is to a program that keeps its stdout clean from the start. They are
 * those of the `Stdio` in the context if there is one, else those of the process, which is the faster way.
 */
export const runStdio = Stdio.run
/** Serves over stdin and stdout until stdin ends. Logs go to stderr. */
export const serveStdio = Stdio.serve()
/** The same with options: message limit, grace, outbox budgets. */
export const serveStdioWith = Stdio.serve

// What follows is loaded when it is used: who serves stdio does not wait for HTTP to load.

/** Serves every connection of a `SocketServer` (TCP or Unix socket) until interrupted. */
export const serveSocket: typeof Socket.serve = (options) =>
  Effect.flatMap(
    Effect.promise(() => import("./socket/Socket.ts")),
    ({ serve }) => serve(options)
  )

/** Adds the Streamable HTTP endpoint, for all revisions, to a router; see `endpoint/Http`. */
export const layerHttp = (options: Http.Options): Layer.Layer<never, never, McpServer | HttpRouter.HttpRouter> =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./http/RouterEndpoint.ts")),
      ({ layer }) => layer(options)
    )
  )

/** Adds the two endpoints of HTTP with SSE (2024-11-05, deprecated) to a router; see `endpoint/Sse`. */
export const layerSse = (options: Sse.Options): Layer.Layer<never, never, McpServer | HttpRouter.HttpRouter> =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./http/legacy/SseEndpoint.ts")),
      ({ layer }) => layer(options)
    )
  )

/** `HttpRouter.serve` that ends MCP's open streams in order at shutdown, before the HTTP server waits for them. */
export const serveHttp: typeof HttpRouter.serve = (app, options) =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./http/request/Shutdown.ts")),
      ({ serve }) => serve(app, options)
    )
  )

/** The Streamable HTTP endpoint as a `fetch` handler; see `endpoint/Http`. */
export const toWebHandler = <E>(
  server: Layer.Layer<McpServer, E>,
  options: Parameters<typeof Http.toWebHandler>[1]
): ReturnType<typeof Http.toWebHandler> => {
  const made = import("./http/RouterEndpoint.ts").then((http) => http.toWebHandler(server, options))
  return {
    handler: async (request) => (await made).handler(request),
    dispose: async () => (await made).dispose()
  }
}

/**
 * The Streamable HTTP endpoint as a listener of `node:http`, or a route of Express: a call costs a quarter less than through a router; see
 * `endpoint/Node`. It is built at once, and requests wait for that; if it fails, that is logged, and they are answered by 500. `dispose`
 * ends what is open, in order, or what is still being built, and never fails: then close the HTTP server.
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
