/**
 * JSON Schema 2020-12 for Effect schemas, and the codecs that decode exactly what those documents describe.
 *
 * Owns what is advertised for tool input, tool output and elicitation forms. A document describes the JSON side of a schema
 * (`WireSchema` owns the form of values), decode with `codec` and never with the schema itself. Objects stay open:
 * a field that the schema does not have is accepted and dropped. Refuses roots that MCP cannot carry.
 *
 * *Gotcha*: JSON Schema counts characters as code points and Effect as UTF-16 units. So a `minLength` above 1 is advertised as
 * half of it, except in elicitation forms. Neither custom filters nor the bounds of safe integers are advertised: the decoder
 * has the last word.
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
/** A document whose root has `type: "object"`, as MCP requires of tool input. */
export type ObjectSchema = JsonObject & { readonly type: "object" }

/** A field that an elicitation form cannot show; `field` is its name, or empty for the schema as a whole. */
export class InvalidElicitationSchema extends Data.TaggedError("InvalidElicitationSchema")<{
  readonly field: string
  readonly reason: string
}> {
  override get message(): string {
    return `${this.field === "" ? "The form" : `Field "${this.field}"`} ${this.reason}`
  }
}

/**
 * The codec between a schema's values and the JSON that `fromSchema` describes. Make it once, not per call.
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
 * The JSON Schema (2020-12, without `$schema`) of a schema's JSON form; recursion and named schemas go to `$defs`.
 *
 * Throws `InvalidToolSchema` for schemas without a JSON form. Annotations `title`, `description`, `default`, `examples`,
 * `format` and all `x-*` keys are kept.
 */
export const fromSchema = (schema: Schema.Constraint): JsonObject => {
  const { definitions, schema: described } = documentOf(schema)
  const root = tidy(described)
  const defs = mapValues(definitions, tidy)
  const name = definitionName(root)
  if (name === undefined) return withDefs(root, defs)
  // MCP wants the root itself, not a reference to it; the definition stays only where another reference needs it.
  const { [name]: named, ...others } = defs
  const { $ref, ...notes } = root
  const recursive = JSON.stringify([named, others]).includes(JSON.stringify($ref))
  return withDefs({ ...named, ...notes }, recursive ? defs : others)
}

/**
 * The input schema of a tool; throws `InvalidToolSchema` unless every value is a JSON object.
 *
 * The document of an empty struct refuses all properties, as the specification recommends; its codec drops them.
 */
export const input = (schema: Schema.Constraint): ObjectSchema => {
  const document = fromSchema(schema)
  if (!isObjectRoot(document, document)) {
    throw new InvalidToolSchema({
      reason:
        "The input of a tool must be a JSON object, such as a Schema.Struct or a union of them, but this schema " +
        `describes ${excerpt(JSON.stringify(document))}`
    })
  }
  const { ast } = schema
  const empty = SchemaAST.isObjects(ast) && ast.propertySignatures.length + ast.indexSignatures.length === 0
  return objectRoot(empty ? { ...document, additionalProperties: false } : document)
}

/** The output schema of a tool; `isObject: false` means that only 2026-07-28 can carry it (as the schema and as a value). */
export const output = (
  schema: Schema.Constraint
):
  | { readonly schema: ObjectSchema; readonly isObject: true }
  | { readonly schema: JsonObject; readonly isObject: false } => {
  const document = fromSchema(schema)
  return isObjectRoot(document, document)
    ? { schema: objectRoot(document), isObject: true }
    : { schema: document, isObject: false }
}

/** Strings for an elicitation field or a tool argument, each with the title to show for it: `{ "#F00": "Red" }`. */
export const titled = <const Titles extends { readonly [value: string]: string }>(
  titles: Titles
): Schema.Codec<keyof Titles & string> =>
  Schema.make(
    new SchemaAST.Union(Object.entries(titles).map(([value, title]) => new SchemaAST.Literal(value, { title })))
  )

/**
 * The form schema that asks a user for a schema's fields: strings, finite numbers, booleans, and one or several of `Literals`.
 *
 * Answers are decoded with `codec`, so a field may also be a date or a URL. Examples and vendor keys are left out.
 * Fails where the revisions' restricted form schema cannot say what a field demands (2025-11-25, client/elicitation).
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

/** The form schema of a JSON Schema document; `minLengthOf` gives the bound of a field's length where the document has another one. */
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
      if (!isPrimitive(form)) return yield* Result.fail(unfit(field, "has a default of another type"))
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

