/**
 * Completion: suggestions for an argument of a prompt or of a resource template.
 */
import * as Schema from "effect/Schema"
import { nameFields } from "./Icon.ts"
import { metaFields, requestFields } from "./Meta.ts"
import { struct } from "./Shape.ts"

/** The prompt whose argument is completed. */
export const PromptReference = struct("PromptReference", { type: Schema.Literal("ref/prompt"), ...nameFields })
export type PromptReference = typeof PromptReference.Type

/** `uri` is the URI or URI template itself. */
export const ResourceTemplateReference = struct("ResourceTemplateReference", {
  type: Schema.Literal("ref/resource"),
  uri: Schema.String
})
export type ResourceTemplateReference = typeof ResourceTemplateReference.Type

/** The prompt or resource template whose argument is completed. */
export const Reference = Schema.Union([PromptReference, ResourceTemplateReference])
export type Reference = typeof Reference.Type

/** `context.arguments` are the arguments that the user has already entered. */
export const CompleteParams = struct("CompleteParams", {
  ...requestFields,
  ref: Reference,
  argument: Schema.Struct({ name: Schema.String, value: Schema.String }),
  context: Schema.optionalKey(
    Schema.Struct({ arguments: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)) })
  )
})
export type CompleteParams = typeof CompleteParams.Type

/** At most 100 `values`; `total` counts all of them, `hasMore` tells that some are left out. */
export const CompleteResult = struct("CompleteResult", {
  ...metaFields,
  completion: Schema.Struct({
    values: Schema.Array(Schema.String),
    total: Schema.optionalKey(Schema.Finite),
    hasMore: Schema.optionalKey(Schema.Boolean)
  })
})
export type CompleteResult = typeof CompleteResult.Type
