/** State shared by all exchanges over one HTTP transport, and the delivery of messages in their responses. */
import type { Decoded, RequestHeaders, Transport, TransportError } from "@effect-mcp/core/Transport"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Answer from "./Answer.ts"
import type { RemoteEndpoint } from "./Endpoint.ts"
import type * as ExchangeFailure from "./ExchangeFailure.ts"
import type { StreamEnd, ResumeStream } from "./ResumeStream.ts"

/** Facts learned about a server: its era, or the transport of an older server. */
export type Learned = "stateless" | "older" | "streamable" | "sse"

/** State shared by all exchanges of a transport. */
export interface HttpConversation {
  readonly endpoint: RemoteEndpoint
  /** Resumes a request's stream in a session. */
  readonly resume: (
    ...options: Parameters<ResumeStream["resume"]>
  ) => Effect.Effect<StreamEnd, ExchangeFailure.ExchangeFailure>
  /** Maximum size of a message to read, in bytes. */
  readonly limit: number
  /** Maximum nesting depth of a message to read. */
  readonly maxDepth: number | undefined
  readonly deliver: (message: Decoded) => Effect.Effect<void>
  readonly learned: (what: Learned) => void
  /** The older transport at the same URL, for a server that rejects `initialize`. Passed to `handOver`. */
  readonly fallback: Effect.Effect<Transport, TransportError> | undefined
  readonly handOver: (transport: Transport, request: JsonRpc.Request) => void
}

export interface PostExchange {
  readonly request: JsonRpc.Request
  readonly text: string
  readonly headers: RequestHeaders | undefined
  readonly stateless: boolean
  /** True if the request may have been sent, and in which session. */
  begun: boolean
  session: string | undefined
  answered: boolean
  /** Called when the response has started, or when there will be none. */
  readonly accept: () => void
  /** Completes with `accept`. */
  readonly accepted: Deferred.Deferred<void>
  /** Completes when the request is answered. */
  readonly done: Deferred.Deferred<void>
  fiber: Fiber.Fiber<void> | undefined
}

/** Marks a message in an exchange as related to its request. */
const related = (message: Decoded, id: JsonRpc.Id): Decoded =>
  message._tag === "Message" ? { ...message, envelope: { ...message.envelope, relatedTo: id } } : message

/** Delivers an exchange's messages. `telling` says whether the answer reveals the server's era. */
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
