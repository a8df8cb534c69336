/**
 * Parses arguments from the command line: `key=value` is text, `key:=json` is JSON.
 *
 * Text is converted to the type in the argument's schema: a number, a boolean, or an array (by repeating the key). Text that cannot be
 * converted is rejected before anything is sent, while `:=` sends any JSON. All other validation is left to the server.
 */
import { closest } from "@effect-mcp/protocol/internal/closest"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { type CommandFailure, usage } from "./Exit.ts"

/** One argument, as typed. */
export type Assignment =
  | { readonly _tag: "Text"; readonly key: string; readonly value: string }
  | { readonly _tag: "Json"; readonly key: string; readonly value: unknown }

const parseJson = (text: string): Result.Result<unknown, string> =>
  Result.try({
    try: (): unknown => JSON.parse(text),
    catch: (cause) => (cause instanceof Error ? cause.message : String(cause))
  })

/** Parses `key=value` or `key:=json`. The first `=`, and a `:` right before it, decide. */
export const parse = (word: string): Result.Result<Assignment, string> => {
  const at = word.indexOf("=")
  const json = at > 0 && word[at - 1] === ":"
  const key = word.slice(0, json ? at - 1 : at)
  const text = word.slice(at + 1)
  if (at === -1) return Result.fail(`"${word}" is not an argument: write key=value, or key:=json`)
  if (key === "") return Result.fail(`"${word}" has no name before the "="`)
  if (!json) return Result.succeed({ _tag: "Text", key, value: text })
  return Result.mapBoth(parseJson(text), {
    onSuccess: (value): Assignment => ({ _tag: "Json", key, value }),
    onFailure: (reason) => `"${word}" has no JSON after ":=": ${reason}`
  })
}

/** Follows `$ref` within the same document. */
const resolve = (schema: unknown, root: JsonObject, hops = 8): JsonObject | undefined => {
  if (!isJsonObject(schema)) return undefined
  const { $ref } = schema
  if (typeof $ref !== "string") return schema
  if (hops === 0 || !$ref.startsWith("#")) return undefined
  let target: unknown = root
  for (const part of $ref.split("/").slice(1)) {
    const name = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~")
    target = isJsonObject(target) && Object.hasOwn(target, name) ? target[name] : undefined
  }
  return resolve(target, root, hops - 1)
}

/** Returns a schema's alternatives, flattened. */
const alternatives = (schema: unknown, root: JsonObject, depth = 4): ReadonlyArray<JsonObject> => {
  const resolved = resolve(schema, root)
  if (resolved === undefined) return []
  const inner = [resolved.anyOf, resolved.oneOf].flatMap((list) => (Array.isArray(list) ? list : []))
  return depth === 0 || inner.length === 0
    ? [resolved]
    : [...(resolved.type === undefined ? [] : [resolved]), ...inner.flatMap((s) => alternatives(s, root, depth - 1))]
}

/** Returns a property's schema. */
export const propertyOf = (schema: JsonObject, key: string): unknown =>
  isJsonObject(schema.properties) && Object.hasOwn(schema.properties, key) ? schema.properties[key] : undefined

/** Returns the JSON types that a schema allows, in its order. Empty if the schema doesn't specify any. */
export const typesOf = (schema: unknown, root: JsonObject): ReadonlyArray<string> => {
  const types = alternatives(schema, root).flatMap(({ const: only, enum: values, type }): ReadonlyArray<unknown> => {
    if (type !== undefined) return Array.isArray(type) ? type : [type]
    if (Array.isArray(values)) return values.map(typeOf)
    return only === undefined ? [] : [typeOf(only)]
  })
  return [...new Set(types.filter((type) => typeof type === "string"))]
}

const typeOf = (value: unknown): string => {
  if (value === null) return "null"
  return Array.isArray(value) ? "array" : typeof value
}

const numeral = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/
const articles: { readonly [type: string]: string } = {
  number: "a number",
  integer: "an integer",
  boolean: "true or false",
  null: "null",
  object: "a JSON object",
  array: "an array"
}

/** Converts text to a JSON type. Returns `undefined` if that is impossible. */
const convert = (
  text: string,
  type: string,
  schema: unknown,
  root: JsonObject
): { readonly value: unknown } | undefined => {
  switch (type) {
    case "number":
    case "integer": {
      const value = Number(text)
      const fits = numeral.test(text) && (type === "number" ? Number.isFinite(value) : Number.isSafeInteger(value))
      return fits ? { value } : undefined
    }
    case "boolean":
      return text === "true" || text === "false" ? { value: text === "true" } : undefined
    case "null":
      return text === "null" ? { value: null } : undefined
    case "object": {
      const parsed = Result.getOrUndefined(parseJson(text))
      return isJsonObject(parsed) ? { value: parsed } : undefined
    }
    case "array": {
      const parsed = text.startsWith("[") ? Result.getOrUndefined(parseJson(text)) : undefined
      if (Array.isArray(parsed)) return { value: parsed }
      const item = coerce(text, itemsOf(schema, root), root)
      return Result.isSuccess(item) ? { value: [item.success] } : undefined
    }
    default:
      return undefined
  }
}

