/** Every combination of a revision and a wire of `Simulation`. */
import { Revision } from "@effect-mcp/protocol"

const wires = ["memory", "http", "sse"] as const

/** The first revision has no Streamable HTTP. HTTP with SSE needs sessions. */
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
