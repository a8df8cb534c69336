/**
 * Serves Streamable HTTP (spec: basic/transports) on Effect's router: mounts beside the user's own routes, whose middleware applies and
 * may provide a `Principal`. `Endpoint` is the endpoint itself; `NodeListener` serves the same without a router.
 */
import { attempt, exitOf } from "@effect-mcp/core/internal/eager"
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
  /** The path of the endpoint. */
  readonly path: HttpRouter.PathInput
  /** Allows pages of other sites, if they are among `allowedOrigins`. Default false. */
  readonly cors?: Cors.Options | boolean | undefined
}

/**
 * Adds the endpoint to the router. Serve the app with `serve` of this module: otherwise open streams hold up the shutdown.
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
 *   Layer.provide(server),
 *   Layer.provide(NodeHttpServer.layer(createServer, { port: 3000 }))
 * )
 * ```
 */
export const layer = (options: Options): Layer.Layer<never, never, McpServer | HttpRouter.HttpRouter> =>
  HttpRouter.use((router) => Effect.flatMap(make(options), (handle) => router.add("*", options.path, handle)))

export interface WebHandlerOptions extends Options {
  /** Shares what the server is built of with the host's other layers. Default: it is built for itself. */
  readonly memoMap?: Layer.MemoMap | undefined
}

/** An endpoint as a `fetch` handler. */
export interface WebHandler {
  readonly handler: (request: Request) => Promise<Response>
  /** Ends open streams and sessions, in order. */
  readonly dispose: () => Promise<void>
}

/**
 * The endpoint as a `fetch` handler, for Workers, Deno and Bun. It is built at once; `dispose` ends what is open, in order. For routes or
 * middleware beside it, give `layer` to `HttpRouter.toWebHandler`.
 */
export const toWebHandler = <E>(
  server: Layer.Layer<McpServer, E>,
  { memoMap, ...options }: WebHandlerOptions
): WebHandler => HttpRouter.toWebHandler(Layer.provide(layer(options), server), { disableLogger: true, memoMap })

/** A request of the router. Handlers may see it, and neither the router's request nor its context. */
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

/** Whether the answer is there and no stream, so that the exchange is over. */
const isWhole = <R>(answer: Effect.Effect<HttpServerResponse, never, R>): boolean => {
  const exit = exitOf(answer)
  return exit !== undefined && Exit.isSuccess(exit) && exit.value.body._tag !== "Stream"
}

type Handle = Effect.Effect<HttpServerResponse, never, HttpServerRequest | Scope.Scope>

const make = Effect.fnUntraced(function* (options: Options): Effect.fn.Return<Handle, never, McpServer | Scope.Scope> {
  const endpoint = yield* Endpoint.make(options)
  const listening = yield* CurrentHttpServers
  yield* onShutdown(endpoint.end(listening))
  const { admission, exchanges } = endpoint
  const read = Body.reader(admission)

  /** Answers. The exchange ends with the scope of the HTTP request: when its response was written or cut off. */
  const finish = (
    http: HttpServerRequest,
    context: Context.Context<never>,
    exchange: HttpExchange,
    answering: () => ReturnType<Endpoint.Endpoint["post"]>
  ): ReturnType<Endpoint.Endpoint["post"]> => {
    // An error that is thrown here would reach the reader of the body and end the process.
    const answered = attempt(answering)
    if (isWhole(answered)) {
      exchanges.leave(exchange)
      return answered
    }
    const leave = Effect.sync(() => exchanges.leave(exchange))
    return Effect.andThen(
      Scope.addFinalizer(Context.getUnsafe(context, Scope.Scope), leave),
      Effect.map(answered, (answer) => NodeResponseWriter.answer(http, context, answer))
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
      const exchange = exchanges.open(cut)
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
