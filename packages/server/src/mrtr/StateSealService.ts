/** The service `StateSeal`, without its implementation, which is loaded when the first handler asks. */
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type { RoundJournal } from "./Journal.ts"

/** An opened state: the journal, and what identifies the sealing. */
export interface Opened {
  readonly journal: RoundJournal
  /** Unique per sealing. */
  readonly jti: string
  /** Milliseconds since the epoch. */
  readonly expires: number
}

export class StateSeal extends Context.Service<
  StateSeal,
  {
    /** `binding` is the text of the request that the state belongs to. */
    readonly seal: (journal: RoundJournal, binding: string) => Effect.Effect<string>
    readonly open: (state: string, binding: string) => Effect.Effect<Opened, McpError.McpError>
  }
>()("@effect-mcp/server/StateSeal") {}

export interface Options {
  /** How long a client may take to answer. Default 1 hour. */
  readonly timeToLive?: Duration.Input | undefined
}

/** A key of 32 bytes. Its `id` travels in the clear, so that keys can be rotated. */
export interface SealingKey {
  readonly id: string
  readonly key: Redacted.Redacted<Uint8Array>
}

/** The one error for every state that this server did not seal for this very request. */
export const invalidState = (): McpError.McpError => McpError.invalidParams("Invalid or expired requestState")
