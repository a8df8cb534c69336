/** Completers of prompt arguments, attached to the schemas of the arguments. */

/** Suggests values for the text typed so far. `context` has the arguments that are already set. */
export type CompleteCallback = (
  value: string,
  context?: { arguments?: { [name: string]: string } | undefined }
) => ReadonlyArray<string> | PromiseLike<ReadonlyArray<string>>

/** Keyed by schema, because schemas of other libraries cannot have our fields. */
const completers = new WeakMap<object, CompleteCallback>()

/** Attaches a completer to the schema of an argument and returns the schema. */
export const completable = <S extends object>(schema: S, complete: CompleteCallback): S => {
  completers.set(schema, complete)
  return schema
}

/** Returns the completer of a field, even inside wrappers such as zod's `optional()`. */
export const completerOf = (field: unknown): CompleteCallback | undefined => {
  for (let schema = field; typeof schema === "object" && schema !== null;) {
    const found = completers.get(schema)
    if (found !== undefined) return found
    const definition: unknown = "_def" in schema ? schema._def : undefined
    schema =
      typeof definition === "object" && definition !== null && "innerType" in definition
        ? definition.innerType
        : undefined
  }
  return undefined
}

export const isCompletable = (schema: unknown): boolean => completerOf(schema) !== undefined
