/** Every combination of a revision and a wire of `Simulation`. */
import { Revision } from "@effect-mcp/protocol"
import { isNightly } from "@effect-mcp/spec/Scale"

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

/** Cases of the tests of the search itself: each revision and each wire once, or in the nightly run every combination. */
export const searched = isNightly
  ? cases
  : Revision.all.flatMap((revision, i) => {
      const own = cases.filter((one) => one.revision === revision)
      return own.slice(i % own.length).slice(0, 1)
    })

export type Wire = (typeof wires)[number]
