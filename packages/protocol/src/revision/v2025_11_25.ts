/**
 * 2025-11-25: the newest revision with sessions.
 *
 * New in it: icons, elicitation by URL, sampling with tools and arrays of content, richer enums and defaults in forms, core tasks.
 * Tools have `execution`, clients may poll streams, and the context of sampling is declared. Arguments of a tool that do not fit are a
 * failed result, and an error without a readable id has none. The fields are dated in `Downgrade`.
 */
import type { Revision } from "./types.ts"
import { methodCodecs } from "./MethodCodecs.ts"
import { older } from "./older.ts"
import { rules } from "./stateful.ts"

export const revision: Revision = {
  version: "2025-11-25",
  era: "stateful",
  ...methodCodecs(older("2025-11-25")),
  rules
}
