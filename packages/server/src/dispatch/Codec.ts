/** The coders of a method that is only known at run time: the place where the types of the method table end. */
import * as Codecs from "@effect-mcp/protocol/Codecs"
import type { MethodCodec, Revision } from "@effect-mcp/protocol/Revision"

type Coders = Codecs.Coders<unknown, unknown>
const known = new WeakMap<Revision, Map<string, Coders>>()

/** Nothing for a method that the revision lacks. */
export const codecOf = (revision: Revision, method: string): Coders | undefined => {
  const methods = known.get(revision) ?? remember(revision)
  const found = methods.get(method)
  if (found !== undefined) return found
  const coders = find(revision, method)
  // Only methods that there are: a client may say anything.
  if (coders !== undefined) methods.set(method, coders)
  return coders
}

const remember = (revision: Revision): Map<string, Coders> => {
  const methods = new Map<string, Coders>()
  known.set(revision, methods)
  return methods
}

const find = (revision: Revision, method: string): Coders | undefined => {
  const table: { readonly [method: string]: MethodCodec<any, any> | undefined } = revision.requests
  const codec = Object.hasOwn(table, method) ? table[method] : undefined
  return codec === undefined ? undefined : Codecs.coders(codec)
}
