/**
 * Serves Streamable HTTP (spec: basic/transports) on `node:http`: a listener for `createServer`, or for a framework that hands out Node's
 * own requests, with their bodies unread or parsed as `request.body`. The same endpoint as `RouterEndpoint`, without a router, its
 * context and its middleware, which are a quarter of a call's cost.
 *
 * Owns what is written to Node's response. Cross-origin requests and authentication are for what runs before the listener.
 */
import { exitOf } from "@effect-mcp/core/internal/eager"
import { Fibers } from "@effect-mcp/core/internal/Fibers"
import type { Principal } from "@effect-mcp/core/Principal"
import type { Headers } from "@effect-mcp/protocol/Headers"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { McpServer } from "../dispatch/Server.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Body from "./request/Body.ts"
import type { HttpExchange } from "./request/HttpExchange.ts"
import type { HttpRequest } from "./request/HttpRequest.ts"
import { HttpServers, type NodeServer } from "./request/HttpServers.ts"
import * as NodeResponseWriter from "./response/NodeResponseWriter.ts"
import { refuse } from "./response/Responses.ts"
import { SseHttpBody } from "./response/SseResponse.ts"

export interface Options extends Endpoint.Options {
  /** The path of the endpoint; others are answered by 404. Default: every path that reaches the listener. */
  readonly path?: string | undefined
  /**
   * The user of a request, where code before the listener authenticated it. It is called at once, and must not throw. Default:
   * `anonymous`.
   */
  readonly principal?: ((request: IncomingMessage) => Principal["Service"] | undefined) | undefined
}

/** Answers a request. A body that was read before must be in `request.body`, as Express's parsers leave it; otherwise it is 500. */
export type Listener = (request: IncomingMessage, response: ServerResponse) => void

/** The target of a request line in absolute form (RFC 9112 3.2.2), as clients send it to proxies. */
const absoluteOf = (target: string | undefined): URL | undefined =>
  target !== undefined && /^https?:\/\//i.test(target) && URL.canParse(target) ? new URL(target) : undefined

const pathOf = (target: string | undefined): string | undefined =>
  absoluteOf(target)?.pathname ?? target?.split("?", 1)[0]

/** Headers with the host that the target names, which counts instead of `host` (RFC 9112 3.2.2). */
const headersOf = ({ headers, url }: IncomingMessage): IncomingMessage["headers"] => {
  const host = absoluteOf(url)?.host
  return host === undefined ? headers : { ...headers, host }
}

/** A request of Node's. */
class NodeRequest implements HttpRequest {
  readonly method: string
  readonly headers: Headers
  readonly principal: Principal["Service"] | undefined
  readonly span = undefined
  readonly originalUrl: string
  readonly #request: IncomingMessage

  constructor(request: IncomingMessage, principal: Principal["Service"] | undefined) {
    this.method = request.method ?? ""
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Node joins all headers of a request but Set-Cookie, which is none of a request's
    this.headers = headersOf(request) as Headers
    this.principal = principal
    this.originalUrl = request.url ?? ""
    this.#request = request
  }

  get address(): string | undefined {
    return this.#request.socket.remoteAddress
  }
}

const bodyMissing = refuse(
  500,
  McpError.internalError("The body was read before it came to the MCP endpoint, and is not there as request.body")
)
const notFound = HttpServerResponse.empty({ status: 404 })
const failed = refuse(500, McpError.internalError())

/** The body that a framework has read, and maybe parsed; undefined where it is unread, or not there. */
const readOf = (request: IncomingMessage, limit: number): Body.Read | undefined => {
  if (!request.readableDidRead || !("body" in request)) return undefined
  const { body } = request
  if (body === undefined) return undefined
  const bytes = body instanceof Uint8Array ? body : Buffer.from(typeof body === "string" ? body : JSON.stringify(body))
  return bytes.length > limit ? "TooLarge" : bytes
}

type Answer = HttpServerResponse.HttpServerResponse

/** Writes a response that is no stream, unless code before the listener has answered already. */
const write = (response: ServerResponse, { body, headers, status }: Answer): void => {
  if (response.headersSent) return
  response.writeHead(status, headers)
  if (body._tag === "Uint8Array") response.end(body.text ?? body.body)
  else response.end()
}

/** A defect is answered by 500 as long as no head was written. */
const cutOff = (response: ServerResponse, cause: Cause.Cause<never>): void => {
  if (response.headersSent || !Cause.hasDies(cause)) response.destroy()
  else write(response, failed)
}

