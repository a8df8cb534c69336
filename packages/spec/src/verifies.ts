/** Lets a test declare the requirements that it proves. The reporter reads their ids from the test's options. */
import type { TaskMeta } from "vitest"
import { isRequirementId, type RequirementId } from "./Ledger.ts"

declare module "vitest" {
  interface TaskMeta {
    /** Ids that the test cites. */
    readonly requirements?: ReadonlyArray<string>
  }
}

/** Options of a test that cites requirements. */
export interface Citation {
  readonly meta: Required<Pick<TaskMeta, "requirements">>
}

/**
 * Returns the options of a test that cites requirements. Throws for an unknown id.
 *
 * @example it.effect("An unknown tool is answered -32602", () => ..., verifies("tools.call.unknown-tool"))
 * @example it("An unknown tool is answered -32602", { ...verifies("tools.call.unknown-tool"), timeout: 1000 }, () => ...)
 */
export const verifies = (...ids: readonly [RequirementId, ...ReadonlyArray<RequirementId>]): Citation => {
  const unknown = ids.filter((id) => !isRequirementId(id))
  if (unknown.length > 0) throw new Error(`Not in the requirements ledger: ${unknown.join(", ")}`)
  return { meta: { requirements: ids } }
}
