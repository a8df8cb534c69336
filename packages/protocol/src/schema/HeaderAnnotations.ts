/** The arguments of an Effect schema that headers mirror, without the maker of JSON Schemas: a client sends them, a server checks the rules. */
import type * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import type { JsonObject } from "../internal/JsonObject.ts"
import { annotation } from "../wire/HeaderParams.ts"
import { wireSchema } from "./WireSchema.ts"

/** The annotation of a part: that of its key first, as in its JSON Schema. */
const named = (ast: SchemaAST.AST): JsonObject | undefined => {
  const notes = [ast.context, ast, ...(ast.checks ?? [])].map((part) => part?.annotations?.[annotation])
  const name = notes.find((note) => note !== undefined)
  // Any type that a header can have: the server has checked it.
  return name === undefined ? undefined : { type: "string", [annotation]: name }
}

const annotated = (ast: SchemaAST.AST, above: ReadonlyArray<SchemaAST.AST> = []): JsonObject => {
  // A recursive part is a reference, by which no argument is reached.
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

/** As much of the JSON Schema of a tool's input as `HeaderParams.parse` reads. */
export const headerAnnotations = (schema: Schema.Constraint): JsonObject =>
  annotated(SchemaAST.toEncoded(wireSchema(schema).ast))
