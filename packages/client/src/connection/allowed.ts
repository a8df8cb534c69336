/** Revisions a client may use. Stateful ones are listed only by version, because their codecs are loaded when the first session opens. */
import { revision as newest, versions as stateful } from "@effect-mcp/protocol/internal/eras"
import type { Revision, Version } from "@effect-mcp/protocol/Revision"

export { versions as stateful } from "@effect-mcp/protocol/internal/eras"

const stateless: ReadonlyArray<Revision> = [newest]

/** Returns the allowed stateful revisions, oldest first. */
export const allowed = (versions: ReadonlyArray<Version> | undefined): ReadonlyArray<Version> =>
  versions === undefined ? stateful : stateful.filter((version) => versions.includes(version))

/** Returns the allowed stateless revisions, oldest first. */
export const allowedStateless = (versions: ReadonlyArray<Version> | undefined): ReadonlyArray<Revision> =>
  versions === undefined ? stateless : stateless.filter(({ version }) => versions.includes(version))
