/**
 * 2025-03-26: one step before 2025-06-18.
 *
 * New in it: batches, audio, tool annotations, messages of progress, the `completions` capability.
 */
import type { Revision } from "../Revision.ts"
import { revision as next } from "./v2025_06_18.ts"

const { "elicitation/create": _newer, ...clientRequests } = next.clientRequests

export const revision: Revision = {
  ...next,
  version: "2025-03-26",
  clientRequests,
  rules: {
    ...next.rules,
    batches: true,
    structuredOutput: false,
    elicitation: { form: false, url: false }
  }
}
