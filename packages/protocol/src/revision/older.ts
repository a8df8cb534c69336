/** The codecs for a revision with sessions, derived from the rows in `Downgrade`. */
import { table } from "./Downgrade.ts"
import type { Select } from "./PerRevision.ts"
import type { OlderVersion } from "./types.ts"

export const older =
  (version: OlderVersion): Select =>
  ({ older }) =>
    older(table)[version]
