/**
 * The declaration of a stateless request in its `_meta`: revision, client, capabilities and log level, since no session knows them.
 *
 * It holds for this request only, and none of it is verified: `clientInfo` is for display and logs.
 */
import * as Schema from "effect/Schema"
import { ClientCapabilities } from "./Capabilities.ts"
import { Implementation } from "./Implementation.ts"
import { LoggingLevel } from "./Logging.ts"
import * as Meta from "./Meta.ts"

/** `_meta` of a request since 2026-07-28. Without `logLevel` the request wants no log messages. */
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
