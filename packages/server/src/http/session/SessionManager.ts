/**
 * How an endpoint shares its sessions with the other nodes of its server. `@effect-mcp/nodes` implements it. An endpoint without it keeps
 * its sessions to itself, and never looks for others.
 */
import type * as McpError from "@effect-mcp/protocol/McpError"
import type * as Effect from "effect/Effect"
import type * as HttpServerResponse from "effect/http/HttpServerResponse"
import type { EventsGone } from "../../session/EventStore.ts"
import type { Session } from "../../session/Session.ts"
import type { HttpExchange } from "../request/HttpExchange.ts"
import type { HttpRequest } from "../request/HttpRequest.ts"
import type { EventCursor } from "./StreamName.ts"

type Answer = Effect.Effect<HttpServerResponse.HttpServerResponse>

/** A session that is held here. */
export interface HeldSession {
  readonly id: string
  /** The principal that opened it, as a key; empty for an anonymous one. */
  readonly owner: string
  /** How many nodes have held it, this one included. */
  readonly epoch: number
  /** The conversation, or `undefined` before it is connected. */
  readonly session: Session | undefined
}

export interface SessionManager {
  /** Lets every node find a session that was opened here. */
  readonly open: (session: HeldSession) => Effect.Effect<void, McpError.McpError>
  /** Stores what changed in a session, for the node that opens it next. */
  readonly save: (session: HeldSession) => Effect.Effect<void, McpError.McpError>
  /**
   * Lets no node find a session that ended here: it counts as ended from the call on, before the effect runs. Returns whether this node
   * still held it, since another node may have taken it over.
   */
  readonly close: (session: HeldSession) => Effect.Effect<boolean>
  /** True if the request names a session that is not held here and may be held by another node. */
  readonly isElsewhere: (http: HttpRequest) => boolean
  /** Answers such a request: by the node that holds the session, or by `here` if this node holds it by then, or no node does. */
  readonly forward: (
    http: HttpRequest,
    body: Uint8Array | undefined,
    exchange: HttpExchange,
    here: () => Answer
  ) => Answer
  /**
   * Returns the events after one of a stream that another node began, as text. The events of a POST end with an error for each request
   * without an answer: it ended with its node.
   */
  readonly resume: (session: HeldSession, cursor: EventCursor) => Effect.Effect<string, EventsGone>
  /** Hands over the sessions, each as soon as no request of it runs. Completes when none is held here and no request may open one. */
  readonly handOver: Effect.Effect<void>
}
