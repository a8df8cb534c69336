/**
 * Serves Streamable HTTP (spec: basic/transports) on Effect's router, next to your own routes. Your router middleware applies, and may
 * provide a `Principal`. `Endpoint` contains the endpoint itself; `NodeListener` serves the same endpoint without a router.
 */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { McpServer } from "../dispatch/Server.ts"
import * as Endpoint from "./Endpoint.ts"
import { CurrentHttpServers } from "./request/HttpServers.ts"
import { onShutdown } from "./request/Shutdown.ts"
import * as RouterHandler from "./request/RouterHandler.ts"

export type { ResumeOptions, SessionOptions } from "./Endpoint.ts"
export { serve } from "./request/Shutdown.ts"

export interface Options extends Endpoint.Options, RouterHandler.Options {
  /** Path of the endpoint. */
  readonly path: HttpRouter.PathInput
}

/**
 * Adds the endpoint to the router. Serve the app with this module's `serve`; otherwise open streams delay shutdown.
 *
 * @example
 * ```ts
 * import { NodeHttpServer } from "@effect/platform-node"
 * import { McpServer } from "@effect-mcp/server"
 * import { Layer } from "effect"
 * import { createServer } from "node:http"
 *
 * const server = McpServer.layer({ name: "example", version: "1.0.0", features: Layer.empty })
 *
 * export const main = McpServer.serveHttp(McpServer.layerHttp({ path: "/mcp" })).pipe(
 *   Layer.provide(NodeHttpServer.layer(createServer, { port: 3000 })),
 *   Layer.provide(server)
 * )
 * ```
 */
export const layer = (options: Options): Layer.Layer<never, never, McpServer | HttpRouter.HttpRouter> =>
  HttpRouter.use((router) => Effect.flatMap(make(options), (handle) => router.add("*", options.path, handle)))

/** Options for a `fetch` handler. */
export interface WebHandlerOptions extends Options {
  /** Shares the server's layers with the host's other layers. By default the server is built separately. */
  readonly memoMap?: Layer.MemoMap | undefined
}

/** An endpoint as a `fetch` handler. */
export interface WebHandler {
  readonly handler: (request: Request) => Promise<Response>
  /** Gracefully closes open streams and sessions. */
  readonly dispose: () => Promise<void>
}

/**
 * Creates the endpoint as a `fetch` handler, for Workers, Deno and Bun. The server starts building immediately. `dispose` gracefully closes
 * everything that is open. To add routes or middleware, pass `layer` to `HttpRouter.toWebHandler` instead.
 */
export const toWebHandler = <E>(
  server: Layer.Layer<McpServer, E>,
  { memoMap, ...options }: WebHandlerOptions
): WebHandler => HttpRouter.toWebHandler(Layer.provide(layer(options), server), { disableLogger: true, memoMap })

const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<RouterHandler.RouterHandler, never, McpServer | Scope.Scope> {
  const endpoint = yield* Endpoint.make(options)
  yield* onShutdown(endpoint.end(yield* CurrentHttpServers))
  return yield* RouterHandler.make(endpoint, options)
})
