/**
 * A POST of the stateless era (spec 2026-07-28: basic/transports/streamable-http): a request of its own, answered by one JSON object,
 * or by events if something precedes the answer. Who hangs up interrupts it.
 */
import { exitOf } from "@effect-mcp/core/internal/eager"
import type { Fibers } from "@effect-mcp/core/internal/Fibers"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Tracer from "effect/Tracer"
import { PostSink } from "./StatelessResponse.ts"
import type { Pulse } from "../response/KeepAliveTimer.ts"
import type { McpServer } from "../../dispatch/Server.ts"
import type { Asked } from "../request/HttpRequest.ts"
import { events } from "../response/SseResponse.ts"
import { json } from "../response/Responses.ts"
import type { Post, Work } from "../request/InFlightRequests.ts"

export interface Options {
  readonly server: McpServer["Service"]
  /** Owns those that answer. */
  readonly fibers: Fibers
  readonly context: Context.Context<never>
  readonly work: Work
  readonly pulse: Pulse
}

/** By the stage that answered, not by the code: what a handler says is an answer like any other. */
const statusOf = (message: JsonRpc.Message, admitted: boolean): number => {
  if (!("error" in message)) return 200
  const { code } = message.error
  if (code === McpError.MissingClientCapability || code === McpError.HeaderMismatch) return 400
  if (admitted) return 200
  return code === McpError.MethodNotFound ? 404 : 400
}

/** Answers requests of this era: at once where that is possible. */
export const make = ({ context, fibers, pulse, server, work }: Options) => {
  const runFork = Effect.runForkWith(context)
  return (request: JsonRpc.Request, asked: Asked, post: Post): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
    const refused = request.method === "subscriptions/listen" ? work.stand(post, request.id) : undefined
    if (refused !== undefined) return Effect.succeed(refused)
    const sink = new PostSink()
    let admitted = false
    const dispatched = server.dispatch(request, asked, sink, {
      address: asked.address,
      closing: work.closing,
      admitted: () => (admitted = true),
      base: context
    })
    const answered = (): HttpServerResponse.HttpServerResponse => {
      if (sink.streaming || sink.answer === undefined) return events(sink, pulse)
      const { message, text } = sink.answer
      return json(text, statusOf(message, admitted))
    }
    // What was answered already needs no fiber, and leaves nobody to wait for.
    if (exitOf(dispatched) !== undefined) return Effect.succeed(answered())
    const { span } = asked
    const fiber = runFork(span === undefined ? dispatched : Effect.provideService(dispatched, Tracer.ParentSpan, span))
    fibers.add(fiber)
    post.stop = () => fiber.interruptUnsafe()
    post.left = () => {
      sink.close()
      // The asker has gone, unless the answer was sent: then this does nothing.
      fiber.interruptUnsafe()
    }
    return sink.streaming || sink.answer !== undefined ? Effect.succeed(answered()) : Effect.map(sink.first, answered)
  }
}
