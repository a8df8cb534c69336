/** The revisions with sessions that a client may speak. */
import * as Revision from "@effect-mcp/protocol/Revision"

/** All stateful revisions, oldest first. */
export const stateful: ReadonlyArray<Revision.Version> = Revision.stateful.map(({ version }) => version)

/** The stateful revisions among those allowed, oldest first. */
export const allowed = (versions: ReadonlyArray<Revision.Version> | undefined): ReadonlyArray<Revision.Revision> =>
  versions === undefined
    ? Revision.stateful
    : Revision.stateful.filter((revision) => versions.includes(revision.version))
