/**
 * Generates JSON Schema 2020-12 documents from Effect schemas, and the codecs that decode exactly what the documents describe.
 *
 * Used for tool inputs, tool outputs and elicitation forms. A document describes the JSON side of a schema (see `WireSchema`), so always
 * decode with `codec` instead of the schema itself. Objects are open: fields that aren't in the schema are accepted and dropped. Roots that
 * MCP doesn't allow are rejected.
 *
 * *Gotcha*: JSON Schema counts the length of a string in code points, Effect in UTF-16 units. A `minLength` above 1 is therefore advertised
 * as half its value, except in elicitation forms. Custom filters and the bounds of safe integers are not advertised; only the decoder
 * checks them.
 */
import * as Data from "effect/Data"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import { excerpt } from "../Excerpt.ts"
import { isJsonObject, type JsonObject } from "../internal/JsonObject.ts"
import { InvalidToolSchema } from "./InvalidToolSchema.ts"
import { isVendorKey, representation, wireSchema, withoutJson, type WireCodec } from "./WireSchema.ts"
import * as Elicitation from "../model/Elicitation.ts"

export { InvalidToolSchema } from "./InvalidToolSchema.ts"
export { later } from "./PlainSchema.ts"
export type { WireCodec as Wire } from "./WireSchema.ts"
export type { JsonObject } from "../internal/JsonObject.ts"
/** A document with `type: "object"` at its root, as MCP requires for tool inputs. */
export type ObjectSchema = JsonObject & { readonly type: "object" }

/** A field that an elicitation form cannot display. `field` is the field name, or empty if the error concerns the whole schema. */
export class InvalidElicitationSchema extends Data.TaggedError("InvalidElicitationSchema")<{
  readonly field: string
  readonly reason: string
}> {
  override get message(): string {
    return `${this.field === "" ? "The form" : `Field "${this.field}"`} ${this.reason}`
  }
}

/**
 * Returns the codec between a schema's values and the JSON that `fromSchema` describes. Create it once, not per call.
 *
 * @example
 * ```ts
 * import { JsonSchema } from "@effect-mcp/protocol"
 * import { Schema } from "effect"
 *
 * const Note = Schema.Struct({ title: Schema.String, due: Schema.optionalKey(Schema.Date) })
 * console.log(JSON.stringify(JsonSchema.fromSchema(Note)))
 * // => {"type":"object","properties":{"title":{"type":"string"},"due":{"type":"string","format":"date-time"}},"required":["title"]}
 * const note = Schema.decodeUnknownSync(JsonSchema.codec(Note))({ title: "Tea", due: "2026-07-28T16:00:00.000Z" })
 * console.log(note.due?.getUTCFullYear())
 * // => 2026
 * ```
 */
export const codec: <S extends Schema.Constraint>(schema: S) => WireCodec<S> = wireSchema

/**
 * Generates the JSON Schema (2020-12, without `$schema`) for the JSON form of a schema. Recursive and named schemas become `$defs`.
 *
 * Throws `InvalidToolSchema` if the schema has no JSON form. Keeps the annotations `title`, `description`, `default`, `examples`, `format`
 * and all `x-*` keys.
 */
export const fromSchema = (schema: Schema.Constraint): JsonObject => {
  const { definitions, schema: described } = documentOf(schema)
  const root = tidy(described)
  const defs = mapValues(definitions, tidy)
  const name = definitionName(root)
  if (name === undefined) return withDefs(root, defs)
  // MCP requires the root itself, not a reference to it. The definition stays only if another reference needs it.
  const { [name]: named, ...others } = defs
  const { $ref, ...notes } = root
  const recursive = JSON.stringify([named, others]).includes(JSON.stringify($ref))
  return withDefs({ ...named, ...notes }, recursive ? defs : others)
}

/** True if no JSON value can match the document, as with `Schema.Never` or an object that requires such a field. */
const isImpossible = (document: unknown): boolean => {
  if (!isJsonObject(document)) return false
  const { anyOf, not, properties, required } = document
  if (isJsonObject(not) && Object.keys(not).length === 0) return true
  if (Array.isArray(anyOf)) return anyOf.every(isImpossible)
  return isJsonObject(properties) && Array.isArray(required) && required.some((name) => isImpossible(properties[name]))
}

/** Returns the document for a schema that has at least one valid value. */
const possible = (schema: Schema.Constraint): JsonObject => {
  const document = fromSchema(schema)
  if (!isImpossible(document)) return document
  const reason = `No value can match this schema, because it requires Schema.Never or an empty union: ${excerpt(JSON.stringify(document))}`
  throw new InvalidToolSchema({ reason })
}

