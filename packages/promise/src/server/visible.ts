/** The `visible` callback of a feature, which decides which callers may see it. */
import type { Principal as PrincipalService } from "@effect-mcp/core/Principal"
import { isThenable, notify } from "../boundary.ts"
import type { ErrorPlace, Principal } from "../handler/Context.ts"
import { reportUnanswered } from "../handler/report.ts"
import type { Rules } from "../handler/run.ts"

type Visible = (principal: PrincipalService["Service"]) => boolean

/** Wraps `visible` so that the feature is hidden and the error reported if the callback throws or returns anything but a boolean. */
export const checkedVisible = (
  visible: ((principal: Principal) => boolean) | undefined,
  { onError }: Rules,
  place: ErrorPlace
): Visible | undefined => {
  if (visible === undefined) return undefined
  return (principal) => {
    try {
      const shown: unknown = visible(principal)
      if (typeof shown === "boolean") return shown
      if (isThenable(shown))
        notify(
          () => shown,
          () => {}
        )
      throw new TypeError(
        `visible must return true or false synchronously, but returned a value of type ${typeof shown}`
      )
    } catch (thrown) {
      reportUnanswered(onError, thrown, place)
      return false
    }
  }
}
