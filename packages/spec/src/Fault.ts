/**
 * A deliberate fault: an exact replacement in a source file, and the test that must fail because of it.
 *
 * The rows are next to the tests (`packages/<name>/test/faults.ts`). `npm run requirements -- --prove [N]` applies them one at a time. The
 * faults of a statement in the ledger are the rows that name it in `ids`.
 */
import type { RequirementId } from "./Ledger.ts"

/** A small fault in a source file, and the test that detects it. */
export interface Fault {
  /** The failure that the fault causes, as a sentence without a full stop. */
  readonly name: string
  /** Path of the source file from the root of the workspace. */
  readonly file: string
  /** The exact text to replace, which must occur once in `file`. */
  readonly from: string
  /** The replacement. */
  readonly to: string
  /** Path of the failing test file from the root of the workspace. */
  readonly test: string
  /** The vitest project that runs the test. Default: the project of the package of `test`. */
  readonly project?: string
  /** Statements in the ledger that the fault violates. */
  readonly ids?: ReadonlyArray<RequirementId>
}
