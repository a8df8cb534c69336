/** The codec of a method that is only known at run time. This is where the static types of the method tables end. */
import * as Codecs from "@effect-mcp/protocol/Codecs"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { MethodCodec, Revision } from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"

/** Decodes the params and encodes the results of one method in one revision. */
export interface Codec {
  readonly decode: (params: unknown) => Effect.Effect<unknown, McpError.McpError>
  readonly encode: (result: unknown) => Effect.Effect<unknown, McpError.McpError>
}

/** Returns the codec, or `undefined` if the revision lacks the method. */
export const codecOf = (revision: Revision, method: string): Codec | undefined => {
  const table: { readonly [method: string]: MethodCodec<any, any> | undefined } = revision.clientRequests
  const codec = Object.hasOwn(table, method) ? table[method] : undefined
  if (codec === undefined) return undefined
  const { params, result }: Codecs.Coders<unknown, unknown> = Codecs.coders(codec)
  const decodeFailed = (message: string) => McpError.invalidParams(`Invalid params for ${method}: ${message}`)
  const encodeFailed = (message: string) =>
    McpError.internalError(`The result of ${method} cannot be sent in revision ${revision.version}: ${message}`)
  return {
    decode: (value) => Effect.mapErrorEager(params.decode(value), decodeFailed),
    encode: (value) => {
      // A getter on the result may throw, and the request's Scope must close anyway.
      try {
        return Effect.mapErrorEager(result.encode(value), encodeFailed)
      } catch (defect) {
        return Effect.die(defect)
      }
    }
  }
}
