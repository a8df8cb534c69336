/** The coders of a method that is only known at run time: the place where the types of the method table end. */
import * as Codecs from "@effect-mcp/protocol/Codecs"
import type { MethodCodec, Revision } from "@effect-mcp/protocol/Revision"

/** Nothing for a method that the revision lacks. */
export const codecOf = (revision: Revision, method: string): Codecs.Coders<unknown, unknown> | undefined => {
  const table: { readonly [method: string]: MethodCodec<any, any> | undefined } = revision.requests
  const codec = Object.hasOwn(table, method) ? table[method] : undefined
  return codec === undefined ? undefined : Codecs.coders(codec)
}
