/**
 * Decides whether a schema is plain: structs, arrays and unions of strings, booleans and numbers, with only titles and descriptions as
 * annotations.
 *
 * A plain schema is guaranteed to have a JSON form that every host accepts, so its JSON Schema can be generated when a client first asks for
 * it without any risk of a late error or warning. Unknown kinds of schemas are not plain.
 */
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import { lazy } from "../internal/lazy.ts"
import { isPropertyName } from "./portability/vocabulary.ts"

type AST = SchemaAST.AST

/** Calls `make(schema)` immediately. For a plain struct, for which `make` cannot fail, it is called on first use instead. */
export const later = <S extends Schema.Constraint, A>(schema: S, make: (schema: S) => A): (() => A) => {
  const made = lazy(() => make(schema))
  if (!isPlainStruct(schema.ast)) made()
  return made
}

/** True if a schema is a struct with only plain parts. */
export const isPlainStruct = (ast: AST): boolean => SchemaAST.isObjects(ast) && isPlain(ast)

const isPlain = (ast: AST): boolean => {
  if (ast.encoding !== undefined || !hasOnlyWords(ast.annotations) || !hasOnlyWords(ast.context?.annotations))
    return false
  switch (ast._tag) {
    case "Number":
      return (ast.checks ?? []).every(isNumeric)
    case "String":
    case "Boolean":
    case "Null":
      return ast.checks === undefined
    case "Literal":
      return ast.checks === undefined && typeof ast.literal === "string"
    case "Arrays":
      return isUnchecked(ast) && ast.elements.length === 0 && ast.rest.length === 1 && ast.rest.every(isPlain)
    case "Union":
      return isUnchecked(ast) && ast.types.length > 0 && ast.types.every(isPlain)
    case "Objects": {
      const { indexSignatures, propertySignatures } = ast
      return (
        isUnchecked(ast) &&
        indexSignatures.length === 0 &&
        propertySignatures.every(({ name, type }) => typeof name === "string" && isPropertyName(name) && isPlain(type))
      )
    }
    default:
      return false
  }
}

/** True if there are only titles and descriptions. */
export const hasOnlyWords = (annotations: object | undefined): boolean =>
  annotations === undefined || Object.keys(annotations).every((key) => key === "title" || key === "description")

/** True if no check applies to a composite schema. */
export const isUnchecked = (ast: SchemaAST.Arrays | SchemaAST.Union | SchemaAST.Objects): boolean =>
  ast.checks === undefined && ast.encodingChecks === undefined

/** True if the check is the built-in check of `Schema.Finite` or `Schema.Int`. */
const isNumeric = ({ annotations }: SchemaAST.Check<never>): boolean =>
  [Schema.Finite, Schema.Int].some(({ ast }) => {
    const own = ast.checks?.[0].annotations
    return (
      own !== undefined &&
      annotations !== undefined &&
      Object.keys(own).every((key) => annotations[key] === own[key]) &&
      Object.keys(annotations).every((key) => key in own || key === "title" || key === "description")
    )
  })
