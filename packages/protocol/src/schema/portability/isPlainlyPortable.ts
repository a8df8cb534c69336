/** A quick check, so that most servers don't have to load the rules. */
import { isJsonObject, type JsonObject } from "../../internal/JsonObject.ts"
import { geminiFormats, hasLookaround, isPropertyName, isToolName, maxDescription } from "./vocabulary.ts"

/** Keywords that every host accepts. */
const plain = new Set(
  "type title description default examples properties required additionalProperties items enum anyOf pattern format minimum maximum minLength maxLength minItems maxItems minProperties maxProperties".split(
    " "
  )
)
const maxDepth = 10

const isPlainEnum = ({ enum: values, type }: JsonObject): boolean =>
  values === undefined ||
  (type === "string" && Array.isArray(values) && values.every((value) => typeof value === "string"))

const isPlainMember = (schema: unknown, depth: number): boolean => {
  if (!isJsonObject(schema) || depth > maxDepth) return false
  const { additionalProperties: others, anyOf, format, items, pattern, properties, type } = schema
  return (
    Object.keys(schema).every((key) => plain.has(key) || key.startsWith("x-")) &&
    (typeof type === "string" || (type === undefined && anyOf !== undefined)) &&
    (anyOf === undefined || (Array.isArray(anyOf) && anyOf.every((member) => isPlainMember(member, depth + 1)))) &&
    (items === undefined ? type !== "array" : isPlainMember(items, depth + 1)) &&
    (others === undefined || typeof others === "boolean" || isPlainMember(others, depth + 1)) &&
    (properties === undefined ||
      (isJsonObject(properties) && Object.values(properties).every((one) => isPlainMember(one, depth + 1)))) &&
    (format === undefined || (typeof format === "string" && geminiFormats.has(format))) &&
    (pattern === undefined || (typeof pattern === "string" && !hasLookaround(pattern))) &&
    isPlainEnum(schema)
  )
}

/** True if an input schema certainly breaks no rule. False means that it has to be checked. */
export const isPlainInput = (schema: JsonObject): boolean => {
  const { anyOf, enum: values, properties, type } = schema
  const isRoot = type === "object" && anyOf === undefined && values === undefined && isJsonObject(properties)
  return isRoot && Object.keys(properties).every(isPropertyName) && isPlainMember(schema, 0)
}

/** A tool whose schemas may not have been generated yet. Such schemas are plain. */
interface Candidate {
  readonly name: string
  readonly description?: string | undefined
  readonly inputSchema: JsonObject | undefined
  readonly outputSchema: JsonObject | undefined
}

/**
 * True if a tool certainly breaks no rule. False means that it has to be checked. An `undefined` schema counts as
 * plain.
 */
export const isPlainlyPortable = ({ description = "", inputSchema, name, outputSchema }: Candidate): boolean =>
  isToolName(name) &&
  description.length <= maxDescription &&
  (inputSchema === undefined || isPlainInput(inputSchema)) &&
  (outputSchema === undefined || isPlainMember(outputSchema, 0))
