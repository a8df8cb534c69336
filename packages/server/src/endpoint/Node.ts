/**
 * Serves over Streamable HTTP (spec: basic/transports) straight on `node:http`: a listener for `createServer`, or for whatever framework
 * hands out Node's own requests with their bodies unread. The same endpoint as `endpoint/Http`, without a router, its context and its
 * middleware: a call costs a quarter less.
 *
 * Owns what of a response Node is told. Cross-origin answers and who asks are the business of what stands before it.
 */
import { Fibers } from "@effect-mcp/core/Fibers"
import type { Principal } from "@effect-mcp/core/Principal"
import type { Headers } from "@effect-mcp/protocol/Headers"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Asked } from "../http/Asked.ts"
import * as Body from "../http/Body.ts"
import * as Endpoint from "../http/Endpoint.ts"
import { refuse } from "../http/Refusal.ts"
import * as Work from "../http/Work.ts"
import type { McpServer } from "../Server.ts"

export interface Options extends Endpoint.Options {
  /** Answers at this path alone, and by 404 at all others. Default: wherever it is mounted, whatever the path says. */
  readonly path?: string | undefined
  /** Who asks, where something before the listener found that out: it is asked at once, and must not throw. Default: `anonymous`. */
  readonly principal?: ((request: IncomingMessage) => Principal["Service"] | undefined) | undefined
}

/** Answers a request whose body nobody has read: to others it says 500. */
export type Listener = (request: IncomingMessage, response: ServerResponse) => void

class FromNode implements Asked {
  readonly method: string
  readonly headers: Headers
  readonly principal: Principal["Service"] | undefined
  readonly span = undefined
  readonly originalUrl: string

  constructor(request: IncomingMessage, principal: Principal["Service"] | undefined) {
    this.method = request.method ?? ""
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Node joins all headers of a request but Set-Cookie, which is none of a request's
    this.headers = request.headers as Headers
    this.principal = principal
    this.originalUrl = request.url ?? ""
  }
}

const readBefore = refuse(500, McpError.internalError("The body was read before it came to the MCP endpoint"))
const notFound = HttpServerResponse.empty({ status: 404 })
const failed = refuse(500, McpError.internalError())

/** What is there and whole. Who stands before the listener may have given up on it, and answered. */
const write = (response: ServerResponse, { body, headers, status }: HttpServerResponse.HttpServerResponse): void => {
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

const ignored = (): void => {}

/** All of it, as fast as the other side reads. */
const pipe = (response: ServerResponse, answer: HttpServerResponse.HttpServerResponse): Effect.Effect<void> => {
  const { body, headers, status } = answer
  if (body._tag !== "Stream") return Effect.sync(() => write(response, answer))
  const drained = Latch.makeUnsafe(true)
  const writing = Stream.runForEachArray(body.stream, (parts) => {
    for (const part of parts) if (!response.write(part)) drained.closeUnsafe()
    return drained.await
  })
  return Effect.suspend(() => {
    if (response.headersSent) return Effect.void
    response.writeHead(status, headers)
    response.on("drain", () => drained.openUnsafe())
    // Something else ended it, and unheard that would end the process: its close ends the rest.
    response.on("error", ignored)
    return Effect.andThen(
      Effect.orDie(writing),
      Effect.sync(() => response.end())
    )
  })
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

  /** What is thrown here would end the process. */
  const fail = (response: ServerResponse, defect: unknown): void => {
    runFork(failure(Cause.die(defect)))
    write(response, failed)
  }

  /** Answers in a fiber, which ends with the response. */
  const run = (answer: ReturnType<typeof other>, response: ServerResponse) => {
    const fiber = runFork(
      Effect.scoped(Effect.flatMap(answer, (answer) => pipe(response, answer))).pipe(
        Effect.tapCause(failure),
        Effect.onExit((exit) => Effect.sync(() => void (Exit.isFailure(exit) && cutOff(response, exit.cause))))
      )
    )
    fibers.add(fiber)
    response.on("close", () => fiber.interruptUnsafe())
    return fiber
  }

  const post = (asked: Asked, request: IncomingMessage, response: ServerResponse): void => {
    // A mistake of what stands before the listener: some of it was read there.
    if (request.readableDidRead || request.destroyed) return write(response, readBefore)
    // Whose body is still to come is cut off by its connection; over HTTP/2 the response has the stream.
    let cut = (): void => {
      request.destroy()
      response.destroy()
    }
    const post = work.enter(() => cut())
    Body.collect(request, admission.maxMessageBytes, (read) => {
      // What is left of it is thrown away, so that its sender comes to read the answer.
      if (read === "TooLarge") request.resume()
      if (read === "Gone") return work.leave(post)
      try {
        const answer = posted(asked, read, post)
        const whole = Work.whole(answer)
        if (whole !== undefined) {
          work.leave(post)
          return write(response, whole)
        }
        const fiber = run(answer, response)
        cut = () => fiber.interruptUnsafe()
        fiber.addObserver(() => work.leave(post))
      } catch (defect) {
        work.leave(post)
        fail(response, defect)
      }
    })
  }

  return (request, response) => {
    // Whoever asked has gone while something before the listener was at it: there will be no other sign of that.
    if (response.destroyed || request.socket.destroyed) return
    if (path !== undefined && request.url?.split("?", 1)[0] !== path) return write(response, notFound)
    try {
      const asked = new FromNode(request, principal?.(request))
      const refused = refusal(asked)
      if (refused !== undefined) return write(response, refused)
      if (asked.method === "POST") return post(asked, request, response)
      run(other(asked), response)
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

/** Builds the server and its listener, in a scope of their own. */
export const build = <E>(server: Layer.Layer<McpServer, E>, options?: Options): Building => {
  const scope = Scope.makeUnsafe()
  const building = Effect.flatMap(Layer.buildWithScope(server, scope), (context) =>
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
