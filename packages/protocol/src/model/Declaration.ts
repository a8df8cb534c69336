/**
 * The declaration in a stateless request's `_meta`: revision, client, capabilities and log level, because there is no session to remember
 * them.
 *
 * It only applies to that request. Nothing in it is verified, so use `clientInfo` for display and logs only.
 */
import * as Schema from "effect/Schema"
import { ClientCapabilities } from "./Capabilities.ts"
import { Implementation } from "./Implementation.ts"
import { LoggingLevel } from "./Logging.ts"
import * as Meta from "./Meta.ts"

/** A request's `_meta` since 2026-07-28. Without `logLevel`, the client receives no log messages. */
export const Declaration = Schema.StructWithRest(
  Schema.Struct({
    progressToken: Schema.optionalKey(Meta.ProgressToken),
    [Meta.protocolVersion]: Schema.String,
    [Meta.clientInfo]: Schema.optionalKey(Implementation),
    [Meta.clientCapabilities]: ClientCapabilities,
    [Meta.logLevel]: Schema.optionalKey(LoggingLevel)
  }),
  [Schema.Record(Schema.String, Schema.Unknown)]
)
export type Declaration = typeof Declaration.Type
