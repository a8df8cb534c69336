/**
 * A picture for a server, tool, prompt or resource. Carried, never fetched.
 */
import * as Schema from "effect/Schema"
import { struct } from "./Shape.ts"

/** `src` is an https or data URI; `sizes` are "48x48" or "any". */
export const Icon = struct("Icon", {
  src: Schema.String,
  mimeType: Schema.optionalKey(Schema.String),
  sizes: Schema.optionalKey(Schema.Array(Schema.String)),
  theme: Schema.optionalKey(Schema.Literals(["light", "dark"]))
})
export type Icon = typeof Icon.Type

/** Spread into everything that may have icons. */
export const iconFields = { icons: Schema.optionalKey(Schema.Array(Icon)) }
/** Spread into everything that has a name for programs and a title for people. */
export const nameFields = { name: Schema.String, title: Schema.optionalKey(Schema.String) }
