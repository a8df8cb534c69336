/**
 * Converts a server's form to fields, and validates answers (spec: client/elicitation).
 *
 * Pure: `Questions` does the asking. Texts from the server are escaped here, because they are only shown.
 */
import type { ElicitResult, ElicitValue, RequestedSchema } from "@effect-mcp/protocol/model/Elicitation"
import { ElicitResult as Answer, PrimitiveSchema } from "@effect-mcp/protocol/model/Elicitation"
import * as JsonSchemaValidator from "@effect-mcp/protocol/JsonSchemaValidator"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { assemble, coerce, parse } from "../terminal/Arguments.ts"
import { safeLine } from "../terminal/Style.ts"

export type Content = NonNullable<ElicitResult["content"]>

export interface Choice {
  readonly value: string
  readonly title: string
}

/** The kind of prompt for a field. */
type Kind =
  | { readonly _tag: "Text" }
  | { readonly _tag: "Boolean" }
  | { readonly _tag: "One"; readonly choices: ReadonlyArray<Choice> }
  | {
      readonly _tag: "Many"
      readonly choices: ReadonlyArray<Choice>
      readonly min: number | undefined
      readonly max: number | undefined
    }

export interface Field {
  readonly name: string
  /** The text to show: the title or name, the description, and the expected format. */
  readonly label: string
  readonly required: boolean
  readonly schema: PrimitiveSchema
  readonly kind: Kind
  readonly initial: ElicitValue | undefined
}

const plainChoices = (values: ReadonlyArray<string>, titles: ReadonlyArray<string> = []): ReadonlyArray<Choice> =>
  values.map((value, i) => ({ value, title: safeLine(titles[i] ?? value) }))
const titledChoices = (choices: ReadonlyArray<{ readonly const: string; readonly title: string }>) =>
  choices.map(({ const: value, title }) => ({ value, title: safeLine(title) }))

const kindOf = (schema: PrimitiveSchema): Kind => {
  if (schema.type === "array") {
    const { items, maxItems: max, minItems: min } = schema
    const choices = "anyOf" in items ? titledChoices(items.anyOf) : plainChoices(items.enum)
    return { _tag: "Many", choices, min, max }
  }
  if ("oneOf" in schema) return { _tag: "One", choices: titledChoices(schema.oneOf) }
  if ("enum" in schema) return { _tag: "One", choices: plainChoices(schema.enum, schema.enumNames) }
  return schema.type === "boolean" ? { _tag: "Boolean" } : { _tag: "Text" }
}

/** Returns the expected format, or an empty string if any text is allowed. */
const hint = (schema: PrimitiveSchema): string => {
  if (schema.type === "number" || schema.type === "integer") {
    const { maximum, minimum, type } = schema
    if (minimum !== undefined && maximum !== undefined) return `${type} from ${minimum} to ${maximum}`
    if (minimum !== undefined) return `${type} from ${minimum}`
    return maximum === undefined ? type : `${type} up to ${maximum}`
  }
  return "format" in schema && schema.format !== undefined ? schema.format : ""
}

/** Returns a form's fields, in the form's order. */
export const fields = ({ properties, required = [] }: RequestedSchema): ReadonlyArray<Field> =>
  Object.entries(properties).map(([name, schema]) => {
    const about = [
      ...(schema.description === undefined ? [] : [safeLine(schema.description)]),
      ...(hint(schema) === "" ? [] : [`[${hint(schema)}]`]),
      ...(required.includes(name) ? [] : ["(optional)"])
    ]
    const label = safeLine(schema.title ?? name)
    return {
      name,
      label: about.length === 0 ? label : `${label}: ${about.join(" ")}`,
      required: required.includes(name),
      schema,
      kind: kindOf(schema),
      initial: schema.default
    }
  })

/** Returns the validator's message without its pointer, or `undefined` if the value is valid. */
const complain = (schema: object, value: unknown): string | undefined => {
  const compiled = JsonSchemaValidator.compile(schema, { formats: true })
  if (Result.isFailure(compiled)) return safeLine(compiled.failure.reason)
  const [violation] = compiled.success(value)
  if (violation === undefined) return undefined
  const where = violation.path.replace(/^\//, "")
  return safeLine(where === "" ? violation.message : `${where}: ${violation.message}`)
}

/** Converts typed text to a value. Empty text leaves an optional field out. */
export const read = ({ required, schema }: Field, typed: string): Result.Result<ElicitValue | undefined, string> => {
  if (typed === "") return required ? Result.fail("This is required") : Result.succeed(undefined)
  return Result.flatMap(coerce(typed, schema, {}), (value) => {
    const complaint = complain(schema, value)
    return complaint !== undefined || !isValue(value)
      ? Result.fail(complaint ?? "No such value")
      : Result.succeed(value)
  })
}

const isContent = Schema.is(Schema.Struct({ content: Answer.fields.content }))
const isValue = (value: unknown): value is ElicitValue => isContent({ content: { value } })

/** True if any `--answer` belongs to this form. */
export const concerns = (schema: RequestedSchema, words: ReadonlyArray<string>): boolean =>
  own(schema, words).length > 0

const own = ({ properties }: RequestedSchema, words: ReadonlyArray<string>): ReadonlyArray<string> =>
  words.filter((word) => {
    const parsed = parse(word)
    return Result.isSuccess(parsed) && Object.hasOwn(properties, parsed.success.key)
  })

/** Fills in the form from `--answer` and its defaults, or returns the problem. Answers to other forms are ignored. */
export const complete = (schema: RequestedSchema, words: ReadonlyArray<string>): Result.Result<Content, string> =>
  Result.flatMap(assemble(own(schema, words), schema, defaults(schema)), (content) => {
    const missing = (schema.required ?? []).filter((name) => !Object.hasOwn(content, name)).map(safeLine)
    if (missing.length > 0) return Result.fail(`no answer for ${missing.join(", ")}`)
    const complaint = complain(schema, content)
    const filled = { content }
    return complaint === undefined && isContent(filled) && filled.content !== undefined
      ? Result.succeed(filled.content)
      : Result.fail(complaint ?? "the answer does not match the form")
  })

const defaults = ({ properties }: RequestedSchema): { readonly [name: string]: unknown } =>
  Object.fromEntries(
    Object.entries(properties).flatMap(([name, { default: value }]) => (value === undefined ? [] : [[name, value]]))
  )

/** Returns the form's fields with values from `--answer` as defaults. */
export const prefilled = (schema: RequestedSchema, words: ReadonlyArray<string>): ReadonlyArray<Field> => {
  const content = Result.getOrElse(assemble(own(schema, words), schema), () => ({}))
  return fields(schema).map((field) => {
    const given = Object.hasOwn(content, field.name) ? Reflect.get(content, field.name) : undefined
    return isValue(given) ? { ...field, initial: given } : field
  })
}

const isPrimitive = Schema.is(PrimitiveSchema)

/** A required form field for a property of a tool's schema, or `undefined` if a form cannot ask for it. */
export const fieldOf = (name: string, schema: unknown): Field | undefined =>
  isPrimitive(schema) ? fields({ type: "object", properties: { [name]: schema }, required: [name] })[0] : undefined
