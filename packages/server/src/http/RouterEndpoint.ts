/**
 * Serves Streamable HTTP (spec: basic/transports) on Effect's router, next to your own routes. Your router middleware applies, and may
 * provide a `Principal`. `Endpoint` contains the endpoint itself; `NodeListener` serves the same endpoint without a router.
 */
import { attempt, exitOf } from "@effect-mcp/core/internal/calling"
import { Principal } from "@effect-mcp/core/Principal"
import type * as Headers from "@effect-mcp/protocol/Headers"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpRouter from "effect/http/HttpRouter"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import type { McpServer } from "../dispatch/Server.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Body from "./request/Body.ts"
import * as Cors from "./request/Cors.ts"
import type { HttpExchange } from "./request/HttpExchange.ts"
import type { HttpRequest } from "./request/HttpRequest.ts"
import { CurrentHttpServers, serverOf } from "./request/HttpServers.ts"
import { onShutdown } from "./request/Shutdown.ts"
import * as NodeResponseWriter from "./response/NodeResponseWriter.ts"

export type { ResumeOptions, SessionOptions } from "./Endpoint.ts"
export { serve } from "./request/Shutdown.ts"

export interface Options extends Endpoint.Options {
  /** Path of the endpoint. */
  readonly path: HttpRouter.PathInput
  /** Whether to allow cross-origin requests from `allowedOrigins`. Default false. */
  readonly cors?: Cors.Options | boolean | undefined
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

/** A router request. Handlers can see this object, but not the router's own request or context. */
class RouterRequest implements HttpRequest {
  readonly method: string
  readonly headers: Headers.Headers
  readonly principal: Principal["Service"] | undefined
  readonly #http: HttpServerRequest
  readonly #context: Context.Context<never>

  constructor(http: HttpServerRequest, context: Context.Context<never>) {
    this.#http = http
    this.method = http.method
    this.headers = http.headers
    this.principal = Context.getOrUndefined(context, Principal)
    this.#context = context
  }

  get span(): Tracer.AnySpan | undefined {
    return Context.getOrUndefined(this.#context, Tracer.ParentSpan)
  }

  get originalUrl(): string {
    return this.#http.originalUrl
  }

  get address(): string | undefined {
    return Option.getOrUndefined(this.#http.remoteAddress)
  }
}

/** True if the response is ready and its connection accepts it immediately, which completes the exchange. */
const isOver = <R>(http: HttpServerRequest, answer: Effect.Effect<HttpServerResponse, never, R>): boolean => {
  const exit = exitOf(answer)
  if (exit === undefined || !Exit.isSuccess(exit) || exit.value.body._tag === "Stream") return false
  return !NodeResponseWriter.mayWait(http, exit.value)
}

type Handle = Effect.Effect<HttpServerResponse, never, HttpServerRequest | Scope.Scope>

const make = Effect.fnUntraced(function* (options: Options): Effect.fn.Return<Handle, never, McpServer | Scope.Scope> {
  const endpoint = yield* Endpoint.make(options)
  const listening = yield* CurrentHttpServers
  yield* onShutdown(endpoint.end(listening))
  const { admission, exchanges } = endpoint
  const read = Body.reader(admission)

  /** Handles the request. The exchange ends when the response has been written or cut off, after the HTTP request's scope closes. */
  const finish = (
    http: HttpServerRequest,
    context: Context.Context<never>,
    exchange: HttpExchange,
    answering: () => ReturnType<Endpoint.Endpoint["post"]>
  ): ReturnType<Endpoint.Endpoint["post"]> => {
    // An error thrown here would reach the reader of the body and end the process.
    const answered = attempt(answering)
    if (isOver(http, answered)) {
      exchanges.leave(exchange)
      return answered
    }
    const leave = Effect.sync(() => NodeResponseWriter.whenRead(http, () => exchanges.leave(exchange)))
    const unread: NodeResponseWriter.OnUnread = (bytes, close) => exchanges.unread(exchange, bytes, close)
    return Effect.andThen(
      Scope.addFinalizer(Context.getUnsafe(context, Scope.Scope), leave),
      Effect.map(answered, (answer) => NodeResponseWriter.answer(http, context, answer, unread))
    )
  }

  const handle: Handle = Effect.withFiber<HttpServerResponse, never, HttpServerRequest | Scope.Scope>((fiber) => {
    const http = Context.getUnsafe(fiber.context, HttpServerRequest)
    const request = new RouterRequest(http, fiber.context)
    listening?.add(serverOf(http.source))
    if (exchanges.leaving) NodeResponseWriter.closeConnection(http)
    const refused = endpoint.refusal(request)
    if (refused !== undefined) {
      Body.discardUnread(http)
      return Effect.succeed(refused)
    }
    const cut = () => fiber.interruptUnsafe()
    if (request.method !== "POST") {
      const exchange = exchanges.open(cut, request)
      return finish(http, fiber.context, exchange, () => endpoint.other(request, exchange))
    }
    const exchange = exchanges.enter(cut, request)
    const answer = (body: Body.Read) =>
      finish(http, fiber.context, exchange, () => endpoint.post(request, body, exchange))
    const received = (length: number): boolean => exchanges.arriving.received(exchange, length)
    return read(http, answer, received, () => exchanges.leave(exchange))
  })
  const { cors = false } = options
  return cors === false ? handle : Cors.cors(cors === true ? {} : cors, options)(handle)
})
