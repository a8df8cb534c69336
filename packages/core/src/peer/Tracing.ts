/**
 * Spans where the program has a tracer. What makes them is loaded where there is one, before the first message of a conversation.
 *
 * `Peer` brings it along. Servers and clients say how it is loaded, since each has one module of all that it loads.
 */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Tracer from "effect/Tracer"
import type { Lane, Sink } from "../transport/Transport.ts"
import type * as Spans from "./Spans.ts"
import { isTraced } from "./TraceContext.ts"

type Made = typeof Spans
type Message = Pick<JsonRpc.Request, "method" | "params"> & { readonly id?: JsonRpc.Id | undefined }

let made: Made | undefined
let load: Effect.Effect<Made | undefined> = Effect.never

/** Gives what makes spans to all conversations of the process. */
export const use = (spans: Made): Made => (made = spans)

/** Says how it is loaded, and waits for it where the context has a tracer: for all that is sent outside of effects. */
export const ready = <E>(context: Context.Context<never>, loaded: Effect.Effect<Made, E>): Effect.Effect<unknown, E> =>
  Effect.suspend(() => {
    const used = Effect.map(loaded, use)
    load = Effect.orElseSucceed(used, () => undefined)
    return made === undefined && isTraced(context) ? used : Effect.void
  })

/** Without spans where what makes them cannot be loaded: a request does not fail for its span. */
const using = <A, E, R>(
  f: (spans: Made) => Effect.Effect<A, E, R>,
  without: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  made === undefined ? Effect.flatMap(load, (spans) => (spans === undefined ? without : f(spans))) : f(made)

/** See `Spans.server`. */
export const server = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  message: Message,
  surroundings?: () => Spans.Surroundings
): Effect.Effect<A, E, R> =>
  Effect.withFiber(({ context }) =>
    isTraced(context) ? using((spans) => spans.server(effect, message, surroundings), effect) : effect
  )

/** See `Spans.client`; for a fiber with a tracer. `untraced` sends without a span. */
export const client = <A, E, R>(
  message: Message,
  send: (span: Tracer.Span) => Effect.Effect<A, E, R>,
  untraced: Effect.Effect<A, E>
): Effect.Effect<A, E, Exclude<R, Tracer.ParentSpan>> => using((spans) => spans.client(message, send), untraced)

/** See `Spans.currentSender`. */
export const currentSender = (): Spans.SpanSource | undefined => made?.currentSender()

/** See `Spans.notify`. Where no conversation had a tracer, but a handler has, what it sends first has no span. */
export const notify = (
  sink: Sink,
  notification: JsonRpc.Notification,
  lane: Lane,
  relatedTo: JsonRpc.Id | undefined,
  sender?: Spans.SpanSource
): void => {
  if (made !== undefined) return made.notify(sink, notification, lane, relatedTo, sender)
  const context = Fiber.getCurrent()?.context
  if (context !== undefined && isTraced(context)) Effect.runFork(load)
  sink.send(notification, lane, relatedTo)
}
