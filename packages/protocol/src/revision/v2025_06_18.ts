/**
 * 2025-06-18: one step before 2025-11-25.
 *
 * New in it: elicitation by form, structured output, resource links, titles, `context` of a completion, `_meta` on more types.
 * Batches are gone.
 */
import type { Revision } from "./types.ts"
import { methodCodecs, without } from "./MethodCodecs.ts"
import { older } from "./older.ts"
import { revision as next } from "./v2025_11_25.ts"

const all = methodCodecs(older("2025-06-18"))
const serverNotifications = without(all.serverNotifications, "notifications/elicitation/complete")

export const revision: Revision = {
  ...all,
  version: "2025-06-18",
  era: "stateful",
  serverNotifications,
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
