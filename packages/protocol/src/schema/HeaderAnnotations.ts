/**
 * Finds the arguments in an Effect schema that are copied to headers, without loading the JSON Schema generator. For clients; servers check
 * the rules.
 */
import type * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import type { JsonObject } from "../internal/JsonObject.ts"
import { annotation } from "../wire/HeaderParams.ts"
import { wireSchema } from "./WireSchema.ts"

/** Returns a part's annotation. An annotation on the part's key takes precedence, as in the JSON Schema. */
const named = (ast: SchemaAST.AST): JsonObject | undefined => {
  const notes = [ast.context, ast, ...(ast.checks ?? [])].map((part) => part?.annotations?.[annotation])
  const name = notes.find((note) => note !== undefined)
  // Any type allowed in a header, because the server has checked it.
  return name === undefined ? undefined : { type: "string", [annotation]: name }
}

const annotated = (ast: SchemaAST.AST, above: ReadonlyArray<SchemaAST.AST> = []): JsonObject => {
  // A recursive part is a reference, so it cannot contain an argument.
  if (above.includes(ast)) return {}
  const within = [...above, ast]
  if (SchemaAST.isSuspend(ast)) return { ...annotated(ast.thunk(), within), ...named(ast) }
  return {
    ...named(ast),
    ...(SchemaAST.isObjects(ast) && {
      properties: Object.fromEntries(
        ast.propertySignatures.map(({ name, type }) => [String(name), annotated(type, within)])
      )
    })
  }
}

/** Returns the part of a tool's input schema that `HeaderParams.parse` reads. */
export const headerAnnotations = (schema: Schema.Constraint): JsonObject =>
  annotated(SchemaAST.toEncoded(wireSchema(schema).ast))
