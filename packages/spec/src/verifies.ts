/**
 * How a test says what it proves: requirement ids in its title, where the reporter finds them.
 */
import { isRequirementId, type RequirementId } from "./Ledger.ts"

/**
 * A suffix for a test title that cites requirements, such as ` [tools.call.unknown-tool]`; throws on an unknown id.
 *
 * @example it.effect(`answers -32602 to an unknown tool${verifies("tools.call.unknown-tool")}`, ...)
 */
export const verifies = (...ids: readonly [RequirementId, ...ReadonlyArray<RequirementId>]): string => {
  const unknown = ids.filter((id) => !isRequirementId(id))
  if (unknown.length > 0) throw new Error(`Not in the requirements ledger: ${unknown.join(", ")}`)
  return ` [${ids.join(", ")}]`
}
