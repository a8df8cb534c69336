/**
 * Which schemas are plain: structs, arrays and unions of strings, booleans and numbers, with no annotations but titles and descriptions.
 *
 * Owns the decision whether a JSON Schema may be made when a client first asks for it. A plain schema certainly has a JSON form, so no
 * mistake is found late. A schema that is not known here is not plain.
 */
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import { lazy } from "../internal/lazy.ts"

type AST = SchemaAST.AST

/** `make(schema)`, made at once unless the schema is a plain struct, for which `make` cannot fail: then on the first call. */
export const later = <S extends Schema.Constraint, A>(schema: S, make: (schema: S) => A): (() => A) => {
  const made = lazy(() => make(schema))
  if (!isPlainStruct(schema.ast)) made()
  return made
}

/** Whether a schema is a struct of plain parts. */
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
      return ast.checks === undefined && typeof ast.literal !== "bigint"
    case "Arrays":
      return isUnchecked(ast) && ast.elements.length === 0 && ast.rest.length === 1 && ast.rest.every(isPlain)
    case "Union":
      return isUnchecked(ast) && ast.types.length > 0 && ast.types.every(isPlain)
    case "Objects": {
      const { indexSignatures, propertySignatures } = ast
      return (
        isUnchecked(ast) &&
        indexSignatures.length === 0 &&
        propertySignatures.every(({ name, type }) => typeof name === "string" && isPlain(type))
      )
    }
    default:
      return false
  }
}

/** Whether annotations only describe. */
export const hasOnlyWords = (annotations: object | undefined): boolean =>
  annotations === undefined || Object.keys(annotations).every((key) => key === "title" || key === "description")

/** Whether no check is on a schema of several parts. */
export const isUnchecked = (ast: SchemaAST.Arrays | SchemaAST.Union | SchemaAST.Objects): boolean =>
  ast.checks === undefined && ast.encodingChecks === undefined

/** Whether a check is that of `Schema.Finite` or `Schema.Int` itself. */
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
