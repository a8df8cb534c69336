/**
 * `resultType`: the type of a result in 2026-07-28. It only exists on the wire.
 *
 * The 2026-07-28 codecs add and remove `complete`, so canonical results don't have the field. Before decoding a result, use this module to
 * check whether it has another type: `input_required`, or a type defined by an extension.
 */
import { isJsonObject } from "./Shape.ts"

/** Returns a result's type. A result without a type, as in older revisions, is `complete`. */
export const of = (wire: unknown): unknown =>
  isJsonObject(wire) && wire["resultType"] !== undefined ? wire["resultType"] : "complete"

/** True if the server needs input before it can respond. Decode the questions with the revision's `inputRequired`. */
export const isInputRequired = (wire: unknown): boolean => of(wire) === "input_required"

/** Marks an encoded result as complete. */
export const complete = (wire: unknown): unknown => (isJsonObject(wire) ? { ...wire, resultType: "complete" } : wire)

/** Removes the type from a result. */
export const unmarked = (wire: unknown): unknown => {
  if (!isJsonObject(wire) || !("resultType" in wire)) return wire
  const { resultType: _mark, ...rest } = wire
  return rest
}
