/**
 * Rows of the downgrade table, and a function that applies them to values at any depth.
 *
 * Each row concerns one named model type (`Tool`, `AudioContent`). `compile` walks a schema once to find the named
 * types in it, and returns a function that rewrites their values. Everything else keeps its identity. A schema without
 * such types needs no rewrite. A row either returns a value or rejects it.
 */
import type * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import { isJsonObject, type JsonObject } from "../model/Shape.ts"
import type { Version } from "./types.ts"

/** Called if the revision cannot express the value. `what` completes "cannot express ". */
type Refuse = (what: string) => void

/**
 * Defines how a value is encoded for revisions that don't support it: omitted, as text, in another form, or rejected.
 * `since` is the first revision with the feature, or in `Removed` the first without it. `field` is the field that the
 * row concerns. If it is absent, the row concerns the whole type.
 */
export interface RewriteRow {
  readonly type: string
  readonly field: string | undefined
  readonly since: Version
  readonly how: "drop" | "text" | "rewrite" | "error"
  readonly apply: (value: JsonObject, refuse: Refuse) => unknown
}

const without = (value: JsonObject, field: string): JsonObject => {
  if (!(field in value)) return value
  const { [field]: _dropped, ...rest } = value
  return rest
}

const typeOf = (schema: Schema.Top): string => SchemaAST.resolveIdentifier(schema.ast) ?? ""

/** Creates rows that drop fields from a type. */
export const dropFrom = (
  schema: Schema.Top,
  since: Version,
  ...fields: ReadonlyArray<string>
): ReadonlyArray<RewriteRow> =>
  fields.map((field) => ({
    type: typeOf(schema),
    field,
    since,
    how: "drop",
    apply: (value) => without(value, field)
  }))

/** Creates rows for one type. */
export const rowsOf = <F extends Schema.Struct.Fields>(schema: Schema.Struct<F>) => {
  const type = typeOf(schema)
  type Value = Schema.Struct<F>["Type"]
  return {
    /** Creates rows that drop fields. */
    drop: (since: Version, ...fields: ReadonlyArray<keyof F & string>): ReadonlyArray<RewriteRow> =>
      dropFrom(schema, since, ...fields),
    /** Creates a row that replaces the value with the return value of `f`. */
    change: (
      since: Version,
      how: RewriteRow["how"],
      field: (keyof F & string) | undefined,
      f: (value: Value, refuse: Refuse) => unknown
    ): RewriteRow => ({
      type,
      field,
      since,
      how,
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the codec has just checked the value against `schema`
      apply: (value, refuse) => f(value as Value, refuse)
    })
  }
}

export type Rewrite = (value: unknown, refuse: Refuse) => unknown

/** A rewrite, and the rows it applies. */
export interface Compiled {
  readonly rewrite: Rewrite
  readonly rows: ReadonlySet<RewriteRow>
}

const isCompiled = (u: Compiled | undefined): u is Compiled => u !== undefined
const rowsIn = (parts: ReadonlyArray<Compiled>, own: ReadonlyArray<RewriteRow> = []): ReadonlySet<RewriteRow> =>
  new Set([...own, ...parts.flatMap((part) => [...part.rows])])

/** Returns a rewrite that applies the rows to all values in a schema, or `undefined` if no row applies. */
export const compile = (ast: SchemaAST.AST, rows: ReadonlyArray<RewriteRow>): Compiled | undefined => {
  switch (ast._tag) {
    case "Objects":
      return compileObject(ast, rows)
    case "Arrays": {
      const item = ast.rest[0] === undefined ? undefined : compile(ast.rest[0], rows)
      return item && { rewrite: arrayOf(item.rewrite), rows: item.rows }
    }
    case "Union": {
      const members = ast.types.map((member) => ({ fits: fits(member), compiled: compile(member, rows) }))
      const parts = members.map((member) => member.compiled).filter(isCompiled)
      if (parts.length === 0) return undefined
      const rewrite: Rewrite = (value, refuse) => {
        const member = members.find((member) => member.fits(value))?.compiled
        return member === undefined ? value : member.rewrite(value, refuse)
      }
      return { rewrite, rows: rowsIn(parts) }
    }
    default:
      return undefined
  }
}

const compileObject = (ast: SchemaAST.Objects, rows: ReadonlyArray<RewriteRow>): Compiled | undefined => {
  const name = SchemaAST.resolveIdentifier(ast)
  const own = rows.filter((row) => row.type === name)
  const fields = ast.propertySignatures.flatMap((property) => {
    const compiled = compile(property.type, rows)
    return compiled && typeof property.name === "string" ? [{ key: property.name, compiled }] : []
  })
  const rest = ast.indexSignatures.map((index) => compile(index.type, rows)).find(isCompiled)
  const parts = [...fields.map((field) => field.compiled), ...(rest === undefined ? [] : [rest])]
  if (own.length === 0 && parts.length === 0) return undefined
  const rewrite: Rewrite = (value, refuse) => {
    let out = value
    for (const row of own) out = isJsonObject(out) ? row.apply(out, refuse) : out
    for (const { key, compiled } of fields) out = at(out, key, compiled.rewrite, refuse)
    if (rest !== undefined && isJsonObject(out)) {
      for (const key of Object.keys(out)) out = at(out, key, rest.rewrite, refuse)
    }
    return out
  }
  return { rewrite, rows: rowsIn(parts, own) }
}

const at = (value: unknown, key: string, rewrite: Rewrite, refuse: Refuse): unknown => {
  if (!isJsonObject(value) || !(key in value)) return value
  const next = rewrite(value[key], refuse)
  return next === value[key] ? value : { ...value, [key]: next }
}

const arrayOf =
  (item: Rewrite): Rewrite =>
  (value, refuse) => {
    if (!Array.isArray(value)) return value
    let next: Array<unknown> | undefined
    for (let i = 0; i < value.length; i++) {
      const element: unknown = item(value[i], refuse)
      if (element !== value[i]) (next ??= [...value])[i] = element
    }
    return next ?? value
  }

/** True if a checked value belongs to this member of a union. Required keys and literals are enough to decide that in this model. */
const fits = (ast: SchemaAST.AST): ((value: unknown) => boolean) => {
  if (ast._tag === "Arrays") return Array.isArray
  if (ast._tag === "Union") {
    const members = ast.types.map(fits)
    return (value) => members.some((member) => member(value))
  }
  if (ast._tag === "Literal") return (value) => value === ast.literal
  if (ast._tag !== "Objects") return () => false
  const required = ast.propertySignatures
    .filter((property) => !SchemaAST.isOptional(property.type))
    .map((property) => ({ key: String(property.name), fits: isLiteral(property.type) ? fits(property.type) : isAny }))
  return (value) => isJsonObject(value) && required.every(({ key, fits }) => key in value && fits(value[key]))
}

const isAny = () => true
const isLiteral = (ast: SchemaAST.AST): boolean =>
  ast._tag === "Literal" || (ast._tag === "Union" && ast.types.every(isLiteral))
