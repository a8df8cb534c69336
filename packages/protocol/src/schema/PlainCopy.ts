/**
 * Checks and copies values of plain schemas without a parser, in both directions. This is the fast path of `ValueCodec` in the core
 * package.
 *
 * Supports the schemas `PlainSchema` considers plain, plus any JSON, records, and checks on leaves. An invalid value returns `none`, and
 * the Schema then reports what is wrong with it. A property test compares the two.
 */
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import { predicate } from "../internal/Check.ts"
import { isJsonObject, type JsonObject } from "../internal/JsonObject.ts"
import { hasOnlyWords, isUnchecked } from "./PlainSchema.ts"

type AST = SchemaAST.AST
type IndexSignature = SchemaAST.Objects["indexSignatures"][number]

/** Returned instead of a copy if the value is invalid. */
export const none: unique symbol = Symbol("@effect-mcp/protocol/PlainCopy/none")

/** Returns the value as its schema would decode or encode it, or `none`. */
export type Copy = (value: unknown) => unknown

/** Maximum depth for checking arbitrary JSON. Deeper values and cycles are left to the schema. */
const maxDepth = 64
const isDeepJson = Schema.is(Schema.Json)

/** Returns a schema's copy function, or `undefined` if the schema is not plain. */
export const of = (ast: AST): Copy | undefined => {
  if (ast.encoding !== undefined || !hasOnlyWords(ast.context?.annotations)) return undefined
  if (SchemaAST.isDeclaration(ast)) {
    return ast.annotations?.[predicate] === isJsonObject && ast.checks === undefined ? jsonObject : undefined
  }
  if (!hasOnlyWords(ast.annotations)) return undefined
  switch (ast._tag) {
    case "Number":
      return numberOf(ast)
    case "String":
      return leaf(ast, (value) => typeof value === "string")
    case "Boolean":
      return leaf(ast, (value) => typeof value === "boolean")
    case "Null":
      return leaf(ast, (value) => value === null)
    case "Literal":
      return typeof ast.literal === "bigint" ? undefined : leaf(ast, (value) => value === ast.literal)
    case "Unknown":
      return ast.checks === undefined ? (value) => (isJson(value, maxDepth) ? value : none) : undefined
    case "Arrays":
      return arrayOf(ast)
    case "Union":
      return anyOf(ast)
    case "Objects":
      return objectOf(ast)
    default:
      return undefined
  }
}

const finite = Schema.Finite.ast.checks?.[0]
const int = Schema.Int.ast.checks?.[0]

/** The checks of `Schema.Finite` and `Schema.Int` need no parser. */
const numberOf = (ast: SchemaAST.Number): Copy => {
  const checks: ReadonlyArray<unknown> = ast.checks ?? []
  if (checks.some((check) => check !== finite && check !== int)) return leaf(ast, Number.isFinite)
  const is = checks.includes(int) ? Number.isSafeInteger : Number.isFinite
  return (value) => (is(value) ? value : none)
}

const leaf = (ast: AST, is: (value: unknown) => boolean): Copy => {
  if (ast.checks === undefined) return (value) => (is(value) ? value : none)
  const passes = Schema.is(Schema.make<Schema.Codec<unknown>>(ast))
  return (value) => (is(value) && passes(value) ? value : none)
}

const isJson = (value: unknown, depth: number): boolean => {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true
  if (typeof value !== "object") return Number.isFinite(value)
  if (depth === 0) return isDeepJson(value)
  if (Array.isArray(value)) {
    for (const item of value) if (!isJson(item, depth - 1)) return false
    return true
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return false
  for (const item of Object.values(value)) if (!isJson(item, depth - 1)) return false
  return true
}

const ownField = { configurable: true, enumerable: true, writable: true }

/** Copies an object's fields except for `without`. Returns false if a field is invalid. */
const copyRest = (
  value: JsonObject,
  out: Record<string, unknown>,
  copy: Copy,
  without?: ReadonlySet<string>
): boolean => {
  for (const key of Object.keys(value)) {
    if (without?.has(key) === true) continue
    const copied = copy(value[key])
    if (copied === none) return false
    // A plain assignment would set the prototype.
    if (key === "__proto__") Object.defineProperty(out, key, { ...ownField, value: copied })
    else out[key] = copied
  }
  return true
}

const anyMember: Copy = (value) => (isJson(value, maxDepth) ? value : none)

const jsonObject: Copy = (value) => {
  const out = {}
  return isJsonObject(value) && copyRest(value, out, anyMember) ? out : none
}

const arrayOf = (ast: SchemaAST.Arrays): Copy | undefined => {
  const [rest, ...others] = ast.rest
  const item =
    rest === undefined || others.length > 0 || ast.elements.length > 0 || !isUnchecked(ast) ? undefined : of(rest)
  if (item === undefined) return undefined
  return (value) => {
    if (!Array.isArray(value)) return none
    const out: Array<unknown> = []
    for (const one of value) {
      const copied = item(one)
      if (copied === none) return none
      out.push(copied)
    }
    return out
  }
}

const anyOf = (ast: SchemaAST.Union): Copy | undefined => {
  const members = ast.types.map(of).filter((copy) => copy !== undefined)
  if (members.length < ast.types.length || ast.options?.mode === "oneOf" || !isUnchecked(ast)) return undefined
  return (value) => {
    for (const member of members) {
      const copied = member(value)
      if (copied !== none) return copied
    }
    return none
  }
}

interface Property {
  readonly name: string
  readonly optional: boolean
  readonly copy: Copy
}

/**
 * Copies the fields of a record. `named` is true if there are also struct fields, which the Schema checks against the record's type too.
 */
const restOf = ({ parameter, type }: IndexSignature, named: boolean): Copy | undefined => {
  const isAnyKey = SchemaAST.isString(parameter) && parameter.checks === undefined && parameter.encoding === undefined
  if (!isAnyKey || (named && type._tag !== "Unknown")) return undefined
  return of(type)
}

const objectOf = (ast: SchemaAST.Objects): Copy | undefined => {
  const { indexSignatures, propertySignatures } = ast
  const [index, ...others] = indexSignatures
  if (!isUnchecked(ast) || others.length > 0 || (index === undefined && propertySignatures.length === 0)) {
    return undefined
  }
  const properties: Array<Property> = []
  // Checked first, because they distinguish the members of a union.
  const tags: Array<readonly [name: string, literal: unknown]> = []
  for (const { name, type } of propertySignatures) {
    const copy = of(type)
    if (typeof name !== "string" || name === "__proto__" || copy === undefined) return undefined
    const optional = SchemaAST.isOptional(type)
    properties.push({ name, optional, copy })
    if (SchemaAST.isLiteral(type) && !optional) tags.push([name, type.literal])
  }
  const rest = index === undefined ? undefined : restOf(index, properties.length > 0)
  if (index !== undefined && rest === undefined) return undefined
  const names = new Set(properties.map(({ name }) => name))
  return (value) => {
    if (!isJsonObject(value)) return none
    for (const [name, literal] of tags) if (value[name] !== literal) return none
    const out: Record<string, unknown> = {}
    for (const { copy, name, optional } of properties) {
      if (!(name in value)) {
        if (optional) continue
        return none
      }
      const copied = copy(value[name])
      if (copied === none) return none
      out[name] = copied
    }
    return rest === undefined || copyRest(value, out, rest, names) ? out : none
  }
}
