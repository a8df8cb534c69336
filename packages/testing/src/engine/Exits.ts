/** Compares how handlers ended, considering only differences that a caller can see. */
import * as Cause from "effect/Cause"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"

/** The exit of an interrupted handler. The number of interrupted fibers makes no difference. */
const reasonsOf = (cause: Cause.Cause<unknown>): ReadonlyArray<unknown> =>
  Cause.hasInterruptsOnly(cause)
    ? ["Interrupt"]
    : cause.reasons.map((reason) => (reason._tag === "Fail" ? reason.error : reason._tag))

export const sameExit = (a: Exit.Exit<unknown, unknown>, b: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isSuccess(a)
    ? Exit.isSuccess(b) && Equal.equals(a.value, b.value)
    : Exit.isFailure(b) && Equal.equals(reasonsOf(a.cause), reasonsOf(b.cause))

export const describe = (exit: Exit.Exit<unknown, unknown>): string =>
  Exit.isSuccess(exit) ? `Succeeded with ${JSON.stringify(exit.value)}` : `Failed with ${Cause.pretty(exit.cause)}`

/** Returns the first line of the reason why an effect failed. */
export const reasonOf = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  return (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? ""
}
