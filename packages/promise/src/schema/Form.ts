/**
 * Schemas of any library as forms (spec: client/elicitation): flat objects of strings, numbers, booleans and choices.
 *
 * Owns the forms of JSON Schemas that libraries write in other ways than a form does.
 */
import type { RequestedSchema } from "@effect-mcp/protocol/model/Elicitation"
import * as JsonSchema from "@effect-mcp/protocol/JsonSchema"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Result from "effect/Result"
import { part, type Validate } from "./Standard.ts"

/** A form, and what validates its answers. */
export interface Form {
  readonly requestedSchema: RequestedSchema
  readonly validate: Validate
}

/** Choices of strings as forms have them: libraries write `const`, `enum` without a type, or `anyOf` of constants. */
const choice = (node: JsonSchema.JsonObject): JsonSchema.JsonObject => {
  const { anyOf, const: only, oneOf, ...rest } = node
  const given: unknown = anyOf ?? oneOf
  const members: ReadonlyArray<unknown> = Array.isArray(given) ? given : []
  const values = members.flatMap((member) => (isJsonObject(member) && "const" in member ? [member["const"]] : []))
  if (members.length > 0 && values.length === members.length) return choice({ ...rest, enum: values })
  if (typeof only === "string") return choice({ ...rest, enum: [only] })
  const strings = Array.isArray(node["enum"]) && node["enum"].every((value) => typeof value === "string")
  return strings ? { ...node, type: "string" } : node
}

const field = (node: unknown): unknown => {
  if (!isJsonObject(node)) return node
  const { items, ...rest } = choice(node)
  if (isJsonObject(items)) return { ...rest, items: choice(items) }
  // A format says what the pattern of a library does.
  const { pattern, ...others } = rest
  return pattern === undefined || rest["format"] === undefined ? rest : others
}

const documentOf = (document: JsonSchema.JsonObject): JsonSchema.JsonObject => {
  const { properties, ...rest } = document
  return isJsonObject(properties)
    ? { ...rest, properties: Object.fromEntries(Object.entries(properties).map(([name, node]) => [name, field(node)])) }
    : document
}

const forms = new WeakMap<object, Form>()

/** The form of a schema, made once. Throws where no form can show it, and names the field. */
export const formOf = (schema: object): Form => {
  const known = forms.get(schema)
  if (known !== undefined) return known
  const { jsonSchema, validate } = part("The schema of a form", schema, "input")
  const requestedSchema = JsonSchema.elicitationOf(documentOf(jsonSchema))
  if (Result.isFailure(requestedSchema)) throw new TypeError(requestedSchema.failure.message)
  const form = { requestedSchema: requestedSchema.success, validate }
  forms.set(schema, form)
  return form
}
