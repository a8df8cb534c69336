/**
 * 2024-11-05: the first revision.
 */
import type { Revision } from "../Revision.ts"
import { revision as next } from "./v2025_03_26.ts"

export const revision: Revision = {
  ...next,
  version: "2024-11-05",
  rules: { ...next.rules, batches: false, completionsDeclared: false, progressMessage: false }
}
