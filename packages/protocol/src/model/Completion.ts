/** Completion: suggested values for a prompt argument or a resource template variable. */
import * as Schema from "effect/Schema"
import { nameFields } from "./Icon.ts"
import { metaFields, requestFields } from "./Meta.ts"
import { struct } from "./Shape.ts"

/** Refers to the prompt whose argument is completed. */
export const PromptReference = struct("PromptReference", { type: Schema.Literal("ref/prompt"), ...nameFields })
export type PromptReference = typeof PromptReference.Type

/** Refers to the resource template whose variable is completed. `uri` is the URI or URI template itself. */
export const ResourceTemplateReference = struct("ResourceTemplateReference", {
  type: Schema.Literal("ref/resource"),
  uri: Schema.String
})
export type ResourceTemplateReference = typeof ResourceTemplateReference.Type

/** Refers to the prompt or resource template whose argument is completed. */
export const Reference = Schema.Union([PromptReference, ResourceTemplateReference])
export type Reference = typeof Reference.Type

/** Params of `completion/complete`. `context.arguments` are the arguments the user has already filled in. */
export const CompleteParams = struct("CompleteParams", {
  ...requestFields,
  ref: Reference,
  argument: Schema.Struct({ name: Schema.String, value: Schema.String }),
  context: Schema.optionalKey(
    Schema.Struct({ arguments: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)) })
  )
})
export type CompleteParams = typeof CompleteParams.Type

/** A list of at most 100 `values`. `total` is the number of all values, and `hasMore` is true if some were left out. */
export const CompleteResult = struct("CompleteResult", {
  ...metaFields,
  completion: Schema.Struct({
    values: Schema.Array(Schema.String),
    total: Schema.optionalKey(Schema.Finite),
    hasMore: Schema.optionalKey(Schema.Boolean)
  })
})
export type CompleteResult = typeof CompleteResult.Type
