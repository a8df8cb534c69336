/**
 * 2025-06-18: one step before 2025-11-25.
 *
 * Adds form elicitation, structured output, resource links, titles, completion `context`, and `_meta` on more types. Removes batches.
 */
import type { Revision } from "./types.ts"
import { methodCodecs } from "./MethodCodecs.ts"
import { older } from "./older.ts"
import { revision as next } from "./v2025_11_25.ts"

export const revision: Revision = {
  version: "2025-06-18",
  era: "stateful",
  ...methodCodecs("2025-06-18", older("2025-06-18")),
  rules: {
    ...next.rules,
    unreadableId: null,
    invalidToolArguments: "error",
    elicitation: { form: true, url: false },
    polling: false,
    tasks: false,
    samplingTools: false,
    samplingContextDeclared: false
  }
}
