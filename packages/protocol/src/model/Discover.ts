/**
 * Discovery: the revisions and capabilities of a stateless server, since 2026-07-28. Its name is in `_meta` of every result.
 */
import * as Schema from "effect/Schema"
import { ServerCapabilities } from "./Capabilities.ts"
import { cacheFields, metaFields } from "./Meta.ts"
import { struct } from "./Shape.ts"

/** `instructions` are for the model. */
export const DiscoverResult = struct("DiscoverResult", {
  ...metaFields,
  ...cacheFields,
  supportedVersions: Schema.Array(Schema.String),
  capabilities: ServerCapabilities,
  instructions: Schema.optionalKey(Schema.String)
})
export type DiscoverResult = typeof DiscoverResult.Type
