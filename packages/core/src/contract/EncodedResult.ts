/**
 * A result as it is on the wire: that of an extension's method, or one of another kind than the method's own (`resultType`, spec
 * 2026-07-28: basic/index).
 *
 * Owns what a dispatcher must not encode again. Refuses kinds of which no extension is named.
 */
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Identity } from "./Extension.ts"

/** The kinds that the core protocol has. */
export type CoreResultType = "complete" | "input_required"

/** An encoded result. In 2026-07-28 its `resultType` is written with it; older revisions have no such member. */
export class EncodedResult {
  readonly resultType: string
  readonly wire: JsonObject
  /** The extension whose kind of result it is: a caller that did not declare it gets -32603. Undefined for a kind of the core protocol. */
  readonly extension: Identity | undefined

  private constructor(resultType: string, wire: JsonObject, extension: Identity | undefined) {
    this.resultType = resultType
    this.wire = wire
    this.extension = extension
  }

  /** A result of the core protocol's kinds. */
  static readonly core = (resultType: CoreResultType, wire: JsonObject): EncodedResult =>
    new EncodedResult(resultType, wire, undefined)

  /** The result of another server as that wrote it, of any kind: that server has checked what its client declared. */
  static readonly relayed = (resultType: string, wire: JsonObject): EncodedResult =>
    new EncodedResult(resultType, wire, undefined)

  /** A result of a kind that an extension adds. Throws for a kind that the core protocol has. */
  static readonly of = (extension: Identity, resultType: string, wire: JsonObject): EncodedResult => {
    if (resultType === "complete" || resultType === "input_required") {
      throw new Error(`The extension ${extension.id} cannot add the type of result ${resultType}: MCP has it already`)
    }
    return new EncodedResult(resultType, wire, extension)
  }
}

/** Whether it is an encoded result. */
export const isEncodedResult = (u: unknown): u is EncodedResult => u instanceof EncodedResult
