/**
 * A fault put in by hand: one exact replacement in one source file, and the test that must fail while it is there.
 *
 * Pure data. The rows live beside the tests (`packages/<name>/test/faults.ts`); `npm run requirements -- --prove [N]`
 * applies them one at a time. A statement of the ledger has no other fault than the rows that name it in `ids`.
 */
import type { RequirementId } from "./Ledger.ts"

/** One small fault in the source and the test file that notices it. */
export interface Fault {
  /** What goes wrong, as a sentence without a full stop. */
  readonly name: string
  /** The source file, from the root of the workspace. */
  readonly file: string
  /** The exact text that is replaced; it occurs once in `file`. */
  readonly from: string
  /** The replacement. */
  readonly to: string
  /** The test file that fails while the fault is there, from the root of the workspace. */
  readonly test: string
  /** The vitest project that runs the test; that of the package of `test` unless given. */
  readonly project?: string
  /** The statements of the ledger that the fault breaks. */
  readonly ids?: ReadonlyArray<RequirementId>
}
