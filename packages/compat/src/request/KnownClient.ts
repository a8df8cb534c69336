/** Facts about a client that a server program can read. */
import type { ClientCapabilities, Implementation } from "../model/types.ts"

export interface KnownClient {
  readonly info: Implementation | undefined
  readonly capabilities: ClientCapabilities
  /** The revision that the client speaks. */
  readonly version?: string | undefined
}