const failure = (cause: Cause.Cause<never>) => Effect.logError("A request could not be answered", cause)

/** One listener: each request goes through `receive`, `respond` and `send`. */
class NodeListener {
  private readonly endpoint: Endpoint.Endpoint
  private readonly options: Options
  private readonly fibers: Fibers
  private readonly runFork: ReturnType<typeof Effect.runForkWith<never>>

  constructor(endpoint: Endpoint.Endpoint, options: Options, fibers: Fibers, context: Context.Context<never>) {
    this.endpoint = endpoint
    this.options = options
    this.fibers = fibers
    this.runFork = Effect.runForkWith(context)
  }

  receive(request: IncomingMessage, response: ServerResponse): void {
    // The client has gone while middleware before the listener ran: no event will say so.
    if (response.destroyed || request.socket.destroyed) return
    if (this.endpoint.exchanges.leaving) response.shouldKeepAlive = false
    const { path, principal } = this.options
    if (path !== undefined && pathOf(request.url) !== path) return this.refuse(request, response, notFound)
    try {
      const http = new NodeRequest(request, principal?.(request))
      const refused = this.endpoint.refusal(http)
      if (refused !== undefined) return this.refuse(request, response, refused)
      if (http.method === "POST") this.post(http, request, response)
      else this.other(http, request, response)
    } catch (defect) {
      this.fail(response, defect)
    }
  }

  /** Answers a request whose body is unread, of which Node would read all. */
  private refuse(request: IncomingMessage, response: ServerResponse, refused: Answer): void {
    if (!request.readableDidRead && !response.headersSent) Body.discard(request, cutOf(request, response))
    write(response, refused)
  }

  private post(http: HttpRequest, request: IncomingMessage, response: ServerResponse): void {
    const { admission, exchanges } = this.endpoint
    const read = readOf(request, admission.maxMessageBytes)
    if (read !== undefined) {
      const exchange = exchanges.enter(cutOf(request, response), http)
      if (typeof read !== "string" && !exchanges.arriving.received(exchange, read.length)) return
      return this.respond(() => this.endpoint.post(http, read, exchange), exchange, request, response)
    }
    // Middleware before the listener has read a part of it.
    if (request.readableDidRead || request.destroyed) return write(response, bodyMissing)
    const exchange = exchanges.enter(cutOf(request, response), http)
    const done = (read: Body.Read): void => {
      if (read === "TooLarge") Body.discard(request, cutOf(request, response))
      if (read === "Gone") exchanges.leave(exchange)
      else this.respond(() => this.endpoint.post(http, read, exchange), exchange, request, response)
    }
    const received = (length: number): boolean => exchanges.arriving.received(exchange, length)
    Body.collect(request, admission.maxMessageBytes, done, received)
  }

  private other(http: HttpRequest, request: IncomingMessage, response: ServerResponse): void {
    // Over HTTP/2 Node does not report a cancelled request while its body is unread.
    Body.discard(request, cutOf(request, response))
    const exchange = this.endpoint.exchanges.open(cutOf(request, response))
    this.respond(() => this.endpoint.other(http, exchange), exchange, request, response)
  }

  /** Answers at once where that is possible. */
  private respond(
    answering: () => Effect.Effect<Answer>,
    exchange: HttpExchange,
    request: IncomingMessage,
    response: ServerResponse
  ): void {
    try {
      const answer = answering()
      const done = exitOf(answer)
      if (done !== undefined && Exit.isSuccess(done)) this.send(done.value, exchange, request, response)
      else this.wait(answer, exchange, request, response)
    } catch (defect) {
      this.endpoint.exchanges.leave(exchange)
      this.fail(response, defect)
    }
  }

  /** Waits for the answer in a fiber, which the end of the response interrupts. */
  private wait(
    answer: Effect.Effect<Answer>,
    exchange: HttpExchange,
    request: IncomingMessage,
    response: ServerResponse
  ): void {
    const gone = (): void => fiber.interruptUnsafe()
    const fiber = this.runFork(
      Effect.map(answer, (answer) => this.send(answer, exchange, request, response)).pipe(
        Effect.tapCause(failure),
        Effect.onExit((exit) =>
          Effect.sync(() => {
            response.off("close", gone)
            if (Exit.isSuccess(exit)) return
            cutOff(response, exit.cause)
            this.endpoint.exchanges.leave(exchange)
          })
        )
      )
    )
    this.fibers.add(fiber)
    if (fiber.pollUnsafe() === undefined) NodeResponseWriter.whenOver(request, response, gone)
  }

