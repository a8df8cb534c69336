/**
 * Compiles a model schema to a plain predicate that returns the same result as `Schema.is` without running a parser. Every message goes
 * through a predicate twice, so this is the hot path of all codecs.
 *
 * Supports the kinds of schemas the model uses (structs with optional keys, records, arrays, unions, literals), and falls back to
 * `Schema.is` for everything else. A property test compares the two.
 */
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import { isJsonObject } from "./JsonObject.ts"
import { lazy } from "./lazy.ts"

export type Check = (value: unknown) => boolean

/** Annotation key for a declaration's own predicate. */
export const predicate = "@effect-mcp/protocol/predicate"

const always: Check = () => true
const deferred = (make: () => Check): Check => {
  const made = lazy(make)
  return (value) => made()(value)
}

const isPredicate = (u: unknown): u is Check => typeof u === "function"

/** Compiles a predicate from a schema without transformations. */
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
  // `{}` accepts more than objects. Only records with values of any type don't need to look at their values.
  const open = indexSignatures.every(
    ({ parameter, type }) => SchemaAST.isString(parameter) && SchemaAST.isUnknown(type) && type.checks === undefined
  )
  if (!open || (propertySignatures.length === 0 && indexSignatures.length === 0)) return plain(ast)
  const properties = new Map<string, Property>()
  let required = 0
  for (const { name, type } of propertySignatures) {
    // Every object inherits these properties from its prototype, even if they aren't its own.
    if (typeof name !== "string" || name in Object.prototype) return plain(ast)
    const optional = SchemaAST.isOptional(type)
    properties.set(name, { optional, check: compile(type) })
    if (!optional) required++
  }
  return (value) => {
    if (!isJsonObject(value)) return false
    // Iterates over the value's own fields, because most of the schema's fields are absent.
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
