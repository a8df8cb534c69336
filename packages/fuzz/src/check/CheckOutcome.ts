/** The outcome of a check. */
import type { Report } from "../search/ServerSearch.ts"

export interface CheckOutcome extends Report {
  readonly command: "check"
  /** Whether the time was over before each rule was looked at. */
  readonly isCut: boolean
}
