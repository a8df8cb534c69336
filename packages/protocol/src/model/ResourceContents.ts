/**
 * The contents of a resource: text, or base64.
 */
import * as Schema from "effect/Schema"
import { metaFields } from "./Meta.ts"
import { struct } from "./Shape.ts"

const common = { uri: Schema.String, mimeType: Schema.optionalKey(Schema.String), ...metaFields }

/** Contents of a resource as text. */
export const TextResourceContents = struct("TextResourceContents", { ...common, text: Schema.String })
export type TextResourceContents = typeof TextResourceContents.Type

/** `blob` is base64. */
export const BlobResourceContents = struct("BlobResourceContents", { ...common, blob: Schema.String })
export type BlobResourceContents = typeof BlobResourceContents.Type

/** Contents of a resource: text, or bytes in Base64. */
export const ResourceContents = Schema.Union([TextResourceContents, BlobResourceContents])
export type ResourceContents = typeof ResourceContents.Type
