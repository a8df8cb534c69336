/**
 * Discovery of a stateless server's revisions and capabilities, since 2026-07-28. The server's name is in the `_meta`
 * of every result.
 */
import * as Schema from "effect/Schema"
import { ServerCapabilities } from "./Capabilities.ts"
import { cacheFields, metaFields } from "./Meta.ts"
import { struct } from "./Shape.ts"

/** Result of `server/discover`. `instructions` are for the model. */
export const DiscoverResult = struct("DiscoverResult", {
  ...metaFields,
  ...cacheFields,
  supportedVersions: Schema.Array(Schema.String),
  capabilities: ServerCapabilities,
  instructions: Schema.optionalKey(Schema.String)
})
export type DiscoverResult = typeof DiscoverResult.Type
