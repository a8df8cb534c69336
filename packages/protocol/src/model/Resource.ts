/** Resources that a client can read from a server, by URI or by URI template. */
import * as Schema from "effect/Schema"
import { Annotations } from "./Annotations.ts"
import { iconFields, nameFields } from "./Icon.ts"
import { cacheFields, inputFields, metaFields, requestFields } from "./Meta.ts"
import { ResourceContents } from "./ResourceContents.ts"
import { struct } from "./Shape.ts"

const described = {
  ...nameFields,
  ...iconFields,
  description: Schema.optionalKey(Schema.String),
  mimeType: Schema.optionalKey(Schema.String),
  annotations: Schema.optionalKey(Annotations),
  ...metaFields
}

/** A resource, as listed by `resources/list`. `size` is in bytes, before base64 encoding. */
export const Resource = struct("Resource", {
  uri: Schema.String,
  size: Schema.optionalKey(Schema.Finite),
  ...described
})
export type Resource = typeof Resource.Type

/** A resource template. `uriTemplate` uses RFC 6570 syntax. */
export const ResourceTemplate = struct("ResourceTemplate", { uriTemplate: Schema.String, ...described })
export type ResourceTemplate = typeof ResourceTemplate.Type

/** Params of `resources/read`. */
export const ReadResourceParams = struct("ReadResourceParams", {
  ...requestFields,
  ...inputFields,
  uri: Schema.String
})
export type ReadResourceParams = typeof ReadResourceParams.Type

/** A resource's contents. */
export const ReadResourceResult = struct("ReadResourceResult", {
  ...metaFields,
  ...cacheFields,
  contents: Schema.Array(ResourceContents)
})
export type ReadResourceResult = typeof ReadResourceResult.Type

/** Params of `resources/subscribe` and `resources/unsubscribe`. */
export const SubscribeParams = struct("SubscribeParams", { ...requestFields, uri: Schema.String })
export type SubscribeParams = typeof SubscribeParams.Type

/** Params of an update notification. `uri` may be a sub-resource of the subscribed resource. */
export const UpdatedParams = struct("UpdatedParams", { ...metaFields, uri: Schema.String })
export type UpdatedParams = typeof UpdatedParams.Type
