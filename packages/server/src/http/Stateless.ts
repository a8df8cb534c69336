/**
 * A POST of the stateless era (spec 2026-07-28: basic/transports/streamable-http): a request of its own, answered by one JSON object,
 * or by events if something precedes the answer. Who hangs up interrupts it.
 */
import { Principal } from "@effect-mcp/core/Principal"
import { exitOf } from "@effect-mcp/core/Done"
import type { Envelope } from "@effect-mcp/core/Transport"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import { PostSink } from "../internal/PostSink.ts"
import type { Pulse } from "../internal/Pulse.ts"
import type { McpServer } from "../Server.ts"
import { events } from "./Events.ts"
import { json, tooMany } from "./Refusal.ts"
import type { Post, Work } from "./Work.ts"

export interface Options {
  readonly server: McpServer["Service"]
  readonly scope: Scope.Scope
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

/** Answers requests of this era. */
export const make = ({ context, pulse, scope, server, work }: Options) => {
  const runFork = Effect.runForkWith(context)
  return Effect.fnUntraced(function* (
    request: JsonRpc.Request,
    { headers }: Envelope,
    post: Post
  ): Effect.fn.Return<HttpServerResponse.HttpServerResponse> {
    if (request.method === "subscriptions/listen" && !work.stand(post)) {
      return tooMany("subscriptions are open", work.subscriptions, request.id)
    }
    const sink = new PostSink()
    const asker = yield* Effect.context<never>()
    const envelope = { headers, principal: Option.getOrUndefined(Context.getOption(asker, Principal)) }
    const span = Option.getOrUndefined(Context.getOption(asker, Tracer.ParentSpan))
    let admitted = false
    const dispatched = server.dispatch(request, envelope, sink, {
      closing: work.closing,
      admitted: () => (admitted = true),
      now: context
    })
    // What was answered already needs no fiber, and leaves nobody to wait for.
    if (exitOf(dispatched) === undefined) {
      const fiber = runFork(
        span === undefined ? dispatched : Effect.provideService(dispatched, Tracer.ParentSpan, span)
      )
      Fiber.runIn(fiber, scope)
      post.stop = () => fiber.interruptUnsafe()
      post.left = () => {
        sink.close()
        // The asker has gone, unless the answer was sent: then this does nothing.
        fiber.interruptUnsafe()
      }
      yield* sink.first
    }
    if (!sink.streaming && sink.answer !== undefined) {
      const { message, text } = sink.answer
      return json(text, statusOf(message, admitted))
    }
    return events(sink.body(pulse))
  })
}
