/** Contents of an audit trail: an entry for each event, and the record that represents the entry in the chain. */
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"

/** Who acted, as far as the server knows. Everything except the subject and issuer is reported by the client. */
export interface Actor {
  readonly subject?: string | undefined
  readonly issuer?: string | undefined
  readonly client?: string | undefined
  /** Session ID. Over HTTP it is a digest. */
  readonly session?: string | undefined
  readonly address?: string | undefined
  readonly transport?: string | undefined
}

/**
 * An event's outcome. `asked` means the round ended with questions to the client (2026-07-28). `cancelled` means the sender cancelled it or
 * disconnected. `interrupted` means the server's operator ended it, for the `reason` in the details. `refused` means the request was not
 * admitted, according to its HTTP status or else its code (-31401, -31403, -31429).
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

/** A single event. Any other fields are dropped, because a record adds its own. */
export interface AuditEntry {
  /**
   * Event name. A server records `request`, `notification`, `question`, `refusal` (an HTTP request that was not admitted), `session.opened`
   * and `session.closed`. A client records `client.request`, `client.question`, `client.opened`, `client.closed` and `client.reconnected`.
   * The trail itself records `audit.opened`, `audit.closed` and `audit.dropped`. Names of your program's own events must contain a dot.
   */
  readonly event: string
  readonly actor?: Actor | undefined
  readonly method?: string | undefined
  /** The tool, prompt, or resource (without its query). */
  readonly target?: string | undefined
  readonly id?: string | undefined
  readonly outcome?: AuditOutcome | undefined
  /** JSON-RPC error code or HTTP status. */
  readonly code?: number | undefined
  /** Duration in milliseconds. */
  readonly ms?: number | undefined
  /** Arguments, if they are being recorded, and details of your own events. */
  readonly details?: JsonObject | undefined
}

/** An entry in the chain. */
export interface Record extends AuditEntry {
  /** Position in the chain, starting at 1 without gaps. */
  readonly seq: number
  /** When the event was recorded, in ISO 8601. */
  readonly time: string
  /** Hash of the previous record, or 64 zeros for the first record. */
  readonly prev: string
  /** SHA-256 of the line without this member, or HMAC-SHA-256 if a key is set. */
  readonly hash: string
}
