/** The method that a handler is for: its name, or as in v1 a schema of its requests that contains the name as a literal. */
import type { StandardSchemaV1 } from "@standard-schema/spec"

/** A schema of one method's requests, from zod or from `types.js`. */
export interface RequestSchema extends StandardSchemaV1 {
  readonly shape: { readonly method: unknown }
}

/** The method of a schema. */
export type MethodOf<S extends RequestSchema> = StandardSchemaV1.InferOutput<S> extends { method: infer M } ? M : string

/** Vendor of the schemas in `types.js`. */
export const vendor = "effect-mcp"

/** True if the actor has already validated the handler's input: for a method of MCP, given by name or by a schema of `types.js`. */
export const isOwn = (method: string | RequestSchema): method is string =>
  typeof method === "string" || method["~standard"].vendor === vendor

const isObject = (u: unknown): u is { readonly [key: string]: unknown } => typeof u === "object" && u !== null

/** Returns the value of a literal schema, from zod 3 or 4 or from this package. */
const literalOf = (schema: unknown): unknown => {
  if (!isObject(schema)) return undefined
  const { _def, value } = schema
  return value ?? (isObject(_def) ? _def["value"] : undefined)
}

export const methodOf = (method: string | RequestSchema): string => {
  const name = typeof method === "string" ? method : literalOf(method.shape.method)
  if (typeof name === "string") return name
  throw new TypeError("Pass the method's name, or a schema with a literal method")
}
