/** The program around a client, as connections see it: the services that answer servers, the middleware and the observers. */
import type { Observer as PeerObserver, Peer } from "@effect-mcp/core/Peer"
import type { Transport } from "@effect-mcp/core/Transport"
import type { ClientCapabilities } from "@effect-mcp/protocol/Capabilities"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as McpError from "@effect-mcp/protocol/McpError"
import type { Revision } from "@effect-mcp/protocol/Revision"
import type * as Clock from "effect/Clock"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type { ForwardedRequests } from "../answering/ForwardedRequests.ts"
import type { Refused } from "../answering/RefusedQuestion.ts"
import type { QuestionContext } from "../answering/ServerRequests.ts"
import type { UrlElicitations } from "../answering/UrlElicitations.ts"
import type { Negotiated } from "./Negotiation.ts"

/** Answers one request from the server. The peer itself answers pings. */
export type AnswerQuestion = (
  request: JsonRpc.Request,
  conversation: QuestionContext
) => Effect.Effect<unknown, McpError.McpError | Refused>

/** A connection that observers see. */
export interface ObservedOpening {
  readonly observer: PeerObserver
  negotiated: Negotiated | undefined
  peer: Peer | undefined
  /** Reports the connection as open, and as closed when the scope closes. */
  readonly opened: Effect.Effect<void, never, Scope.Scope>
}

export interface ClientHost {
  /** Capabilities that every revision has. */
  readonly capabilities: ClientCapabilities
  readonly answer: AnswerQuestion
  readonly rootChanges: Stream.Stream<unknown> | undefined
  /** Wraps a peer so that the middleware runs around its requests. */
  readonly aroundPeer: (peer: Peer) => Peer
  readonly observe: (transport: Transport, clock: Clock.Clock) => ObservedOpening | undefined
  /** Reports every success of `open` except the first to the observers. */
  readonly repeated: <A, E, R>(open: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  readonly forwarded: Pick<ForwardedRequests, "forward">
  readonly urls: Pick<UrlElicitations, "close" | "complete" | "completions">
  /** Repeats a call after the user has visited the URLs listed in its rejection. */
  readonly retrying: <A, E>(
    revision: () => Revision,
    call: () => Effect.Effect<A, E | McpError.McpError>
  ) => Effect.Effect<A, E | McpError.McpError>
}
