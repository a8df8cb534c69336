/**
 * 2024-11-05: the first revision.
 */
import type { Revision } from "./types.ts"
import { methodCodecs } from "./MethodCodecs.ts"
import { older } from "./older.ts"
import { revision as next } from "./v2025_03_26.ts"

export const revision: Revision = {
  version: "2024-11-05",
  era: "stateful",
  ...methodCodecs("2024-11-05", older("2024-11-05")),
  rules: { ...next.rules, batches: false, completionsDeclared: false, progressMessage: false }
}
