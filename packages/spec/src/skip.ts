/**
 * Tests that cannot run everywhere, with the reason that the reporter prints.
 */
import type { TaskMeta } from "vitest"

declare module "vitest" {
  interface TaskMeta {
    /** Reason why the test is skipped. */
    readonly skipped?: string
  }
}

/**
 * Returns the options of a test that only runs if `condition` is true. `reason` names the missing requirement.
 *
 * @example it.live("Ctrl+C cancels the call", () => ..., needs(existsSync("/usr/bin/script"), "util-linux's script"))
 */
export const needs = (condition: boolean, reason: string, meta: TaskMeta = {}) => ({
  skip: !condition,
  meta: condition ? meta : { ...meta, skipped: reason }
})
