/**
 * A model schema as a plain predicate: what `Schema.is` says, without a parser's steps. Every message passes through one twice, so this
 * is the hot path of all codecs.
 *
 * Knows what the model is made of (structs of optional keys, records, arrays, unions, literals); whatever else it meets it leaves to
 * `Schema.is`. A property test holds it against that.
 */
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import { isJsonObject } from "./JsonObject.ts"
import { lazy } from "./lazy.ts"

export type Check = (value: unknown) => boolean

/** The annotation by which a declaration says its own predicate. */
export const predicate = "@effect-mcp/protocol/predicate"

const always: Check = () => true
const deferred = (make: () => Check): Check => {
  const made = lazy(make)
  return (value) => made()(value)
}

const isPredicate = (u: unknown): u is Check => typeof u === "function"

/** The predicate of a schema that does not transform. */
export const compile = (ast: SchemaAST.AST): Check => {
  if (ast.checks !== undefined || ast.encoding !== undefined) return plain(ast)
  switch (ast._tag) {
    case "String":
      return (value) => typeof value === "string"
    case "Boolean":
      return (value) => typeof value === "boolean"
    case "Unknown":
      return always
    case "Undefined":
      return (value) => value === undefined
    case "Literal":
      return (value) => value === ast.literal
    case "Suspend":
      return deferred(() => compile(ast.thunk()))
    case "Declaration": {
      const own = ast.annotations?.[predicate]
      return isPredicate(own) ? own : plain(ast)
    }
    case "Arrays": {
      const [item] = ast.rest
      return item !== undefined && ast.rest.length === 1 && ast.elements.length === 0
        ? arrayOf(compile(item))
        : plain(ast)
    }
    case "Union":
      return ast.options?.mode === "oneOf" ? plain(ast) : anyOf(ast.types.map(compile))
    case "Objects":
      return compileObject(ast)
    default:
      return plain(ast)
  }
}

const plain = (ast: SchemaAST.AST): Check => deferred(() => Schema.is(Schema.make<Schema.Codec<unknown>>(ast)))

const arrayOf =
  (item: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(item)

const anyOf =
  (members: ReadonlyArray<Check>): Check =>
  (value) => {
    for (const member of members) if (member(value)) return true
    return false
  }

interface Property {
  readonly optional: boolean
  readonly check: Check
}

const compileObject = (ast: SchemaAST.Objects): Check => {
  const { indexSignatures, propertySignatures } = ast
  // `{}` takes more than objects; and only records of whatever value need no look at their values.
  const open = indexSignatures.every(
    ({ parameter, type }) => SchemaAST.isString(parameter) && SchemaAST.isUnknown(type) && type.checks === undefined
  )
  if (!open || (propertySignatures.length === 0 && indexSignatures.length === 0)) return plain(ast)
  const properties = new Map<string, Property>()
  let required = 0
  for (const { name, type } of propertySignatures) {
    // What every object has by its prototype is there without being met below.
    if (typeof name !== "string" || name in Object.prototype) return plain(ast)
    const optional = SchemaAST.isOptional(type)
    properties.set(name, { optional, check: compile(type) })
    if (!optional) required++
  }
  return (value) => {
    if (!isJsonObject(value)) return false
    // Over what is there: most of what a schema names is not.
    let found = 0
    for (const name in value) {
      const property = properties.get(name)
      if (property === undefined) continue
      if (!property.check(value[name])) return false
      if (!property.optional) found++
    }
    return found === required
  }
}
