/**
 * `resultType`: the kind of a result in 2026-07-28. It exists on the wire only.
 *
 * The result codecs of 2026-07-28 write and remove `complete`, so canonical results do not have it. Code that reads a result checks here
 * first whether it is of another kind: `input_required`, or one of an extension.
 */
import { isJsonObject } from "./Shape.ts"

/** The type of a result on the wire; `complete` where it has none, as before 2026-07-28. */
export const of = (wire: unknown): unknown =>
  isJsonObject(wire) && wire["resultType"] !== undefined ? wire["resultType"] : "complete"

/** Whether the server asks for input before it can answer; `inputRequired` of the revision reads what it asks. */
export const isInputRequired = (wire: unknown): boolean => of(wire) === "input_required"

/** An encoded result, marked as the final one. */
export const complete = (wire: unknown): unknown => (isJsonObject(wire) ? { ...wire, resultType: "complete" } : wire)

/** A result without its mark. */
export const unmarked = (wire: unknown): unknown => {
  if (!isJsonObject(wire) || !("resultType" in wire)) return wire
  const { resultType: _mark, ...rest } = wire
  return rest
}
