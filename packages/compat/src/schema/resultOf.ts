/** Validates values with a program's schema. */
import type { StandardSchemaV1 } from "@standard-schema/spec"

type Issues = ReadonlyArray<StandardSchemaV1.Issue>
type Parsed =
  | { readonly success: true; readonly data: unknown }
  | { readonly success: false; readonly error: { readonly issues: Issues } }

/** A schema of zod 3 or 4. */
export interface Zod {
  readonly safeParseAsync: (value: unknown) => Promise<Parsed>
}

export const isZod = (u: object): u is Zod =>
  ("_zod" in u || "_def" in u) && "safeParseAsync" in u && typeof u.safeParseAsync === "function"

/**
 * Returns the decoded value, or the issues. Avoids zod's own `validate`, which tries every schema synchronously first: asynchronous
 * refinements would run twice, and nothing would handle the rejection of the first run.
 */
export const resultOf = async (
  schema: StandardSchemaV1 | Zod,
  value: unknown
): Promise<StandardSchemaV1.Result<unknown>> => {
  if (!isZod(schema)) return schema["~standard"].validate(value)
  const parsed = await schema.safeParseAsync(value)
  return parsed.success ? { value: parsed.data } : { issues: parsed.error.issues }
}

/** True for a schema, as opposed to the options that may take its place. */
export const isSchema = (u: unknown): u is StandardSchemaV1 => typeof u === "object" && u !== null && "~standard" in u

/** Returns the decoded value. Throws the error that is made from the issues' texts. */
export const checked = async <S extends StandardSchemaV1>(
  schema: S,
  value: unknown,
  error: (issues: string) => Error
): Promise<StandardSchemaV1.InferOutput<S>> => {
  const result = await resultOf(schema, value)
  if (result.issues !== undefined) throw error(result.issues.map(({ message }) => message).join("; "))
  return result.value
}