/** A form field, or why there is none. */
const formField = (node: JsonObject, exactMinLength: number | undefined): JsonObject | string => {
  const { default: _, description: __, examples: ___, title: ____, ...rest } = node
  const demands = Object.fromEntries(Object.entries(rest).filter(([key]) => !isNote(key)))
  const notes = pick(node, "title", "description", "default")
  const only = (allowed: ReadonlyArray<string>, field: JsonObject): JsonObject | string => {
    const key = Object.keys(demands).find((key) => !allowed.includes(key))
    return key === undefined ? { ...notes, ...field } : `uses ${JSON.stringify(key)}, which a form cannot show`
  }
  const single = choices(node)
  if (single !== undefined) return only(["type", "enum", "anyOf"], { type: "string", ...select(single, "oneOf") })
  switch (node["type"]) {
    case "boolean":
      return only(["type"], { type: "boolean" })
    case "string": {
      const { format } = node
      if (format !== undefined && !formats.includes(format)) {
        return `has the format ${JSON.stringify(format)}; a form knows ${formats.join(", ")}`
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
      if (several === undefined) return "is an array of something else than literal strings"
      const items = select(several, "anyOf")
      return only(["type", "items", "minItems", "maxItems", "uniqueItems"], {
        ...pick(node, "type", "minItems", "maxItems"),
        items: "enum" in items ? { type: "string", ...items } : items
      })
    }
    case "object":
      return "is an object; a form is flat"
    default:
      return "is not one string, number, boolean or choice"
  }
}

const formats: ReadonlyArray<unknown> = ["email", "uri", "date", "date-time"]

const bound = (inclusive: unknown, exclusive: unknown, step: 1 | -1): number | undefined => {
  const bounds = [inclusive, typeof exclusive === "number" ? exclusive + step : undefined]
  const numbers = bounds.filter((n) => typeof n === "number" && Math.abs(n) !== Number.MAX_SAFE_INTEGER)
  return numbers.length === 0 ? undefined : Math.max(...numbers.map((n) => Number(n) * step)) * step
}

/** The strings among which a schema chooses, with their titles. */
const choices = (node: JsonObject): ReadonlyArray<{ readonly const: string; readonly title?: string }> | undefined => {
  const members = Array.isArray(node["anyOf"]) ? node["anyOf"] : [node]
  const found = members.flatMap((member: unknown) => {
    if (!isJsonObject(member) || member["type"] !== "string" || !Array.isArray(member["enum"])) return [undefined]
    const title = members.length > 1 && typeof member["title"] === "string" ? { title: member["title"] } : {}
    return member["enum"].map((value) => ({ const: String(value), ...title }))
  })
  return found.every((choice) => choice !== undefined) ? found : undefined
}

/** Choices as MCP writes them: an `enum`, or titled constants under the given keyword. */
const select = (members: NonNullable<ReturnType<typeof choices>>, keyword: "oneOf" | "anyOf"): JsonObject =>
  members.some((member) => member.title !== undefined)
    ? { [keyword]: members.map((member) => ({ title: member.const, ...member })) }
    : { enum: members.map((member) => member.const) }

/** The `minLength` that the decoder demands of a string; see the gotcha above. */
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
        "Give it one by the annotation toCodec, or use a schema that has one, such as a Schema.Struct"
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

/** A node with its reference into `$defs` resolved; keywords beside the reference take precedence. */
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

// Removes redundant output of the schema module: objects are open anyway, and annotations of a key arrive in an `allOf`.
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
  // A check with an annotation of a vendor stands in a part of its own, but the annotation describes the whole value.
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
/** Every integer of `Schema.Int` is a safe one: its bounds would cost a model sixty characters each time. */
const withoutSafeBounds = ({ maximum, minimum, ...rest }: JsonObject): JsonObject => ({
  ...rest,
  ...(minimum === undefined || minimum === Number.MIN_SAFE_INTEGER ? undefined : { minimum }),
  ...(maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? undefined : { maximum })
})
const applicators = ["anyOf", "oneOf", "allOf", "prefixItems", "items", "additionalProperties", "not", "propertyNames"]
const isEmpty = (value: unknown): boolean => isJsonObject(value) && Object.keys(value).length === 0
