/** Generates values from JSON Schemas: valid ones and almost valid ones. Sizes and numbers are kept small, so that no call is expensive. */
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { example } from "./example.ts"

export type Values = Arbitrary.Arbitrary<unknown>

/** Uniform indices, by the number of choices. Effect's integers are not uniform. */
const indices: Array<Arbitrary.Arbitrary<number> | undefined> = []
const below = (count: number): Arbitrary.Arbitrary<number> =>
  (indices[count] ??= Arbitrary.schema(Schema.Literals(Array.from({ length: count }, (_, index) => index)), {
    shrink: (index) => Array.from({ length: index }, (_, smaller) => smaller)
  }))

/**
 * Picks one of the given arbitraries, all with equal probability. At least one is required. Shrinking prefers earlier ones, so list the
 * simplest first.
 */
export const choose = <A>(...arbitraries: ReadonlyArray<Arbitrary.Arbitrary<A>>): Arbitrary.Arbitrary<A> => {
  const [first] = arbitraries
  if (first === undefined) throw new Error("There is nothing to choose from")
  if (arbitraries.length === 1) return first
  return Arbitrary.flatMap(below(arbitraries.length), (index) => arbitraries[index] ?? first)
}

/** Picks one of the given values. At least one is required. */
export const oneOf = <const A>(...values: ReadonlyArray<A>): Arbitrary.Arbitrary<A> => {
  const boxes = values.map((value) => ({ value }))
  const [first] = boxes
  if (first === undefined) throw new Error("There is nothing to choose from")
  if (boxes.length === 1) return Arbitrary.Constant(first.value)
  return Arbitrary.map(below(boxes.length), (index) => (boxes[index] ?? first).value)
}

/** Below this depth, only the smallest values are generated. */
const maxDepth = 5
const texts = oneOf("a", "", "fuzz", "é\u2028😀", "0", "null", "__proto__", " ", "x".repeat(300))
const anything: Values = oneOf<unknown>(null, "", 0, false, [], {}, "fuzz", 1.5, [[]], { a: { b: null } })
/** Values of all types, for use where another type is expected. */
const wrong: Values = oneOf<unknown>({ wrong: true }, [1], null, "wrong", -1.5, true)

/** Generates values that match the schema, as far as it is supported. `pattern`, `not`, `allOf` and conditions are ignored. */
export const valid = (schema: unknown): Values => of(schema, schema, 0)

const resolve = (reference: string, root: unknown): unknown =>
  reference
    .split("/")
    .slice(1)
    .reduce<unknown>((value, key) => (isJsonObject(value) ? value[key] : undefined), root)

const of = (schema: unknown, root: unknown, depth: number): Values => {
  if (!isJsonObject(schema)) return anything
  if (depth > maxDepth) return Arbitrary.Constant(example(schema))
  if (typeof schema.$ref === "string") return of(resolve(schema.$ref, root), root, depth + 1)
  if ("const" in schema) return Arbitrary.Constant(schema.const)
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return oneOf<unknown>(...schema.enum)
  const alternatives = schema.oneOf ?? schema.anyOf
  if (Array.isArray(alternatives) && alternatives.length > 0) {
    return choose(...alternatives.map((alternative) => of(alternative, root, depth + 1)))
  }
  const types: unknown = schema.type
  if (Array.isArray(types) && types.length > 0) {
    return choose(...types.map((type: unknown) => ofType({ ...schema, type }, root, depth)))
  }
  return ofType(schema, root, depth)
}

const ofType = (schema: JsonObject, root: unknown, depth: number): Values => {
  switch (schema.type) {
    case "object":
      return members(schema, root, depth)
    case "array":
      return Arbitrary.array(of(schema.items, root, depth + 1), {
        minLength: bound(schema.minItems, 0),
        maxLength: Math.max(bound(schema.minItems, 0), Math.min(3, bound(schema.maxItems, 3)))
      })
    case "string":
      return string(schema)
    case "integer":
    case "number":
      return number(schema)
    case "boolean":
      return oneOf(false, true)
    case "null":
      return Arbitrary.Constant(null)
    default:
      return "properties" in schema ? members(schema, root, depth) : anything
  }
}

const bound = (value: unknown, otherwise: number): number =>
  typeof value === "number" && value >= 0 && value <= 1000 ? Math.floor(value) : otherwise

const string = (schema: JsonObject): Values => {
  if (typeof schema.format === "string" || typeof schema.pattern === "string")
    return Arbitrary.Constant(example(schema))
  const [shortest, longest] = [bound(schema.minLength, 0), bound(schema.maxLength, 1000)]
  return Arbitrary.map(texts, (text) => text.slice(0, longest).padEnd(shortest, "z"))
}

const number = ({ exclusiveMaximum, exclusiveMinimum, maximum, minimum, type }: JsonObject): Values => {
  const low = typeof minimum === "number" ? minimum : typeof exclusiveMinimum === "number" ? exclusiveMinimum + 1 : -1
  const high =
    typeof maximum === "number" ? maximum : typeof exclusiveMaximum === "number" ? exclusiveMaximum - 1 : low + 5
  const values = [low, low + 1, high, 0, 1, 2, ...(type === "number" ? [low + 0.5] : [])]
  const fitting = values.filter(
    (value) => value >= low && value <= high && (type === "number" || Number.isInteger(value))
  )
  return fitting.length > 0 ? oneOf<unknown>(...fitting) : Arbitrary.Constant(low)
}

const absent = Symbol("absent")

const members = (schema: JsonObject, root: unknown, depth: number): Values => {
  const properties = isJsonObject(schema.properties) ? schema.properties : {}
  const required = new Set<unknown>(Array.isArray(schema.required) ? schema.required : [])
  const fields = Object.fromEntries(
    Object.entries(properties).map(([name, property]) => {
      const value = of(property, root, depth + 1)
      return [name, required.has(name) ? value : choose<unknown>(Arbitrary.Constant(absent), value)]
    })
  )
  return Arbitrary.map(Arbitrary.all(fields), (made) =>
    Object.fromEntries(Object.entries(made).filter(([, value]) => value !== absent))
  )
}

/** Generates values with a single mistake: a property is missing, has the wrong type or is unknown, or the value isn't an object at all. */
export const almost = (schema: unknown): Values => {
  const names = isJsonObject(schema) && isJsonObject(schema.properties) ? Object.keys(schema.properties) : []
  const whole = oneOf<unknown>({}, [], "wrong", null)
  if (names.length === 0) return whole
  const name = oneOf(...names)
  const without = Arbitrary.map(Arbitrary.all([valid(schema), name]), ([value, name]) => {
    const { [name]: _, ...rest } = Object(value)
    return rest
  })
  const retyped = Arbitrary.map(Arbitrary.all([valid(schema), name, wrong]), ([value, name, wrong]) => ({
    ...Object(value),
    [name]: wrong
  }))
  return choose<unknown>(without, retyped, retyped, whole)
}
