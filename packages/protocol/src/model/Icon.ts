/**
 * Icons of servers, tools, prompts and resources. This library passes them on and never fetches them.
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

/** The fields of a type that may have icons. */
export const iconFields = { icons: Schema.optionalKey(Schema.Array(Icon)) }
/** The fields of a type with a name for programs and a title for users. */
export const nameFields = { name: Schema.String, title: Schema.optionalKey(Schema.String) }
