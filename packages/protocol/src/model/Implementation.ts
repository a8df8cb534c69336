/**
 * The name and version of a client or server implementation.
 */
import * as Schema from "effect/Schema"
import { iconFields, nameFields } from "./Icon.ts"
import { struct } from "./Shape.ts"

/** How a client or server identifies itself. */
export const Implementation = struct("Implementation", {
  ...nameFields,
  ...iconFields,
  version: Schema.String,
  description: Schema.optionalKey(Schema.String),
  websiteUrl: Schema.optionalKey(Schema.String)
})
export type Implementation = typeof Implementation.Type
