/**
 * POST for stateless revisions (spec 2026-07-28: basic/transports/streamable-http). Each request receives a single JSON object, or events
 * if other messages precede the response. A client that disconnects interrupts its request.
 */
import { exitOf } from "@effect-mcp/core/internal/calling"
import type { Fibers } from "@effect-mcp/core/internal/inFlight"
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
import { emptySseResponse, type KeepAliveTimer, sseResponse } from "../response/SseBody.ts"
import { StatelessResponse } from "./StatelessResponse.ts"

export interface Options {
  readonly server: McpServer["Service"]
  /** Owns the fibers of waiting requests. */
  readonly fibers: Fibers
  readonly context: Context.Context<never>
  readonly exchanges: InFlightRequests
  readonly keepAlive: KeepAliveTimer
}

/** Returns the status, which depends on the stage that responded and not on the error code: a handler's response is a 200. */
const statusOf = (message: JsonRpc.Message, admitted: boolean): number => {
  if (!("error" in message)) return 200
  const { code } = message.error
  if (code === McpError.MissingClientCapability || code === McpError.HeaderMismatch) return 400
  if (admitted) return 200
  return code === McpError.MethodNotFound ? 404 : 400
}

/** Creates a function that handles stateless requests, synchronously if no handler waits. */
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
      // A cancelled request has no answer.
      if (answer === undefined) return emptySseResponse
      return answered(answer.text, refusalOf(answer.message), statusOf(answer.message, admitted))
    }
    // A request that has already ended needs no fiber, and its client can interrupt nothing.
    if (exitOf(dispatched) !== undefined) return Effect.succeed(respond())
    const { span } = http
    const fiber = runFork(span === undefined ? dispatched : Effect.provideService(dispatched, Tracer.ParentSpan, span))
    fibers.add(fiber)
    const giveUp = (): void => {
      isGivenUp = true
      // Has no effect once the answer has been sent.
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