const itemsOf = (schema: unknown, root: JsonObject): unknown =>
  alternatives(schema, root).find(({ items }) => items !== undefined)?.items

/** Converts text to the schema's type. Keeps the text if the schema allows strings or any type; otherwise uses the first type that fits. */
export const coerce = (text: string, schema: unknown, root: JsonObject): Result.Result<unknown, string> => {
  const types = typesOf(schema, root)
  if (types.length === 0 || types.includes("string")) return Result.succeed(text)
  for (const type of types) {
    const converted = convert(text, type, schema, root)
    if (converted !== undefined) return Result.succeed(converted.value)
  }
  const wanted = types.map((type) => articles[type] ?? type).join(" or ")
  return Result.fail(`"${text}" is not ${wanted}`)
}

/**
 * Combines a call's arguments. Assignments override `base`, which comes from `--args`. A key may only be repeated if its schema is an
 * array.
 */
export const assemble = (
  words: ReadonlyArray<string>,
  schema: JsonObject,
  base: JsonObject = {}
): Result.Result<JsonObject, string> =>
  Result.gen(function* () {
    const values = new Map<string, unknown>()
    for (const word of words) {
      const assignment = yield* parse(word)
      const { _tag, key } = assignment
      const property = propertyOf(schema, key)
      const value =
        _tag === "Json"
          ? assignment.value
          : yield* Result.mapError(
              coerce(assignment.value, property, schema),
              (reason) => `${key}: ${reason} (write ${key}:=... to send other JSON)`
            )
      if (!values.has(key)) {
        values.set(key, value)
        continue
      }
      const earlier = values.get(key)
      if (!Array.isArray(earlier) || !typesOf(property, schema).includes("array")) {
        return yield* Result.fail(`${key} is given twice, but it is not a list`)
      }
      values.set(key, [...earlier, ...(Array.isArray(value) ? value : [value])])
    }
    // `fromEntries` defines properties, so `__proto__` is an ordinary key.
    return { ...base, ...Object.fromEntries(values) }
  })

/** Parses the object in `--args`. */
export const parseBase = (text: string): Result.Result<JsonObject, string> =>
  Result.flatMap(
    Result.mapError(parseJson(text), (reason) => `--args is not JSON: ${reason}`),
    (value) => (isJsonObject(value) ? Result.succeed(value) : Result.fail("--args must be a JSON object"))
  )

/** Combines arguments that can only be text, as for prompts and completions. */
export const assembleText = (
  words: ReadonlyArray<string>
): Result.Result<ReadonlyArray<readonly [string, string]>, string> =>
  Result.gen(function* () {
    const entries = new Map<string, string>()
    for (const word of words) {
      const { _tag, key, value } = yield* parse(word)
      if (_tag === "Json") return yield* Result.fail(`${key}: only text can be given here, write ${key}=...`)
      if (entries.has(key)) return yield* Result.fail(`${key} is given twice`)
      entries.set(key, value)
    }
    return [...entries]
  })

/** Turns an error about arguments into exit code 2. */
export const orUsage = <A>(result: Result.Result<A, string>): Effect.Effect<A, CommandFailure> =>
  Effect.mapError(Effect.fromResult(result), usage)

/** Returns the names of a schema's required properties. */
export const requiredOf = (schema: JsonObject): ReadonlyArray<string> =>
  Array.isArray(schema.required) ? schema.required.filter((name) => typeof name === "string") : []

/** Formats a tool's arguments with their types. Optional arguments are in brackets. */
export const signature = (tool: string, schema: JsonObject): string => {
  const required = requiredOf(schema)
  const words = Object.keys(isJsonObject(schema.properties) ? schema.properties : {}).map((name) => {
    const word = `${name}=<${typesOf(propertyOf(schema, name), schema).join("|") || "any"}>`
    return required.includes(name) ? word : `[${word}]`
  })
  return ["Usage: effect-mcp call", tool, ...words].join(" ")
}

/** Explains an unknown argument name in a `key=value` word, if the schema lists its properties. `:=` accepts any name. */
export const unknownArgument = (word: string, schema: JsonObject): string | undefined => {
  const { additionalProperties, patternProperties, properties } = schema
  if (!isJsonObject(properties) || isJsonObject(additionalProperties) || patternProperties !== undefined)
    return undefined
  const assignment = Result.getOrUndefined(parse(word))
  if (assignment?._tag !== "Text" || Object.hasOwn(properties, assignment.key)) return undefined
  const near = closest(assignment.key, Object.keys(properties))
  return `${assignment.key}${near === undefined ? "" : `. Did you mean ${near}?`} (write ${assignment.key}:=... to send it anyway)`
}
