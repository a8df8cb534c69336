/** Completers of prompt arguments, attached to the schemas of their fields. */

/** Suggests values for what was typed so far; `context` has the arguments that are set already. */
export type CompleteCallback = (
  value: string,
  context?: { arguments?: { [name: string]: string } | undefined }
) => ReadonlyArray<string> | PromiseLike<ReadonlyArray<string>>

const completers = new WeakMap<object, CompleteCallback>()

/** Gives the schema back, with a completer for the argument that it describes. */
export const completable = <S extends object>(schema: S, complete: CompleteCallback): S => {
  completers.set(schema, complete)
  return schema
}

/** The completer of a field, also below `optional()` and the like of zod. */
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
