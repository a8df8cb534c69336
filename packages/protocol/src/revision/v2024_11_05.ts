/**
 * 2024-11-05: the first revision.
 */
import type { Revision } from "./types.ts"
import { methodCodecs, without } from "./MethodCodecs.ts"
import { older } from "./older.ts"
import { revision as next } from "./v2025_03_26.ts"

const all = methodCodecs(older("2024-11-05"))
const serverRequests = without(all.serverRequests, "elicitation/create")
const serverNotifications = without(all.serverNotifications, "notifications/elicitation/complete")

export const revision: Revision = {
  ...all,
  version: "2024-11-05",
  era: "stateful",
  serverRequests,
  serverNotifications,
  rules: { ...next.rules, batches: false, completionsDeclared: false, progressMessage: false }
}
