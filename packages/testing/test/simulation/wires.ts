/** Every revision over every wire of `Simulation` that has it. */
import { Revision } from "@effect-mcp/protocol"

const wires = ["memory", "http", "sse"] as const

/** Streamable HTTP is younger than the first revision; HTTP with SSE is for revisions with sessions. */
const has = (transport: (typeof wires)[number], revision: Revision.Revision): boolean =>
  transport === "http"
    ? revision.version !== "2024-11-05"
    : transport === "memory" || Revision.stateful.includes(revision)

export const cases = Revision.all.flatMap((revision) =>
  wires
    .filter((transport) => has(transport, revision))
    .map((transport) => ({ revision, transport, title: `${revision.version} over ${transport}` }))
)

export type Wire = (typeof wires)[number]
