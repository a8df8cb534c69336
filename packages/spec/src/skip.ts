/**
 * Tests that cannot run everywhere, with the reason that the reporter prints.
 */
import type { TaskMeta } from "vitest"

declare module "vitest" {
  interface TaskMeta {
    /** Why the test is skipped. */
    readonly skipped?: string
  }
}

/**
 * Options of a test that runs only where `condition` holds; `reason` says what is missing elsewhere.
 *
 * @example it.live("Ctrl+C cancels the call", () => ..., needs(existsSync("/usr/bin/script"), "util-linux's script"))
 */
export const needs = (condition: boolean, reason: string, meta: TaskMeta = {}) => ({
  skip: !condition,
  meta: condition ? meta : { ...meta, skipped: reason }
})
