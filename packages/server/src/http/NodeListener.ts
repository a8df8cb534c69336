/**
 * Serves Streamable HTTP (spec: basic/transports) on `node:http`, as a listener for `createServer` or for a framework that exposes Node's
 * own requests. Bodies may be unread, or already parsed into `request.body`. It is the same endpoint as `RouterEndpoint`, but without the
 * router, its context and its middleware, which make up a quarter of the cost of a call.
 *
 * Owns writing to Node's response. Handle CORS and authentication before the listener.
 */
import { exitOf } from "@effect-mcp/core/internal/calling"
import { Fibers } from "@effect-mcp/core/internal/inFlight"
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
import { SseHttpBody } from "./response/SseBody.ts"

export interface Options extends Endpoint.Options {
  /** The endpoint's path; other paths receive a 404. By default every path that reaches the listener is served. */
  readonly path?: string | undefined
  /** Returns the user that earlier code authenticated for this request. Called synchronously; must not throw. Default: `anonymous`. */
  readonly principal?: ((request: IncomingMessage) => Principal["Service"] | undefined) | undefined
}

/**
 * Handles a request. If the body has already been read, it must be in `request.body`, where Express's parsers put it; otherwise the
 * response is a 500.
 */
export type Listener = (request: IncomingMessage, response: ServerResponse) => void

/** Parses an absolute-form request target (RFC 9112 3.2.2), which clients send to proxies. */
const absoluteOf = (target: string | undefined): URL | undefined =>
  target !== undefined && /^https?:\/\//i.test(target) && URL.canParse(target) ? new URL(target) : undefined

const pathOf = (target: string | undefined): string | undefined =>
  absoluteOf(target)?.pathname ?? target?.split("?", 1)[0]

/** Returns the headers with the target's host, which takes precedence over `host` (RFC 9112 3.2.2). */
const headersOf = ({ headers, url }: IncomingMessage): IncomingMessage["headers"] => {
  const host = absoluteOf(url)?.host
  return host === undefined ? headers : { ...headers, host }
}

/** A request from Node's HTTP server. */
class NodeRequest implements HttpRequest {
  readonly method: string
  readonly headers: Headers
  readonly principal: Principal["Service"] | undefined
  readonly span = undefined
  readonly originalUrl: string
  readonly #request: IncomingMessage

  constructor(request: IncomingMessage, principal: Principal["Service"] | undefined) {
    this.method = request.method ?? ""
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Node joins all headers except Set-Cookie, which requests do not have
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
  McpError.internalError("Another middleware has already read the body, and did not store it in request.body")
)
const notFound = HttpServerResponse.empty({ status: 404 })
const failed = refuse(500, McpError.internalError())

/** Returns the body if a framework has already read (and maybe parsed) it, or `undefined` if it is missing or unread. */
const readOf = (request: IncomingMessage, limit: number): Body.Read | undefined => {
  if (!request.readableDidRead || !("body" in request)) return undefined
  const { body } = request
  if (body === undefined) return undefined
  const bytes = body instanceof Uint8Array ? body : Buffer.from(typeof body === "string" ? body : JSON.stringify(body))
  return bytes.length > limit ? "TooLarge" : bytes
}

type Answer = HttpServerResponse.HttpServerResponse

/** Writes a non-streaming response, unless earlier code has already responded. */
const write = (response: ServerResponse, { body, headers, status }: Answer): void => {
  if (response.headersSent) return
  response.writeHead(status, headers)
  if (body._tag === "Uint8Array") response.end(body.text ?? body.body)
  else response.end()
}

/** Responds to a defect with a 500, or cuts the response off if its head was already written. */
const cutOff = (response: ServerResponse, cause: Cause.Cause<never>): void => {
  if (response.headersSent || !Cause.hasDies(cause)) response.destroy()
  else write(response, failed)
}

const failure = (cause: Cause.Cause<never>) => Effect.logError("Failed to handle a request", cause)

/** A listener. Each request goes through `receive`, `respond` and `send`. */
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
    // The client disconnected while middleware ran before the listener, and no event will report it.
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

  /** Rejects a request whose body is unread, which Node would otherwise read to the end. */
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
    // Middleware before the listener has read part of the body.
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
    // Over HTTP/2, Node does not report a cancelled request while its body is unread.
    Body.discard(request, cutOf(request, response))
    const exchange = this.endpoint.exchanges.open(cutOf(request, response), http)
    this.respond(() => this.endpoint.other(http, exchange), exchange, request, response)
  }

  /** Responds synchronously if possible. */
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

  /** Waits for the response in a fiber that is interrupted when the response ends. */
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

  /** Writes the response without a fiber, because a stream may stay open for a long time. */
  private send(answer: Answer, exchange: HttpExchange, request: IncomingMessage, response: ServerResponse): void {
    const over = (): void => this.endpoint.exchanges.leave(exchange)
    const unread: NodeResponseWriter.OnUnread = (bytes, close) => this.endpoint.exchanges.unread(exchange, bytes, close)
    if (response.destroyed) return over()
    if (answer.body instanceof SseHttpBody && !response.headersSent) {
      response.writeHead(answer.status, answer.headers)
      NodeResponseWriter.whenOver(request, response, over)
      return NodeResponseWriter.pipe(answer.body, response, (defect) => this.report(defect), unread)
    }
    write(response, answer)
    if (response.writableLength === 0) return over()
    // If the client does not read, its exchange stays open.
    NodeResponseWriter.whenOver(request, response, over)
    NodeResponseWriter.reportUnread(response, answer, unread)
  }

  private report(defect: unknown): void {
    this.runFork(failure(Cause.die(defect)))
  }

  /** Reports a defect and responds with a 500. If the listener threw instead, the process would exit. */
  private fail(response: ServerResponse, defect: unknown): void {
    this.report(defect)
    write(response, failed)
  }
}

/**
 * Cuts off both the request and the response. Destroying the request closes a connection whose body is still arriving; over HTTP/2, the
 * response owns the stream.
 */
const cutOf = (request: IncomingMessage, response: ServerResponse) => (): void => {
  request.destroy()
  response.destroy()
}

/**
 * Creates a listener that lives as long as the scope. Closing the scope gracefully closes everything that is open.
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
  /** Ends subscriptions immediately, and waits up to `drain` for running requests. New requests are rejected; see `close`. */
  readonly dispose: () => Promise<void>
  /**
   * Like `dispose`, for a program that is stopping. The HTTP server stops listening first, so that load balancers switch to other nodes.
   * Requests that still arrive on open connections are handled.
   */
  readonly close: (http: NodeServer) => Promise<void>
}

/** A listener that is being built. `dispose` interrupts the build. */
interface Building extends Pick<Built, "close" | "dispose"> {
  readonly listener: Promise<Listener>
}

export interface BuildOptions extends Options {
  /** Reuses the layers in this map, for example the map of a `ManagedRuntime`. Default: a new map. */
  readonly memoMap?: Layer.MemoMap | undefined
}

/** Builds the server and its listener in a new scope. `listener` rejects if the build fails. */
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
      Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.logError("Failed to build the MCP server", cause)
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
