/** The declaration that each stateless request carries in `_meta` (spec 2026-07-28: basic): revision, client, capabilities. */
import type { ClientCapabilities } from "@effect-mcp/protocol/Capabilities"
import * as Codecs from "@effect-mcp/protocol/Codecs"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import type { LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import { declaration } from "@effect-mcp/protocol/internal/eras"
import * as Effect from "effect/Effect"

export interface Declared {
  readonly clientInfo: Implementation
  readonly capabilities: ClientCapabilities
  /** Minimum level of the log messages that the server may send. Without a level, the server sends none. */
  readonly logLevel?: LoggingLevel | undefined
}

const coder = Codecs.coder(declaration)

/** Returns the declaration as `_meta` entries, encoded for the revision. */
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
      Effect.mapError((message) => McpError.invalidParams(`Invalid client declaration: ${message}`)),
      Effect.map((wire) => (isJsonObject(wire) ? wire : {}))
    )

const keys: ReadonlySet<string> = new Set([
  Meta.protocolVersion,
  Meta.clientInfo,
  Meta.clientCapabilities,
  Meta.logLevel
])

/** Removes the sender's declaration from `_meta`. The rest may be forwarded to another server. */
export const without = (meta: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(meta).filter(([key]) => !keys.has(key)))