/**
 * Generates a tool's input schema. Throws `InvalidToolSchema` unless the schema has valid values and all of them are
 * JSON objects.
 *
 * The document for an empty struct forbids properties, as the specification recommends; its codec drops them. It lists
 * no properties, because OpenAI's API rejects a tool without a list.
 */
export const input = (schema: Schema.Constraint): ObjectSchema => {
  const document = possible(schema)
  if (!isObjectRoot(document, document)) {
    throw new InvalidToolSchema({
      reason:
        "A tool's input must be a JSON object, such as a Schema.Struct or a union of structs, but this schema " +
        `describes ${excerpt(JSON.stringify(document))}`
    })
  }
  const { ast } = schema
  const empty = SchemaAST.isObjects(ast) && ast.propertySignatures.length + ast.indexSignatures.length === 0
  return objectRoot(empty ? { ...document, properties: {}, additionalProperties: false } : document)
}

/**
 * Generates a tool's output schema. `isObject: false` means that only 2026-07-28 supports it, both as a schema and as a value. Throws
 * `InvalidToolSchema` if the schema has no valid values.
 */
export const output = (
  schema: Schema.Constraint
):
  | { readonly schema: ObjectSchema; readonly isObject: true }
  | { readonly schema: JsonObject; readonly isObject: false } => {
  const document = possible(schema)
  return isObjectRoot(document, document)
    ? { schema: objectRoot(document), isObject: true }
    : { schema: document, isObject: false }
}

/**
 * Creates a schema for a string choice with a display title for each value, such as `{ "#F00": "Red" }`. For elicitation fields and tool
 * arguments.
 */
export const titled = <const Titles extends { readonly [value: string]: string }>(
  titles: Titles
): Schema.Codec<keyof Titles & string> =>
  Schema.make(
    new SchemaAST.Union(Object.entries(titles).map(([value, title]) => new SchemaAST.Literal(value, { title })))
  )

/**
 * Generates the form schema for a schema's fields: strings, finite numbers, booleans, and single or multiple choices from `Literals`.
 *
 * Answers are decoded with `codec`, so a field may also be a date or a URL. Examples and vendor keys are omitted. Fails if MCP's restricted
 * form schema cannot express a field's constraints (2025-11-25, client/elicitation).
 */
export const elicitation = (
  schema: Schema.Constraint
): Result.Result<Elicitation.RequestedSchema, InvalidElicitationSchema> =>
  Result.gen(function* () {
    const document = yield* Result.try({
      try: () => fromSchema(schema),
      catch: () => unfit(withoutJson(schema.ast)?.[0] ?? "", "has no JSON form")
    })
    const encoded = SchemaAST.toEncoded(wireSchema(schema).ast)
    const asts = new Map(SchemaAST.isObjects(encoded) ? encoded.propertySignatures.map((p) => [p.name, p.type]) : [])
    return yield* elicitationOf(document, (field) => minLength(asts.get(field)))
  })

/** Converts a JSON Schema document to a form schema. `minLengthOf` returns a field's minimum length if it differs from the document. */
export const elicitationOf = (
  document: JsonObject,
  minLengthOf?: (field: string) => number | undefined
): Result.Result<Elicitation.RequestedSchema, InvalidElicitationSchema> =>
  Result.gen(function* () {
    const fields = isJsonObject(document["properties"]) ? document["properties"] : {}
    if (document["type"] !== "object" || "allOf" in document || isJsonObject(document["additionalProperties"])) {
      return yield* Result.fail(unfit("", "must be a flat object"))
    }
    const properties: Record<string, Elicitation.PrimitiveSchema> = {}
    for (const [field, node] of Object.entries(fields)) {
      const { items, ...shape } = resolve(node, document)
      const whole = items === undefined ? shape : { ...shape, items: resolve(items, document) }
      const stated = whole["minLength"]
      const exact = minLengthOf === undefined && typeof stated === "number" ? stated : minLengthOf?.(field)
      const form = formField(whole, exact)
      if (typeof form === "string") return yield* Result.fail(unfit(field, form))
      if (!isPrimitive(form)) return yield* Result.fail(unfit(field, "has a default of a different type"))
      properties[field] = form
    }
    const required = document["required"]
    return {
      type: "object" as const,
      properties,
      ...(Array.isArray(required) ? { required: required.map(String) } : {})
    }
  })

const isPrimitive = Schema.is(Elicitation.PrimitiveSchema)
const unfit = (field: string, reason: string) => new InvalidElicitationSchema({ field, reason })

