/** The arguments of an Effect schema that headers mirror, without the maker of JSON Schemas: a client sends them, a server checks the rules. */
import type * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import type { JsonObject } from "../internal/JsonObject.ts"
import { annotation } from "../wire/HeaderParams.ts"
import { wireSchema } from "./WireSchema.ts"

const annotated = (ast: SchemaAST.AST): JsonObject => {
  const notes = [ast, ast.context, ...(ast.checks ?? [])].map((part) => part?.annotations?.[annotation])
  const name = notes.find((note) => note !== undefined)
  return {
    // Any type that a header can have: the server has checked it.
    ...(name === undefined ? undefined : { type: "string", [annotation]: name }),
    ...(SchemaAST.isObjects(ast) && {
      properties: Object.fromEntries(ast.propertySignatures.map(({ name, type }) => [String(name), annotated(type)]))
    })
  }
}

/** As much of the JSON Schema of a tool's input as `HeaderParams.parse` reads. */
export const headerAnnotations = (schema: Schema.Constraint): JsonObject =>
  annotated(SchemaAST.toEncoded(wireSchema(schema).ast))
