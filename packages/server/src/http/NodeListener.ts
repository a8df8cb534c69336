/**
 * Serves over Streamable HTTP (spec: basic/transports) straight on `node:http`: a listener for `createServer`, or for whatever framework
 * hands out Node's own requests: with their bodies unread, or with what it parsed as `request.body`. The same endpoint as `endpoint/Http`, without a router, its context and its
 * middleware: a call costs a quarter less.
 *
 * Owns what of a response Node is told. Cross-origin answers and who asks are the business of what stands before it.
 */
import { exitOf } from "@effect-mcp/core/internal/eager"
import { Fibers } from "@effect-mcp/core/internal/Fibers"
import type { Principal } from "@effect-mcp/core/Principal"
import type { Headers } from "@effect-mcp/protocol/Headers"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Asked } from "./request/HttpRequest.ts"
import * as Body from "./request/Body.ts"
import * as Direct from "./response/NodeResponseWriter.ts"
import * as Endpoint from "./Endpoint.ts"
import { Events } from "./response/SseResponse.ts"
import { refuse } from "./response/Responses.ts"
import type * as Work from "./request/InFlightRequests.ts"
import type { McpServer } from "../dispatch/Server.ts"

export interface Options extends Endpoint.Options {
  /** Answers at this path alone, and by 404 at all others. Default: wherever it is mounted, whatever the path says. */
  readonly path?: string | undefined
  /** Who asks, where something before the listener found that out: it is asked at once, and must not throw. Default: `anonymous`. */
  readonly principal?: ((request: IncomingMessage) => Principal["Service"] | undefined) | undefined
}

/** Answers a request. A body that was read before must be there as `request.body`, as Express's parsers leave it; else it is 500. */
export type Listener = (request: IncomingMessage, response: ServerResponse) => void

class FromNode implements Asked {
  readonly method: string
  readonly headers: Headers
  readonly principal: Principal["Service"] | undefined
  readonly span = undefined
  readonly originalUrl: string
  readonly #request: IncomingMessage

  constructor(request: IncomingMessage, principal: Principal["Service"] | undefined) {
    this.method = request.method ?? ""
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Node joins all headers of a request but Set-Cookie, which is none of a request's
    this.headers = request.headers as Headers
    this.principal = principal
    this.originalUrl = request.url ?? ""
    this.#request = request
  }

  get address(): string | undefined {
    return this.#request.socket.remoteAddress
  }
}

const readBefore = refuse(
  500,
  McpError.internalError("The body was read before it came to the MCP endpoint, and is not there as request.body")
)

/** What a host has read of a body, and parsed or not: as text again. */
const readOf = (request: IncomingMessage, limit: number): Body.Read | undefined => {
  if (!request.readableDidRead || !("body" in request)) return undefined
  const { body } = request
  if (body === undefined) return undefined
  const bytes = body instanceof Uint8Array ? body : Buffer.from(typeof body === "string" ? body : JSON.stringify(body))
  return bytes.length > limit ? "TooLarge" : bytes
}
const notFound = HttpServerResponse.empty({ status: 404 })
const failed = refuse(500, McpError.internalError())

type Answer = HttpServerResponse.HttpServerResponse

/** What is there and whole. Who stands before the listener may have given up on it, and answered. */
const write = (response: ServerResponse, { body, headers, status }: Answer): void => {
  if (response.headersSent) return
  response.writeHead(status, headers)
  if (body._tag === "Uint8Array") response.end(body.text ?? body.body)
  else response.end()
}

/** A fault of ours is said as long as there is a way to. */
const cutOff = (response: ServerResponse, cause: Cause.Cause<never>): void => {
  if (response.headersSent || !Cause.hasDies(cause)) response.destroy()
  else write(response, failed)
}

