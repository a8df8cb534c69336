/** The outcome of a check. */
import type { Report } from "../search/ServerSearch.ts"

export interface CheckOutcome extends Report {
  readonly command: "check"
  /** True if time ran out before every rule was tested. */
  readonly isCut: boolean
}
