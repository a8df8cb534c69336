/** The state that all exchanges over one HTTP transport share, and the delivery of the messages in their responses. */
import type { Decoded, RequestHeaders, Transport, TransportError } from "@effect-mcp/core/Transport"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Answer from "./Answer.ts"
import type { RemoteEndpoint } from "./Endpoint.ts"
import type * as ExchangeFailure from "./ExchangeFailure.ts"
import type { StreamEnd, ResumeStream } from "./ResumeStream.ts"

/** What is learned of a server: its era, or the transport of an older server. */
export type Learned = "stateless" | "older" | "streamable" | "sse"

/** What all exchanges of a transport share. */
export interface HttpConversation {
  readonly endpoint: RemoteEndpoint
  /** Resumes the stream of a request in a session. */
  readonly resume: (
    ...options: Parameters<ResumeStream["resume"]>
  ) => Effect.Effect<StreamEnd, ExchangeFailure.ExchangeFailure>
  /** The largest message that is read, in bytes. */
  readonly limit: number
  /** The deepest nesting of a message that is read. */
  readonly maxDepth: number | undefined
  readonly deliver: (message: Decoded) => Effect.Effect<void>
  readonly learned: (what: Learned) => void
  /** The older transport at the same URL, for a server that refuses `initialize`; `handOver` is called with it. */
  readonly fallback: Effect.Effect<Transport, TransportError> | undefined
  readonly handOver: (transport: Transport, request: JsonRpc.Request) => void
}

export interface PostExchange {
  readonly request: JsonRpc.Request
  readonly text: string
  readonly headers: RequestHeaders | undefined
  readonly stateless: boolean
  /** Whether the request may have been sent, and in which session. */
  begun: boolean
  session: string | undefined
  answered: boolean
  /** Called when the response has begun, or none will. */
  readonly accept: () => void
  /** Completes with `accept`. */
  readonly accepted: Deferred.Deferred<void>
  /** Completes when the request is answered. */
  readonly done: Deferred.Deferred<void>
  fiber: Fiber.Fiber<void> | undefined
}

/** Marks a message of an exchange as related to its request. */
const related = (message: Decoded, id: JsonRpc.Id): Decoded =>
  message._tag === "Message" ? { ...message, envelope: { ...message.envelope, relatedTo: id } } : message

/** Delivers the messages of an exchange. `telling`: whether the answer tells the server's era. */
export const receiver =
  ({ deliver, endpoint, learned }: HttpConversation, exchange: PostExchange, telling = true) =>
  (message: Decoded): Effect.Effect<void> => {
    const { id, method } = exchange.request
    if (!Answer.answers(message, id)) return deliver(related(message, id))
    exchange.answered = true
    Deferred.doneUnsafe(exchange.done, Effect.void)
    const version = method === "initialize" ? Answer.agreedOn(message) : undefined
    if (version !== undefined) {
      endpoint.version = version
      learned("streamable")
    } else if (telling && method === "server/discover") learned(Answer.succeeds(message) ? "stateless" : "older")
    return deliver(message)
  }
