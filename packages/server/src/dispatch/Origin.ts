/** The origin of stateless requests. */
import type { RequestConnection } from "@effect-mcp/core/RequestContext"
import type * as Effect from "effect/Effect"
import type { Account } from "../features/RateLimit.ts"
import type { ByteAccount } from "../Limits.ts"
import type { LogPayer } from "./Logging.ts"

/** Where a stateless request comes from: a session's connection, or a separate POST. */
export interface Origin extends ByteAccount, LogPayer, Account {
  /** The client's network address, if known. */
  readonly address?: string | undefined
  /** Completes when the server is about to stop. Subscriptions then end with their result. */
  readonly closing: Effect.Effect<void>
  /** The session's connection, or `undefined` for a separate POST. */
  readonly connection?: RequestConnection | undefined
  /** True if all messages on the connection come from one client. Default false. */
  readonly duplex?: boolean | undefined
  /** Called once the request has passed every check, right before its handler runs. */
  readonly admitted?: (() => void) | undefined
}
