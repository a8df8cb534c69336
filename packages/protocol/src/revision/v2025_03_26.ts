/**
 * 2025-03-26: one step before 2025-06-18.
 *
 * New in it: batches, audio, tool annotations, messages of progress, the `completions` capability.
 */
import type { Revision } from "./types.ts"
import { methodCodecs, without } from "./MethodCodecs.ts"
import { older } from "./older.ts"
import { revision as next } from "./v2025_06_18.ts"

const all = methodCodecs(older("2025-03-26"))
const serverRequests = without(all.serverRequests, "elicitation/create")
const serverNotifications = without(all.serverNotifications, "notifications/elicitation/complete")

export const revision: Revision = {
  ...all,
  version: "2025-03-26",
  era: "stateful",
  serverRequests,
  serverNotifications,
  rules: {
    ...next.rules,
    batches: true,
    structuredOutput: false,
    elicitation: { form: false, url: false }
  }
}
