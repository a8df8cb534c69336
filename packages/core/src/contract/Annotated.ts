/**
 * Selects and orders resources, links and content blocks by their annotations (spec: server/resources, annotations).
 *
 * A server chooses its own annotations, so a high priority is only its opinion. Annotations never hide anything from a host: `isFor` is a filter that a
 * program applies itself.
 *
 * @example
 * ```ts
 * import { Annotated } from "@effect-mcp/core"
 *
 * const resources = [
 *   { uri: "file:///notes", name: "notes", annotations: { priority: 0.2 } },
 *   { uri: "file:///logo", name: "logo", annotations: { audience: ["user" as const] } },
 *   { uri: "file:///plan", name: "plan", annotations: { priority: 1 } }
 * ]
 * const forModel = resources.filter(Annotated.isFor("assistant")).toSorted(Annotated.byPriority)
 *
 * console.log(forModel.map(({ name }) => name).join()) // => plan,notes
 * ```
 */
import type { Annotations, Role } from "@effect-mcp/protocol/model/Annotations"
import * as Order from "effect/Order"

/** A value that may have annotations. */
export interface Annotated {
  readonly annotations?: Annotations | undefined
}

/** Returns true for values that are meant for this reader: their audience names the reader, or nobody. */
export const isFor =
  (reader: Role) =>
  ({ annotations }: Annotated): boolean => {
    const { audience = [] } = annotations ?? {}
    return audience.length === 0 || audience.includes(reader)
  }

/** Orders the most important value first. A value without a priority counts as 0.5. */
export const byPriority: Order.Order<Annotated> = (self, that) => Order.Number(importance(that), importance(self))

const importance = ({ annotations }: Annotated): number => annotations?.priority ?? 0.5

/** Orders the value that was modified last first. Values without a valid date come last. */
export const byLastModified: Order.Order<Annotated> = (self, that) => Order.Number(modified(that), modified(self))

/** Returns the time of the last modification in milliseconds. Values without a valid date count as the oldest. */
const modified = ({ annotations }: Annotated): number => {
  const time = Date.parse(annotations?.lastModified ?? "")
  return Number.isNaN(time) ? -Infinity : time
}
