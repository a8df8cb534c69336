/** The revisions that a client may speak. Those with sessions by their versions: their codecs are loaded with the first session. */
import { versions as stateful } from "@effect-mcp/protocol/internal/stateful"
import { revision as newest } from "@effect-mcp/protocol/internal/v2026_07_28"
import type { Revision, Version } from "@effect-mcp/protocol/Revision"

export { versions as stateful } from "@effect-mcp/protocol/internal/stateful"

const stateless: ReadonlyArray<Revision> = [newest]

/** The stateful revisions among those allowed, oldest first. */
export const allowed = (versions: ReadonlyArray<Version> | undefined): ReadonlyArray<Version> =>
  versions === undefined ? stateful : stateful.filter((version) => versions.includes(version))

/** The stateless revisions among those allowed, oldest first. */
export const allowedStateless = (versions: ReadonlyArray<Version> | undefined): ReadonlyArray<Revision> =>
  versions === undefined ? stateless : stateless.filter(({ version }) => versions.includes(version))
