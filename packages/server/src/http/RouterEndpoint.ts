/**
 * Serves over Streamable HTTP (spec: basic/transports) on Effect's router: mounts beside the user's own routes, whose middleware applies;
 * one that provides a `Principal` says who asks. What the endpoint does is in `http/`; `endpoint/Node` is the same without a router.
 */
import { attempt } from "@effect-mcp/core/internal/eager"
import { Principal } from "@effect-mcp/core/Principal"
import type * as Headers from "@effect-mcp/protocol/Headers"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import type { Asked } from "./request/HttpRequest.ts"
import * as Body from "./request/Body.ts"
import * as Cors from "./request/Cors.ts"
import * as Direct from "./response/NodeResponseWriter.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Work from "./request/InFlightRequests.ts"
import { onShutdown } from "./request/Shutdown.ts"
import type { McpServer } from "../dispatch/Server.ts"

export type { ResumeOptions, SessionOptions } from "./Endpoint.ts"
export { serve } from "./request/Shutdown.ts"

export interface Options extends Endpoint.Options {
  /** Where the endpoint is. */
  readonly path: HttpRouter.PathInput
  /** Lets pages of other sites in, if they are allowed origins. Default no. */
  readonly cors?: Cors.Options | boolean | undefined
}

/** Adds the endpoint to the router. Where `serve` of this module is not used, open streams hold up the server's shutdown. */
export const layer = (options: Options): Layer.Layer<never, never, McpServer | HttpRouter.HttpRouter> =>
  HttpRouter.use((router) => Effect.flatMap(make(options), (handle) => router.add("*", options.path, handle)))

/**
 * The endpoint as a `fetch` handler. Built at once; `dispose` ends what is open, in order. To put routes or middleware beside it, give
 * `layer` to `HttpRouter.toWebHandler`.
 */
export const toWebHandler = <E>(
  server: Layer.Layer<McpServer, E>,
  { memoMap, ...options }: Options & { readonly memoMap?: Layer.MemoMap | undefined }
): {
  readonly handler: (request: Request) => Promise<Response>
  readonly dispose: () => Promise<void>
} => HttpRouter.toWebHandler(Layer.provide(layer(options), server), { disableLogger: true, memoMap })

/** A request of the router, in whose context it runs. Handlers get to see it, and none of what it was made of. */
class Routed implements Asked {
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

type Handle = Effect.Effect<HttpServerResponse, never, HttpServerRequest | Scope.Scope>

const make = Effect.fnUntraced(function* (options: Options): Effect.fn.Return<Handle, never, McpServer | Scope.Scope> {
  const endpoint = yield* Endpoint.make(options)
  yield* onShutdown(endpoint.end)
  const { admission, other, posted, refusal, work } = endpoint
  const read = Body.reader(admission)

  /** Answers, and leaves when the scope of the HTTP request ends, with its response: written, or cut off by the other side. */
  const finish = (
    http: HttpServerRequest,
    context: Context.Context<never>,
    post: Work.Post,
    answering: () => ReturnType<typeof posted>
  ): ReturnType<typeof posted> => {
    // What it throws would be thrown at whoever has the body, which ends the process.
    const answered = attempt(answering)
    if (Work.whole(answered) !== undefined) {
      work.leave(post)
      return answered
    }
    const leave = Effect.sync(() => work.leave(post))
    return Effect.andThen(
      Scope.addFinalizer(Context.getUnsafe(context, Scope.Scope), leave),
      Effect.map(answered, (answer) => Direct.answer(http, context, answer))
    )
  }

  const handle: Handle = Effect.withFiber<HttpServerResponse, never, HttpServerRequest | Scope.Scope>((fiber) => {
    const http = Context.getUnsafe(fiber.context, HttpServerRequest)
    const asked = new Routed(http, fiber.context)
    const refused = refusal(asked)
    if (refused !== undefined) return Effect.succeed(refused)
    const cut = () => fiber.interruptUnsafe()
    if (asked.method !== "POST") {
      const post = work.open(cut)
      return finish(http, fiber.context, post, () => other(asked, post))
    }
    const post = work.enter(cut, asked)
    const answer = (body: Body.Read) => finish(http, fiber.context, post, () => posted(asked, body, post))
    return read(http, answer, () => work.leave(post))
  })
  const { cors = false } = options
  return cors === false ? handle : Cors.cors(cors === true ? {} : cors, options)(handle)
})
