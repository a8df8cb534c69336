/** Icons for servers, tools, prompts and resources. This library forwards icons and never fetches them. */
import * as Schema from "effect/Schema"
import { struct } from "./Shape.ts"

/** An icon. `src` is an https or data URI; `sizes` are strings such as "48x48" or "any". */
export const Icon = struct("Icon", {
  src: Schema.String,
  mimeType: Schema.optionalKey(Schema.String),
  sizes: Schema.optionalKey(Schema.Array(Schema.String)),
  theme: Schema.optionalKey(Schema.Literals(["light", "dark"]))
})
export type Icon = typeof Icon.Type

/** Fields of a type that may have icons. */
export const iconFields = { icons: Schema.optionalKey(Schema.Array(Icon)) }
/** Fields of a type with a programmatic name and a display title. */
export const nameFields = { name: Schema.String, title: Schema.optionalKey(Schema.String) }
