/**
 * 2025-03-26: one step before 2025-06-18.
 *
 * Adds batches, audio, tool annotations, progress messages and the `completions` capability.
 */
import type { Revision } from "./types.ts"
import { methodCodecs } from "./MethodCodecs.ts"
import { older } from "./older.ts"
import { revision as next } from "./v2025_06_18.ts"

export const revision: Revision = {
  version: "2025-03-26",
  era: "stateful",
  ...methodCodecs("2025-03-26", older("2025-03-26")),
  rules: {
    ...next.rules,
    batches: true,
    structuredOutput: false,
    resourceLinks: false,
    elicitation: { form: false, url: false }
  }
}