/** Returns a form field, or the reason why the node cannot be one. */
const formField = (node: JsonObject, exactMinLength: number | undefined): JsonObject | string => {
  const { default: _, description: __, examples: ___, title: ____, ...rest } = node
  const demands = Object.fromEntries(Object.entries(rest).filter(([key]) => !isNote(key)))
  const notes = pick(node, "title", "description", "default")
  const only = (allowed: ReadonlyArray<string>, field: JsonObject): JsonObject | string => {
    const key = Object.keys(demands).find((key) => !allowed.includes(key))
    return key === undefined ? { ...notes, ...field } : `uses ${JSON.stringify(key)}, which forms do not support`
  }
  const single = choices(node)
  if (single !== undefined) return only(["type", "enum", "anyOf"], { type: "string", ...select(single, "oneOf") })
  switch (node["type"]) {
    case "boolean":
      return only(["type"], { type: "boolean" })
    case "string": {
      const { format } = node
      if (format !== undefined && !formats.includes(format)) {
        return `has the format ${JSON.stringify(format)}; forms support ${formats.join(", ")}`
      }
      const length = exactMinLength === undefined ? {} : { minLength: exactMinLength }
      const allowed = ["type", "minLength", "maxLength", "format", "pattern"]
      return only(allowed, { ...pick(node, "type", "maxLength", "format", "pattern"), ...length })
    }
    case "integer": {
      const lowest = bound(node["minimum"], node["exclusiveMinimum"], 1)
      const highest = bound(node["maximum"], node["exclusiveMaximum"], -1)
      return only(["type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"], {
        type: "integer",
        ...(lowest === undefined ? {} : { minimum: lowest }),
        ...(highest === undefined ? {} : { maximum: highest })
      })
    }
    case "number":
      return only(["type", "minimum", "maximum"], pick(node, "type", "minimum", "maximum"))
    case "array": {
      const several = isJsonObject(node["items"]) ? choices(node["items"]) : undefined
      if (several === undefined) return "is an array whose items are not literal strings"
      const items = select(several, "anyOf")
      return only(["type", "items", "minItems", "maxItems", "uniqueItems"], {
        ...pick(node, "type", "minItems", "maxItems"),
        items: "enum" in items ? { type: "string", ...items } : items
      })
    }
    case "object":
      return "is an object, but forms must be flat"
    default:
      return "is not a string, number, boolean or choice"
  }
}

const formats: ReadonlyArray<unknown> = ["email", "uri", "date", "date-time"]

const bound = (inclusive: unknown, exclusive: unknown, step: 1 | -1): number | undefined => {
  const bounds = [inclusive, typeof exclusive === "number" ? exclusive + step : undefined]
  const numbers = bounds.filter((n) => typeof n === "number" && Math.abs(n) !== Number.MAX_SAFE_INTEGER)
  return numbers.length === 0 ? undefined : Math.max(...numbers.map((n) => Number(n) * step)) * step
}

/** Returns the strings a schema allows, with their titles. */
const choices = (node: JsonObject): ReadonlyArray<{ readonly const: string; readonly title?: string }> | undefined => {
  const members = Array.isArray(node["anyOf"]) ? node["anyOf"] : [node]
  const found = members.flatMap((member: unknown) => {
    if (!isJsonObject(member) || member["type"] !== "string" || !Array.isArray(member["enum"])) return [undefined]
    const title = members.length > 1 && typeof member["title"] === "string" ? { title: member["title"] } : {}
    return member["enum"].map((value) => ({ const: String(value), ...title }))
  })
  return found.every((choice) => choice !== undefined) ? found : undefined
}

/** Formats choices as MCP expects: an `enum`, or titled constants under the given keyword. */
const select = (members: NonNullable<ReturnType<typeof choices>>, keyword: "oneOf" | "anyOf"): JsonObject =>
  members.some((member) => member.title !== undefined)
    ? { [keyword]: members.map((member) => ({ title: member.const, ...member })) }
    : { enum: members.map((member) => member.const) }

/** Returns the `minLength` that the decoder enforces; see the gotcha above. */
const minLength = (ast: SchemaAST.AST | undefined): number | undefined => {
  const flatten = (checks: ReadonlyArray<SchemaAST.Check<never>>): ReadonlyArray<SchemaAST.Check<never>> =>
    checks.flatMap((check) => (check._tag === "FilterGroup" ? flatten(check.checks) : [check]))
  const lengths = flatten(ast?.checks ?? []).flatMap((check) => {
    const { id, payload } = representation(check.annotations) ?? {}
    const length = id?.endsWith("Length") === true ? (payload?.["minLength"] ?? payload?.["minimum"]) : undefined
    return typeof length === "number" ? [length] : []
  })
  return lengths.length === 0 ? undefined : Math.max(...lengths)
}

