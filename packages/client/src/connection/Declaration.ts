/**
 * What every request of the stateless era says about its client (spec 2026-07-28: basic, `_meta`): there is no session to know it.
 */
import type { ClientCapabilities } from "@effect-mcp/protocol/Capabilities"
import * as Codecs from "@effect-mcp/protocol/Codecs"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import type { LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import { declaration } from "@effect-mcp/protocol/internal/v2026_07_28"
import * as Effect from "effect/Effect"

export interface Declared {
  readonly clientInfo: Implementation
  readonly capabilities: ClientCapabilities
  /** The least severe log messages that are wanted; none without it. */
  readonly logLevel?: LoggingLevel | undefined
}

const coder = Codecs.coder(declaration)

/** The declaration as entries of `_meta`, without what only other revisions have. */
export const entries = (
  version: string,
  { capabilities, clientInfo, logLevel }: Declared
): Effect.Effect<JsonObject, McpError.McpError> =>
  coder
    .encode({
      [Meta.protocolVersion]: version,
      [Meta.clientInfo]: clientInfo,
      [Meta.clientCapabilities]: capabilities,
      ...(logLevel === undefined ? undefined : { [Meta.logLevel]: logLevel })
    })
    .pipe(
      Effect.mapError((message) => McpError.invalidParams(`Cannot be declared: ${message}`)),
      Effect.map((wire) => (isJsonObject(wire) ? wire : {}))
    )

const keys: ReadonlySet<string> = new Set([
  Meta.protocolVersion,
  Meta.clientInfo,
  Meta.clientCapabilities,
  Meta.logLevel
])

/** `_meta` without the declaration of whoever sent it: what may be passed on to another server. */
export const without = (meta: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(meta).filter(([key]) => !keys.has(key)))
