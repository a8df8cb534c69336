/** Resource contents: text or base64. */
import * as Schema from "effect/Schema"
import { metaFields } from "./Meta.ts"
import { struct } from "./Shape.ts"

const common = { uri: Schema.String, mimeType: Schema.optionalKey(Schema.String), ...metaFields }

/** Resource contents as text. */
export const TextResourceContents = struct("TextResourceContents", { ...common, text: Schema.String })
export type TextResourceContents = typeof TextResourceContents.Type

/** Resource contents as bytes. `blob` is base64. */
export const BlobResourceContents = struct("BlobResourceContents", { ...common, blob: Schema.String })
export type BlobResourceContents = typeof BlobResourceContents.Type

/** Resource contents: text, or bytes in base64. */
export const ResourceContents = Schema.Union([TextResourceContents, BlobResourceContents])
export type ResourceContents = typeof ResourceContents.Type
