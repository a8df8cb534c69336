/** Where requests of the stateless era come from. */
import type { RequestConnection } from "@effect-mcp/core/RequestContext"
import type * as Effect from "effect/Effect"
import type { Account } from "../features/RateLimit.ts"
import type { ByteAccount } from "../Limits.ts"
import type { LogPayer } from "./Logging.ts"

/** Where a request of this era came from: the connection of a session, or a POST of its own. */
export interface Origin extends ByteAccount, LogPayer, Account {
  /** The network address of the client, where it is known. */
  readonly address?: string | undefined
  /** Completes when the server is about to end: subscriptions then end with their result. */
  readonly closing: Effect.Effect<void>
  /** Undefined for a POST of its own. */
  readonly connection?: RequestConnection | undefined
  /** Whether all messages of the connection come from one client. Default false. */
  readonly duplex?: boolean | undefined
  /** Called when the request has passed all checks before its handler. */
  readonly admitted?: (() => void) | undefined
}
