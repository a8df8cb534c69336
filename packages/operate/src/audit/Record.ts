/** What an audit trail holds: an entry per event, and the record that it becomes in the chain. */
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"

/** The actor as far as the server knows it; all but the subject and the issuer is what the client says of itself. */
export interface Actor {
  readonly subject?: string | undefined
  readonly issuer?: string | undefined
  readonly client?: string | undefined
  /** A digest of the id of the session over HTTP, the id itself elsewhere. */
  readonly session?: string | undefined
  readonly address?: string | undefined
  readonly transport?: string | undefined
}

/**
 * How an event ended. `asked`: a round that ended with questions to the client (2026-07-28). `cancelled`: its sender ended it, or is gone.
 * `interrupted`: the operator of the server ended it, for the `reason` in its details. `refused`: the request was not let in: by its
 * status over HTTP, its code (-31401, -31403, -31429) elsewhere.
 */
export type AuditOutcome =
  | "answered"
  | "asked"
  | "tool_failed"
  | "failed"
  | "refused"
  | "cancelled"
  | "interrupted"
  | "received"

/** One event. Fields beside these are left out: a record has its own. */
export interface AuditEntry {
  /**
   * Of a server: `request`, `notification`, `question`, `refusal` (an HTTP request that was not let in), `session.opened`,
   * `session.closed`. Of a client: `client.request`, `client.question`, `client.opened`, `client.closed`, `client.reconnected`. Of the
   * trail itself: `audit.opened`, `audit.closed`, `audit.dropped`. Of the program: a name with a dot in it.
   */
  readonly event: string
  readonly actor?: Actor | undefined
  readonly method?: string | undefined
  /** The tool, prompt, or resource without its query. */
  readonly target?: string | undefined
  readonly id?: string | undefined
  readonly outcome?: AuditOutcome | undefined
  /** The code of JSON-RPC, or the status of HTTP. */
  readonly code?: number | undefined
  /** How long it took, in milliseconds. */
  readonly ms?: number | undefined
  /** Arguments, where they are asked for, and what an event of one's own adds. */
  readonly details?: JsonObject | undefined
}

/** An entry in the chain. */
export interface Record extends AuditEntry {
  /** From 1, without a gap. */
  readonly seq: number
  /** When the event was noted, in ISO 8601. */
  readonly time: string
  /** The hash of the record before; 64 zeros for the first. */
  readonly prev: string
  /** The SHA-256, or HMAC-SHA-256 where there is a key, of the line without this member. */
  readonly hash: string
}