const documentOf = (schema: Schema.Constraint) => {
  const place = withoutJson(schema.ast)
  if (place !== undefined) {
    const at = place.length === 0 ? "This schema" : `Its part at /${place.join("/")}`
    throw new InvalidToolSchema({
      reason:
        `${at} is a Schema.declare or Schema.instanceOf without a JSON form. ` +
        "Add one with the toCodec annotation, or use a schema that has one, such as a Schema.Struct"
    })
  }
  try {
    return Schema.toJsonSchemaDocument(wireSchema(schema), { includeAnnotationKey: isVendorKey })
  } catch (cause) {
    throw new InvalidToolSchema({
      reason: `This schema has no JSON form: ${cause instanceof Error ? cause.message : String(cause)}`
    })
  }
}

const mapValues = <A, B>(record: { readonly [key: string]: A }, f: (value: A) => B): { readonly [key: string]: B } =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, f(value)]))
const pick = (node: JsonObject, ...keys: ReadonlyArray<string>): JsonObject =>
  Object.fromEntries(Object.entries(node).filter(([key]) => keys.includes(key)))
const withDefs = (root: JsonObject, defs: JsonObject): JsonObject =>
  Object.keys(defs).length === 0 ? root : { ...root, $defs: defs }

const definitionName = ({ $ref }: JsonObject): string | undefined =>
  typeof $ref === "string" && $ref.startsWith("#/$defs/")
    ? decodeURIComponent($ref.slice("#/$defs/".length)).replaceAll("~1", "/").replaceAll("~0", "~")
    : undefined

/** Resolves a node's reference into `$defs`. Keywords next to the reference take precedence. */
const resolve = (node: unknown, document: JsonObject): JsonObject => {
  if (!isJsonObject(node)) return {}
  const name = definitionName(node)
  if (name === undefined || !isJsonObject(document["$defs"])) return node
  const { $ref: _, ...notes } = node
  return { ...resolve(document["$defs"][name], document), ...notes }
}

const objectRoot = (document: JsonObject): ObjectSchema => {
  const { type: _, ...rest } = document
  return { type: "object", ...rest }
}
const isObjectRoot = (node: unknown, document: JsonObject): boolean => {
  const { anyOf, oneOf, type } = resolve(node, document)
  const members = anyOf ?? oneOf
  return type === "object" || (Array.isArray(members) && members.every((member) => isObjectRoot(member, document)))
}

const isNote = (key: string): boolean =>
  isVendorKey(key) || ["title", "description", "default", "examples", "readOnly", "writeOnly"].includes(key)

// Removes redundant output from the schema module: objects are open anyway, and a key's annotations arrive in an
// `allOf`.
const tidy = (schema: JsonObject): JsonObject => {
  const sub = (value: unknown): unknown =>
    Array.isArray(value) ? value.map(sub) : isJsonObject(value) ? tidy(value) : value
  const { additionalProperties, allOf, ...rest } = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => {
      if (["properties", "patternProperties"].includes(key) && isJsonObject(value)) return [key, mapValues(value, sub)]
      return [key, applicators.includes(key) ? sub(value) : value]
    })
  )
  const open = additionalProperties === undefined || additionalProperties === true || isEmpty(additionalProperties)
  const out = open ? scalar(rest) : { ...rest, additionalProperties }
  const members = (Array.isArray(allOf) ? allOf : []).filter(isJsonObject)
  const keys = [out, ...members].flatMap(Object.keys)
  // A check with a vendor annotation is a separate part, but the annotation describes the whole value.
  if (isScalar(out) && new Set(keys).size === keys.length) return scalar(Object.assign({}, out, ...members))
  const notes = members.filter((member) => Object.keys(member).every(isNote))
  const demands = members.filter((member) => {
    return !notes.includes(member) && !(Object.keys(member).length === 1 && member["type"] === out["type"])
  })
  const [only, ...others] = demands
  const merged = only !== undefined && others.length === 0 && Object.keys(out).every(isNote)
  return Object.assign({}, merged ? only : {}, out, ...notes, merged || only === undefined ? {} : { allOf: demands })
}
const isScalar = ({ type }: JsonObject): boolean => type === "string" || type === "number" || type === "integer"
const scalar = (node: JsonObject): JsonObject => (node["type"] === "integer" ? withoutSafeBounds(node) : node)
/** Drops the bounds of safe integers: every `Schema.Int` has them, and they would cost a model sixty characters each time. */
const withoutSafeBounds = ({ maximum, minimum, ...rest }: JsonObject): JsonObject => ({
  ...rest,
  ...(minimum === undefined || minimum === Number.MIN_SAFE_INTEGER ? undefined : { minimum }),
  ...(maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? undefined : { maximum })
})
const applicators = ["anyOf", "oneOf", "allOf", "prefixItems", "items", "additionalProperties", "not", "propertyNames"]
const isEmpty = (value: unknown): boolean => isJsonObject(value) && Object.keys(value).length === 0
