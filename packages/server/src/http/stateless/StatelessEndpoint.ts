/**
 * POST of the stateless era (spec 2026-07-28: basic/transports/streamable-http): one request, answered by one JSON object, or by events
 * if a message precedes the answer. A client that hangs up interrupts its request.
 */
import { exitOf } from "@effect-mcp/core/internal/eager"
import type { Fibers } from "@effect-mcp/core/internal/Fibers"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Tracer from "effect/Tracer"
import type { McpServer } from "../../dispatch/Server.ts"
import * as StatelessDispatch from "../../dispatch/StatelessDispatch.ts"
import type { HttpExchange } from "../request/HttpExchange.ts"
import type { HttpRequest } from "../request/HttpRequest.ts"
import type { InFlightRequests } from "../request/InFlightRequests.ts"
import { answered, refusalOf } from "../response/Responses.ts"
import type { KeepAliveTimer } from "../response/SseBody.ts"
import { emptySseResponse, sseResponse } from "../response/SseResponse.ts"
import { StatelessResponse } from "./StatelessResponse.ts"

export interface Options {
  readonly server: McpServer["Service"]
  /** Owns the fibers of requests that wait. */
  readonly fibers: Fibers
  readonly context: Context.Context<never>
  readonly exchanges: InFlightRequests
  readonly keepAlive: KeepAliveTimer
}

/** The status follows the stage that answered, not the code: what a handler answers is 200. */
const statusOf = (message: JsonRpc.Message, admitted: boolean): number => {
  if (!("error" in message)) return 200
  const { code } = message.error
  if (code === McpError.MissingClientCapability || code === McpError.HeaderMismatch) return 400
  if (admitted) return 200
  return code === McpError.MethodNotFound ? 404 : 400
}

/** Answers requests of this era: at once where no handler waits. */
export const make = ({ context, exchanges, fibers, keepAlive, server }: Options) => {
  const runFork = Effect.runForkWith(context)
  const dispatch = StatelessDispatch.make(server.stateless)
  return (
    request: JsonRpc.Request,
    http: HttpRequest,
    exchange: HttpExchange
  ): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
    const refused = request.method === "subscriptions/listen" ? exchanges.subscribe(exchange, request.id) : undefined
    if (refused !== undefined) return Effect.succeed(refused)
    const response = new StatelessResponse()
    let admitted = false
    let isGivenUp = false
    const dispatched = dispatch(request, http, response, {
      address: http.address,
      kind: "http",
      isGivenUp: () => isGivenUp,
      closing: exchanges.closing,
      admitted: () => (admitted = true),
      base: context
    })
    const respond = (): HttpServerResponse.HttpServerResponse => {
      const { answer, stream } = response
      if (stream !== undefined) return sseResponse(stream.attach(), keepAlive)
      // A request that was cancelled has no answer.
      if (answer === undefined) return emptySseResponse
      return answered(answer.text, refusalOf(answer.message), statusOf(answer.message, admitted))
    }
    // A request that has ended needs no fiber, and its client nothing to interrupt.
    if (exitOf(dispatched) !== undefined) return Effect.succeed(respond())
    const { span } = http
    const fiber = runFork(span === undefined ? dispatched : Effect.provideService(dispatched, Tracer.ParentSpan, span))
    fibers.add(fiber)
    const giveUp = (): void => {
      isGivenUp = true
      // Does nothing where the answer was sent.
      fiber.interruptUnsafe()
    }
    exchange.stop = giveUp
    const left = (): void => {
      response.close()
      giveUp()
    }
    exchange.left = left
    return response.isDecided ? Effect.succeed(respond()) : Effect.map(response.decided, respond)
  }
}
