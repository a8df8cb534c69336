/**
 * A result that is already in wire form. Either an extension method returned it, or its type differs from the method's usual result type
 * (`resultType`, spec 2026-07-28: basic/index).
 *
 * A dispatcher must not encode it again. A type outside the core protocol must name its extension.
 */
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Identity } from "./Extension.ts"

/** Result types in the core protocol. */
export type CoreResultType = "complete" | "input_required"

/** An encoded result. It is sent with its `resultType` in 2026-07-28; older revisions have no such field. */
export class EncodedResult {
  readonly resultType: string
  readonly wire: JsonObject
  /** The extension that defines the type, or `undefined` for a core type. A caller that didn't declare the extension receives -32603. */
  readonly extension: Identity | undefined

  private constructor(resultType: string, wire: JsonObject, extension: Identity | undefined) {
    this.resultType = resultType
    this.wire = wire
    this.extension = extension
  }

  /** Creates a result with a core type. */
  static readonly core = (resultType: CoreResultType, wire: JsonObject): EncodedResult =>
    new EncodedResult(resultType, wire, undefined)

  /** Creates a result of any type, exactly as another server sent it. That server has already checked what its client declared. */
  static readonly relayed = (resultType: string, wire: JsonObject): EncodedResult =>
    new EncodedResult(resultType, wire, undefined)

  /** Creates a result with a type that an extension defines. Throws if the type belongs to the core protocol. */
  static readonly of = (extension: Identity, resultType: string, wire: JsonObject): EncodedResult => {
    if (resultType === "complete" || resultType === "input_required") {
      throw new Error(
        `The extension ${extension.id} cannot add the result type ${resultType}, because MCP already defines it`
      )
    }
    return new EncodedResult(resultType, wire, extension)
  }
}

/** True if the value is an encoded result. */
export const isEncodedResult = (u: unknown): u is EncodedResult => u instanceof EncodedResult
