/** The codecs of a revision with sessions, written by the rows of `Downgrade`. */
import { table } from "./Downgrade.ts"
import type { Select } from "./PerRevision.ts"
import type { OlderVersion } from "./types.ts"

export const older =
  (version: OlderVersion): Select =>
  ({ older }) =>
    older(table)[version]