/** The listener, as long as the scope lives: its end is that of all that is open, in order. */
export const make = Effect.fnUntraced(function* (
  options: Options = {}
): Effect.fn.Return<Listener, never, McpServer | Scope.Scope> {
  const { path, principal } = options
  const fibers = new Fibers()
  yield* Effect.addFinalizer(() => fibers.end)
  const { admission, end, other, posted, refusal, work } = yield* Endpoint.make(options)
  yield* Effect.addFinalizer(() => end)
  const runFork = Effect.runForkWith(yield* Effect.context<never>())

  const failure = (cause: Cause.Cause<never>) => Effect.logError("A request could not be answered", cause)

  const report = (defect: unknown): void => void runFork(failure(Cause.die(defect)))

  /** What is thrown here would end the process. */
  const fail = (response: ServerResponse, defect: unknown): void => {
    report(defect)
    write(response, failed)
  }

  /** What was answered is written without a fiber: a stream may be open for long. */
  const send = (answer: Answer, post: Work.Post, request: IncomingMessage, response: ServerResponse): void => {
    const over = (): void => work.leave(post)
    if (response.destroyed) return over()
    if (answer.body instanceof Events && !response.headersSent) {
      response.writeHead(answer.status, answer.headers)
      Direct.whenOver(request, response, over)
      return Direct.pipe(answer.body, response, report)
    }
    write(response, answer)
    // Who does not read it is still at it.
    if (response.writableLength === 0) over()
    else Direct.whenOver(request, response, over)
  }

  /** Waits for the answer in a fiber, which ends with the response. */
  const wait = (
    answer: Effect.Effect<Answer>,
    post: Work.Post,
    request: IncomingMessage,
    response: ServerResponse
  ): void => {
    const gone = (): void => fiber.interruptUnsafe()
    const fiber = runFork(
      Effect.map(answer, (answer) => send(answer, post, request, response)).pipe(
        Effect.tapCause(failure),
        Effect.onExit((exit) =>
          Effect.sync(() => {
            response.off("close", gone)
            if (Exit.isSuccess(exit)) return
            cutOff(response, exit.cause)
            work.leave(post)
          })
        )
      )
    )
    fibers.add(fiber)
    if (fiber.pollUnsafe() === undefined) Direct.whenOver(request, response, gone)
  }

  /** Answers what was entered as work: at once where that is possible. */
  const respond = (
    answering: () => Effect.Effect<Answer>,
    post: Work.Post,
    request: IncomingMessage,
    response: ServerResponse
  ): void => {
    try {
      const answer = answering()
      const done = exitOf(answer)
      if (done !== undefined && Exit.isSuccess(done)) send(done.value, post, request, response)
      else wait(answer, post, request, response)
    } catch (defect) {
      work.leave(post)
      fail(response, defect)
    }
  }

  const post = (asked: Asked, post: Work.Post, request: IncomingMessage, response: ServerResponse): void => {
    Body.collect(request, admission.maxMessageBytes, (read) => {
      // What is left of it is thrown away, so that its sender comes to read the answer.
      if (read === "TooLarge") request.resume()
      if (read === "Gone") work.leave(post)
      else respond(() => posted(asked, read, post), post, request, response)
    })
  }

  return (request, response) => {
    // Whoever asked has gone while something before the listener was at it: there will be no other sign of that.
    if (response.destroyed || request.socket.destroyed) return
    if (path !== undefined && request.url?.split("?", 1)[0] !== path) return write(response, notFound)
    // Whose body is still to come is cut off by its connection; over HTTP/2 the response has the stream.
    const cut = (): void => {
      request.destroy()
      response.destroy()
    }
    try {
      const asked = new FromNode(request, principal?.(request))
      const refused = refusal(asked)
      if (refused !== undefined) return write(response, refused)
      if (asked.method !== "POST") {
        // Over HTTP/2 Node may not say that a request was given up as long as there is something of it to read.
        request.resume()
        const entered = work.open(cut)
        return respond(() => other(asked, entered), entered, request, response)
      }
      const read = readOf(request, admission.maxMessageBytes)
      if (read !== undefined) {
        const entered = work.enter(cut, asked)
        return respond(() => posted(asked, read, entered), entered, request, response)
      }
      // A mistake of what stands before the listener: some of it was read there.
      if (request.readableDidRead || request.destroyed) return write(response, readBefore)
      post(asked, work.enter(cut, asked), request, response)
    } catch (defect) {
      fail(response, defect)
    }
  }
})

export interface Built {
  readonly listener: Listener
  /** Ends what is open, in order: subscriptions at once, requests within `drain`. */
  readonly dispose: () => Promise<void>
}

/** A listener that may still be in the making: then `dispose` interrupts that. */
export interface Building extends Pick<Built, "dispose"> {
  readonly listener: Promise<Listener>
}

export interface BuildOptions extends Options {
  /** Where layers are that are built already, as `ManagedRuntime` has one: they are shared. Default: a new one. */
  readonly memoMap?: Layer.MemoMap | undefined
}

/** Builds the server and its listener, in a scope of their own. */
export const build = <E>(
  server: Layer.Layer<McpServer, E>,
  { memoMap = Layer.makeMemoMapUnsafe(), ...options }: BuildOptions = {}
): Building => {
  const scope = Scope.makeUnsafe()
  const building = Effect.flatMap(Layer.buildWithMemoMap(server, memoMap, scope), (context) =>
    Effect.provide(Scope.provide(make(options), scope), context)
  ).pipe(
    Effect.tapCause((cause) =>
      Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.logError("The MCP server could not be built", cause)
    ),
    Effect.onError(() => Scope.close(scope, Exit.void)),
    Effect.runFork
  )
  return {
    listener: Effect.runPromise(Fiber.join(building)),
    dispose: () => Effect.runPromise(Effect.andThen(Fiber.interrupt(building), Scope.close(scope, Exit.void)))
  }
}
