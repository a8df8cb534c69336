/** What a server program may read of its client. */
import type { ClientCapabilities, Implementation } from "../model/types.ts"

export interface KnownClient {
  readonly info: Implementation | undefined
  readonly capabilities: ClientCapabilities
  /** The revision that is spoken with it. */
  readonly version?: string | undefined
}
