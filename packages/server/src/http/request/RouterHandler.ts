/** Serves an endpoint on Effect's router: reads the body, answers, and ends the exchange once the response has been written or cut off. */
import { attempt, exitOf } from "@effect-mcp/core/internal/calling"
import { Principal } from "@effect-mcp/core/Principal"
import type { Headers } from "@effect-mcp/protocol/Headers"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import type { HttpAnswering } from "./HttpAnswering.ts"
import type { Admission } from "./Admission.ts"
import * as Body from "./Body.ts"
import * as Cors from "./Cors.ts"
import type { AllowedOrigins } from "./DnsRebinding.ts"
import type { HttpExchange } from "./HttpExchange.ts"
import type { HttpRequest } from "./HttpRequest.ts"
import { CurrentHttpServers, serverOf } from "./HttpServers.ts"
import type { InFlightRequests } from "./InFlightRequests.ts"
import * as NodeResponseWriter from "../response/NodeResponseWriter.ts"

/** A router request. Handlers can see this object, but not the router's own request or context. */
class RouterRequest implements HttpRequest {
  readonly method: string
  readonly headers: Headers
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

export interface Options extends AllowedOrigins {
  /** Whether to allow cross-origin requests from `allowedOrigins`. Default false. */
  readonly cors?: Cors.Options | boolean | undefined
}

interface Served extends HttpAnswering {
  readonly admission: Admission
  readonly exchanges: InFlightRequests
}

/** Handles one of the router's requests. */
export type RouterHandler = Effect.Effect<HttpServerResponse, never, HttpServerRequest | Scope.Scope>

/** Creates the handler for an endpoint. */
export const make = (endpoint: Served, { allowedOrigins, cors = false }: Options): Effect.Effect<RouterHandler> =>
  Effect.map(CurrentHttpServers, (listening) => {
    const { admission, exchanges } = endpoint
    const read = Body.reader(admission)

    /** Handles the request. The exchange ends when the response has been written or cut off, after the HTTP request's scope closes. */
    const finish = (
      http: HttpServerRequest,
      context: Context.Context<never>,
      exchange: HttpExchange,
      answering: () => ReturnType<HttpAnswering["post"]>
    ): ReturnType<HttpAnswering["post"]> => {
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

    const handle: RouterHandler = Effect.withFiber<HttpServerResponse, never, HttpServerRequest | Scope.Scope>(
      (fiber) => {
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
      }
    )
    return cors === false ? handle : Cors.cors(cors === true ? {} : cors, { allowedOrigins })(handle)
  })
