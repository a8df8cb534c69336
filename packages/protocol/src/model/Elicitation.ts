/**
 * Elicitation: a server asks the user a question, with a form in the client or on a web page.
 *
 * Forms are flat: each property is one of the primitive schemas below. Web pages (`url`) are supported since 2025-11-25.
 */
import * as Schema from "effect/Schema"
import { metaFields, requestFields } from "./Meta.ts"
import { struct } from "./Shape.ts"

const described = { title: Schema.optionalKey(Schema.String), description: Schema.optionalKey(Schema.String) }
const Choice = Schema.Struct({ const: Schema.String, title: Schema.String })

/** A text field. `format` and the length limits restrict its value. */
export const StringSchema = struct("StringSchema", {
  type: Schema.Literal("string"),
  ...described,
  minLength: Schema.optionalKey(Schema.Finite),
  maxLength: Schema.optionalKey(Schema.Finite),
  format: Schema.optionalKey(Schema.Literals(["email", "uri", "date", "date-time"])),
  default: Schema.optionalKey(Schema.String)
})
export type StringSchema = typeof StringSchema.Type

/** A field for a number or an integer. */
export const NumberSchema = struct("NumberSchema", {
  type: Schema.Literals(["number", "integer"]),
  ...described,
  minimum: Schema.optionalKey(Schema.Finite),
  maximum: Schema.optionalKey(Schema.Finite),
  default: Schema.optionalKey(Schema.Finite)
})
export type NumberSchema = typeof NumberSchema.Type

/** A yes/no field. */
export const BooleanSchema = struct("BooleanSchema", {
  type: Schema.Literal("boolean"),
  ...described,
  default: Schema.optionalKey(Schema.Boolean)
})
export type BooleanSchema = typeof BooleanSchema.Type

/** A single choice from `enum`. `enumNames` are the titles in 2025-06-18 format. */
export const EnumSchema = struct("EnumSchema", {
  type: Schema.Literal("string"),
  ...described,
  enum: Schema.Array(Schema.String),
  enumNames: Schema.optionalKey(Schema.Array(Schema.String)),
  default: Schema.optionalKey(Schema.String)
})
export type EnumSchema = typeof EnumSchema.Type

/** A single choice from titled values. */
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

/** A multiple choice from `items.enum`. */
export const MultiEnumSchema = struct("MultiEnumSchema", {
  ...many,
  items: Schema.Struct({ type: Schema.Literal("string"), enum: Schema.Array(Schema.String) })
})
export type MultiEnumSchema = typeof MultiEnumSchema.Type

/** A multiple choice from titled values. */
export const TitledMultiEnumSchema = struct("TitledMultiEnumSchema", {
  ...many,
  items: Schema.Struct({ anyOf: Schema.Array(Choice) })
})
export type TitledMultiEnumSchema = typeof TitledMultiEnumSchema.Type

/** Schemas for form fields, most specific first. The first schema that matches is used. */
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

/** A form's fields, by name. */
export const RequestedSchema = struct("RequestedSchema", {
  $schema: Schema.optionalKey(Schema.String),
  type: Schema.Literal("object"),
  properties: Schema.Record(Schema.String, PrimitiveSchema),
  required: Schema.optionalKey(Schema.Array(Schema.String))
})
export type RequestedSchema = typeof RequestedSchema.Type

/** Params of a question that the user answers in a form. */
export const ElicitFormParams = struct("ElicitFormParams", {
  ...requestFields,
  mode: Schema.optionalKey(Schema.Literal("form")),
  message: Schema.String,
  requestedSchema: RequestedSchema
})
export type ElicitFormParams = typeof ElicitFormParams.Type

/**
 * Params of a question that the user answers on a web page. `elicitationId` only exists in 2025-11-25, where it is
 * required.
 */
export const ElicitUrlParams = struct("ElicitUrlParams", {
  ...requestFields,
  mode: Schema.Literal("url"),
  message: Schema.String,
  url: Schema.String,
  elicitationId: Schema.optionalKey(Schema.String)
})
export type ElicitUrlParams = typeof ElicitUrlParams.Type

/** Params of `elicitation/create`: a form or a URL. */
export const ElicitParams = Schema.Union([ElicitUrlParams, ElicitFormParams])
export type ElicitParams = typeof ElicitParams.Type

/** A value the user entered in a form field. */
export const ElicitValue = Schema.Union([Schema.String, Schema.Finite, Schema.Boolean, Schema.Array(Schema.String)])
export type ElicitValue = typeof ElicitValue.Type

/**
 * The user's response. If the user accepts a form, `content` has the values. Accepting a URL means that the user agreed to visit it, not
 * that the interaction is complete.
 */
export const ElicitResult = struct("ElicitResult", {
  ...metaFields,
  action: Schema.Literals(["accept", "decline", "cancel"]),
  content: Schema.optionalKey(Schema.Record(Schema.String, ElicitValue))
})
export type ElicitResult = typeof ElicitResult.Type

/** Params of `notifications/elicitation/complete`. Only in 2025-11-25. */
export const ElicitationCompleteParams = struct("ElicitationCompleteParams", {
  ...metaFields,
  elicitationId: Schema.String
})
export type ElicitationCompleteParams = typeof ElicitationCompleteParams.Type

/** The `data` of a -32042 error. Only in 2025-11-25. */
export const UrlElicitationRequiredData = struct("UrlElicitationRequired", {
  elicitations: Schema.Array(ElicitUrlParams)
})
export type UrlElicitationRequiredData = typeof UrlElicitationRequiredData.Type
