/**
 * What every request of the stateless era says about its client (spec 2026-07-28: basic, `_meta`): there is no session to know it.
 */
import type { ClientCapabilities } from "@effect-mcp/protocol/Capabilities"
import type { Declaration } from "@effect-mcp/protocol/model/Declaration"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import type { LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import * as Meta from "@effect-mcp/protocol/model/Meta"

export interface Declared {
  readonly clientInfo: Implementation
  readonly capabilities: ClientCapabilities
  /** The least severe log messages that are wanted; none without it. */
  readonly logLevel?: LoggingLevel | undefined
}

/** The declaration as entries of `_meta`. */
export const entries = (version: string, { capabilities, clientInfo, logLevel }: Declared): Declaration => ({
  [Meta.protocolVersion]: version,
  [Meta.clientInfo]: clientInfo,
  [Meta.clientCapabilities]: capabilities,
  ...(logLevel === undefined ? undefined : { [Meta.logLevel]: logLevel })
})
