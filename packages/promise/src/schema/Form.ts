/**
 * Turns schemas from any library into forms (spec: client/elicitation), which are flat objects of strings, numbers, booleans and choices.
 *
 * Rewrites the JSON Schemas that libraries generate into the syntax that forms require.
 */
import type { RequestedSchema } from "@effect-mcp/protocol/model/Elicitation"
import * as JsonSchema from "@effect-mcp/protocol/JsonSchema"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import { memoize } from "effect/Function"
import * as Result from "effect/Result"
import { part, type Validate } from "./Standard.ts"

/** A form and the function that validates its answers. */
export interface Form {
  readonly requestedSchema: RequestedSchema
  readonly validate: Validate
}

/** Rewrites string choices the way forms require: libraries use `const`, `enum` without a type, or `anyOf` with constants. */
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
  // A format replaces the pattern a library adds for it.
  const { pattern, ...others } = rest
  return pattern === undefined || rest["format"] === undefined ? rest : others
}

const documentOf = (document: JsonSchema.JsonObject): JsonSchema.JsonObject => {
  const { properties, ...rest } = document
  return isJsonObject(properties)
    ? { ...rest, properties: Object.fromEntries(Object.entries(properties).map(([name, node]) => [name, field(node)])) }
    : document
}

/** Returns the form for a schema, and caches it. Throws if a field can't be shown in a form; the error names the field. */
export const formOf = memoize((schema: object): Form => {
  const { jsonSchema, validate } = part("The schema of a form", schema, "input")
  const requestedSchema = JsonSchema.elicitationOf(documentOf(jsonSchema))
  if (Result.isFailure(requestedSchema)) throw new TypeError(requestedSchema.failure.message)
  return { requestedSchema: requestedSchema.success, validate }
})
