/**
 * 2025-11-25: the newest revision with sessions.
 *
 * Adds icons, URL elicitation, sampling with tools and arrays of content, richer enums and default values in forms, and core tasks. Tools
 * have `execution`, clients can poll streams, and clients declare whether sampling may include context. Invalid tool arguments cause a
 * failed result, and an error for an unreadable request has no ID. `Downgrade` lists when each field was added.
 */
import type { Revision } from "./types.ts"
import { methodCodecs } from "./MethodCodecs.ts"
import { older } from "./older.ts"
import { rules } from "./stateful.ts"

export const revision: Revision = {
  version: "2025-11-25",
  era: "stateful",
  ...methodCodecs("2025-11-25", older("2025-11-25")),
  rules
}
