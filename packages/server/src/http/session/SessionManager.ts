/**
 * Shares an endpoint's sessions with the server's other nodes. `@effect-mcp/nodes` implements it. Without it, an endpoint keeps its
 * sessions to itself and never looks for others.
 */
import type * as McpError from "@effect-mcp/protocol/McpError"
import type * as Effect from "effect/Effect"
import type * as HttpServerResponse from "effect/http/HttpServerResponse"
import type { EventsGone } from "../../session/EventStore.ts"
import type { Session } from "../../session/Session.ts"
import type { HttpExchange } from "../request/HttpExchange.ts"
import type { HttpRequest } from "../request/HttpRequest.ts"
import type { EventCursor } from "./ResumableStream.ts"

type Answer = Effect.Effect<HttpServerResponse.HttpServerResponse>

/** A session that this node holds. */
export interface HeldSession {
  readonly id: string
  /** Key of the principal that opened it. Empty if anonymous. */
  readonly owner: string
  /** Number of nodes that have held it, including this one. */
  readonly epoch: number
  /** The protocol session, or `undefined` before it is connected. */
  readonly session: Session | undefined
}

export interface SessionManager {
  /** Makes a session that was opened here visible to all nodes. */
  readonly open: (session: HeldSession) => Effect.Effect<void, McpError.McpError>
  /** Saves a session's changes for the node that reopens it. */
  readonly save: (session: HeldSession) => Effect.Effect<void, McpError.McpError>
  /**
   * Hides a session that ended here from all nodes. The session counts as ended as soon as this is called, before the effect runs. Returns
   * true if this node still held it; another node may have taken it over.
   */
  readonly close: (session: HeldSession) => Effect.Effect<boolean>
  /** Returns true if the request names a session that this node doesn't hold but another node may. */
  readonly isElsewhere: (http: HttpRequest) => boolean
  /** Lets the node that holds the session handle the request. Calls `here` if by then this node holds it, or no node does. */
  readonly forward: (
    http: HttpRequest,
    body: Uint8Array | undefined,
    exchange: HttpExchange,
    here: () => Answer
  ) => Answer
  /**
   * Returns the events that follow a given event on a stream that another node started, as text. A POST's events end with an error for each
   * unanswered request, because the request ended with its node.
   */
  readonly resume: (session: HeldSession, cursor: EventCursor) => Effect.Effect<string, EventsGone>
  /** Hands over each session as soon as it has no running request. Completes when no session is held here and no request can open one. */
  readonly handOver: Effect.Effect<void>
}