  /** Writes the answer without a fiber: a stream may be open for long. */
  private send(answer: Answer, exchange: HttpExchange, request: IncomingMessage, response: ServerResponse): void {
    const over = (): void => this.endpoint.exchanges.leave(exchange)
    if (response.destroyed) return over()
    if (answer.body instanceof SseHttpBody && !response.headersSent) {
      response.writeHead(answer.status, answer.headers)
      NodeResponseWriter.whenOver(request, response, over)
      return NodeResponseWriter.pipe(answer.body, response, (defect) => this.report(defect))
    }
    write(response, answer)
    // The exchange of a client that does not read lasts on.
    if (response.writableLength === 0) over()
    else NodeResponseWriter.whenOver(request, response, over)
  }

  private report(defect: unknown): void {
    this.runFork(failure(Cause.die(defect)))
  }

  /** An error that a listener throws would end the process. */
  private fail(response: ServerResponse, defect: unknown): void {
    this.report(defect)
    write(response, failed)
  }
}

/** Cuts off both: the connection has a body that is arriving; over HTTP/2 the response has the stream. */
const cutOf = (request: IncomingMessage, response: ServerResponse) => (): void => {
  request.destroy()
  response.destroy()
}

/**
 * A listener that lives as long as the scope, whose end closes what is open, in order.
 *
 * @example
 * ```ts
 * import { McpServer } from "@effect-mcp/server"
 * import { Layer } from "effect"
 * import { createServer } from "node:http"
 *
 * const server = McpServer.layer({ name: "example", version: "1.0.0", features: Layer.empty })
 *
 * export const serve = (port: number) => {
 *   const { close, listener } = McpServer.toNodeListener(server, { path: "/mcp" })
 *   const http = createServer(listener)
 *   http.listen(port, "127.0.0.1")
 *   return () => close(http)
 * }
 * ```
 */
export const make = Effect.fnUntraced(function* (
  options: Options = {},
  listening?: HttpServers
): Effect.fn.Return<Listener, never, McpServer | Scope.Scope> {
  const fibers = new Fibers()
  yield* Effect.addFinalizer(() => fibers.end)
  const endpoint = yield* Endpoint.make(options)
  yield* Effect.addFinalizer(() => endpoint.end(listening))
  const listener = new NodeListener(endpoint, options, fibers, yield* Effect.context<never>())
  return (request, response) => listener.receive(request, response)
})

export interface Built {
  readonly listener: Listener
  /** Ends what is open: subscriptions at once, requests within `drain`. New requests are refused; see `close`. */
  readonly dispose: () => Promise<void>
  /**
   * The same for a program that stops: the HTTP server stops listening first, so that load balancers go elsewhere, and what still arrives on
   * open connections is answered.
   */
  readonly close: (http: NodeServer) => Promise<void>
}

/** A listener that is being built: `dispose` interrupts that. */
export interface Building extends Pick<Built, "close" | "dispose"> {
  readonly listener: Promise<Listener>
}

export interface BuildOptions extends Options {
  /** Layers in it, as in that of a `ManagedRuntime`, are shared. Default: a new one. */
  readonly memoMap?: Layer.MemoMap | undefined
}

/** Builds the server and its listener in a scope of their own. `listener` rejects where the server cannot be built. */
export const build = <E>(
  server: Layer.Layer<McpServer, E>,
  { memoMap = Layer.makeMemoMapUnsafe(), ...options }: BuildOptions = {}
): Building => {
  const scope = Scope.makeUnsafe()
  const listening = new HttpServers()
  const building = Effect.flatMap(Layer.buildWithMemoMap(server, memoMap, scope), (context) =>
    Effect.provide(Scope.provide(make(options, listening), scope), context)
  ).pipe(
    Effect.tapCause((cause) =>
      Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.logError("The MCP server could not be built", cause)
    ),
    Effect.onError(() => Scope.close(scope, Exit.void)),
    Effect.runFork
  )
  const ended = Effect.andThen(Fiber.interrupt(building), Scope.close(scope, Exit.void))
  return {
    listener: Effect.runPromise(Fiber.join(building)),
    dispose: () => Effect.runPromise(ended),
    close: (http) => {
      listening.add(http)
      const closed = Effect.sync(() => {
        if (http.listening) http.close()
        http.closeIdleConnections?.()
      })
      return Effect.runPromise(Effect.andThen(ended, closed))
    }
  }
}
