/**
 * Elicitation: a server asks the user, by a form in the client or by a web page.
 *
 * A form is flat: each property is one of the primitive schemas below. The page (`url`) exists since 2025-11-25.
 */
import * as Schema from "effect/Schema"
import { metaFields, requestFields } from "./Meta.ts"
import { struct } from "./Shape.ts"

const described = { title: Schema.optionalKey(Schema.String), description: Schema.optionalKey(Schema.String) }
const Choice = Schema.Struct({ const: Schema.String, title: Schema.String })

/** A field of a form for text; `format` and the lengths restrict it. */
export const StringSchema = struct("StringSchema", {
  type: Schema.Literal("string"),
  ...described,
  minLength: Schema.optionalKey(Schema.Finite),
  maxLength: Schema.optionalKey(Schema.Finite),
  format: Schema.optionalKey(Schema.Literals(["email", "uri", "date", "date-time"])),
  default: Schema.optionalKey(Schema.String)
})
export type StringSchema = typeof StringSchema.Type

/** A field of a form for a number or an integer. */
export const NumberSchema = struct("NumberSchema", {
  type: Schema.Literals(["number", "integer"]),
  ...described,
  minimum: Schema.optionalKey(Schema.Finite),
  maximum: Schema.optionalKey(Schema.Finite),
  default: Schema.optionalKey(Schema.Finite)
})
export type NumberSchema = typeof NumberSchema.Type

/** A field of a form for yes or no. */
export const BooleanSchema = struct("BooleanSchema", {
  type: Schema.Literal("boolean"),
  ...described,
  default: Schema.optionalKey(Schema.Boolean)
})
export type BooleanSchema = typeof BooleanSchema.Type

/** One of `enum`. `enumNames` are its titles as 2025-06-18 wrote them. */
export const EnumSchema = struct("EnumSchema", {
  type: Schema.Literal("string"),
  ...described,
  enum: Schema.Array(Schema.String),
  enumNames: Schema.optionalKey(Schema.Array(Schema.String)),
  default: Schema.optionalKey(Schema.String)
})
export type EnumSchema = typeof EnumSchema.Type

/** One of several titled values. */
export const TitledEnumSchema = struct("TitledEnumSchema", {
  type: Schema.Literal("string"),
  ...described,
  oneOf: Schema.Array(Choice),
  default: Schema.optionalKey(Schema.String)
})
export type TitledEnumSchema = typeof TitledEnumSchema.Type

const many = {
  type: Schema.Literal("array"),
  ...described,
  minItems: Schema.optionalKey(Schema.Finite),
  maxItems: Schema.optionalKey(Schema.Finite),
  default: Schema.optionalKey(Schema.Array(Schema.String))
}

/** Several of `items.enum`. */
export const MultiEnumSchema = struct("MultiEnumSchema", {
  ...many,
  items: Schema.Struct({ type: Schema.Literal("string"), enum: Schema.Array(Schema.String) })
})
export type MultiEnumSchema = typeof MultiEnumSchema.Type

/** Several of several titled values. */
export const TitledMultiEnumSchema = struct("TitledMultiEnumSchema", {
  ...many,
  items: Schema.Struct({ anyOf: Schema.Array(Choice) })
})
export type TitledMultiEnumSchema = typeof TitledMultiEnumSchema.Type

/** The schemas of form fields, most specific first: the first that fits is the one that is meant. */
export const PrimitiveSchema = Schema.Union([
  TitledMultiEnumSchema,
  MultiEnumSchema,
  TitledEnumSchema,
  EnumSchema,
  NumberSchema,
  BooleanSchema,
  StringSchema
])
export type PrimitiveSchema = typeof PrimitiveSchema.Type

/** The fields of a form, by name. */
export const RequestedSchema = struct("RequestedSchema", {
  $schema: Schema.optionalKey(Schema.String),
  type: Schema.Literal("object"),
  properties: Schema.Record(Schema.String, PrimitiveSchema),
  required: Schema.optionalKey(Schema.Array(Schema.String))
})
export type RequestedSchema = typeof RequestedSchema.Type

/** The params of a question by form. */
export const ElicitFormParams = struct("ElicitFormParams", {
  ...requestFields,
  mode: Schema.optionalKey(Schema.Literal("form")),
  message: Schema.String,
  requestedSchema: RequestedSchema
})
export type ElicitFormParams = typeof ElicitFormParams.Type

/** `elicitationId` is of 2025-11-25 only, and required there. */
export const ElicitUrlParams = struct("ElicitUrlParams", {
  ...requestFields,
  mode: Schema.Literal("url"),
  message: Schema.String,
  url: Schema.String,
  elicitationId: Schema.optionalKey(Schema.String)
})
export type ElicitUrlParams = typeof ElicitUrlParams.Type

/** The params of `elicitation/create`: a form or a URL. */
export const ElicitParams = Schema.Union([ElicitUrlParams, ElicitFormParams])
export type ElicitParams = typeof ElicitParams.Type

/** The value of a field that the user filled in. */
export const ElicitValue = Schema.Union([Schema.String, Schema.Finite, Schema.Boolean, Schema.Array(Schema.String)])
export type ElicitValue = typeof ElicitValue.Type

/** `accept` of a form has `content`; `accept` of a page is consent, not completion. */
export const ElicitResult = struct("ElicitResult", {
  ...metaFields,
  action: Schema.Literals(["accept", "decline", "cancel"]),
  content: Schema.optionalKey(Schema.Record(Schema.String, ElicitValue))
})
export type ElicitResult = typeof ElicitResult.Type

/** Of `notifications/elicitation/complete`, 2025-11-25 only. */
export const ElicitationCompleteParams = struct("ElicitationCompleteParams", {
  ...metaFields,
  elicitationId: Schema.String
})
export type ElicitationCompleteParams = typeof ElicitationCompleteParams.Type

/** `data` of error -32042, 2025-11-25 only. */
export const UrlElicitationRequiredData = struct("UrlElicitationRequired", {
  elicitations: Schema.Array(ElicitUrlParams)
})
export type UrlElicitationRequiredData = typeof UrlElicitationRequiredData.Type
