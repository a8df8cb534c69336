/**
 * The figures to reach: what a row of a table must not exceed, most of them as a ratio to the raw limit of the same run.
 *
 * Everything but a latency is CPU or memory: wall time says more about the machine. A ratio of CPU is one of lowest rounds, which repeats within 10 to 20 %; a ratio to the SDKs is reported, never gated (they move by
 * a factor of two with how warm they are).
 */
import type { Row, Table } from "./Measure.ts"

export interface Goal {
  readonly title: string
  /** The table, the row in it and the figure; the same figure of `raw` divides it, unless there is none. */
  readonly table: string
  readonly row: string
  readonly figure: string
  readonly raw?: string
  readonly limit: number
}

export interface Reached {
  readonly goal: Goal
  readonly ours: number | undefined
  readonly sdk2: number | undefined
  readonly effect: number | undefined
  readonly tmcp: number | undefined
  /** Unknown where the row was not measured. */
  readonly met: boolean | undefined
}

const cpu = "cpu us"
const ratio = (title: string, table: string, limit: number, era: string, ours = "ours", figure = cpu): Goal => ({
  title: `${title}, ${era}`,
  table,
  row: `${ours} ${era}`,
  figure,
  raw: `raw ${era}`,
  limit
})
const both = (title: string, table: string, limit: number, ours = "ours", figure = cpu): ReadonlyArray<Goal> =>
  ["2025", "2026"].map((era) => ratio(title, table, limit, era, ours, figure))
const absolute = (title: string, table: string, limit: number, row: string, figure: string): Goal => ({
  title,
  table,
  row,
  figure,
  limit
})
const router = "ours:router"

export const goals: ReadonlyArray<Goal> = [
  ...both("HTTP tools/call through HttpRouter", "HTTP tools/call, 16 at once", 2.2, router),
  ...both("HTTP tools/call through a Node listener", "HTTP tools/call, 16 at once", 1.5, "ours:node"),
  ...both("HTTP p99 at 64", "HTTP tools/call, 64 at once", 2, router, "p99 ms"),
  ...both("HTTP tools/list of 50", "HTTP tools/list of 50 tools, 16 at once", 1, router),
  ...both("HTTP echo of 1 MiB", "HTTP echo of 1 MiB, 4 at once", 1.25, router),
  ...["2025", "2026"].map((era) =>
    absolute(`HTTP progress, us each, ${era}`, "HTTP progress", 1, `${router} ${era}`, cpu)
  ),
  ...both("stdio tools/call, 64 in flight", "stdio tools/call, 64 in flight", 2),
  ...both("stdio tools/call, 1 in flight", "stdio tools/call, 1 in flight", 1.3),
  ...both("stdio tools/list of 50", "stdio tools/list of 50 tools, 16 in flight", 0.8),
  ...both("stdio echo of 1 MiB", "stdio echo of 1 MiB, 4 in flight", 1),
  ...["2025", "2026"].map((era) =>
    absolute(`stdio progress, us each, ${era}`, "stdio progress", 1, `ours ${era}`, cpu)
  ),
  absolute("heap per idle session, KiB", "Idle sessions", 4, router, "heap KiB"),
  absolute("heap per open GET stream, KiB", "Idle sessions", 8, router, "heap KiB +GET"),
  { title: "opening a session", table: "Idle sessions", row: router, figure: "cpu us to open", raw: "raw", limit: 2.5 },
  {
    title: "cold start, bundled",
    table: "Cold start of a stdio server",
    row: "ours:bundled",
    figure: "cpu ms",
    raw: "raw",
    limit: 2
  },
  {
    title: "cold start, published files",
    table: "Cold start of a stdio server",
    row: "ours",
    figure: "cpu ms",
    raw: "raw",
    limit: 2.6
  },
  ...both("client tools/call", "Client tools/call, 16 at once", 2.5)
]

/** A peer's best row in a table, where it has one: ratios as ours, or the figure itself. */
const peer = (table: Table | undefined, goal: Goal, id: string, divisor: number): number | undefined => {
  const era = /20\d\d$/.exec(goal.row)?.[0]
  const found = (table?.rows ?? []).filter(
    ({ key }) =>
      key.split(/[: ]/)[0] === id && !key.includes("compile cache") && (era === undefined || key.endsWith(era))
  )
  const figures = found.flatMap(({ figures }) => figures[goal.figure] ?? [])
  return figures.length === 0 ? undefined : Math.min(...figures) / divisor
}

export const rows = (tables: ReadonlyArray<Table>): ReadonlyArray<Reached> =>
  goals.map((goal) => {
    const table = tables.find(({ title }) => title === goal.table)
    const figure = (key: string) => table?.rows.find((row) => row.key === key)?.figures[goal.figure]
    const divisor = goal.raw === undefined ? 1 : (figure(goal.raw) ?? Number.NaN)
    const own = figure(goal.row)
    const ours = own === undefined ? undefined : own / divisor
    const of = (id: string) => peer(table, goal, id, divisor)
    return {
      goal,
      ours,
      sdk2: of("sdk2"),
      effect: of("effect"),
      tmcp: of("tmcp"),
      met: ours === undefined || Number.isNaN(ours) ? undefined : ours <= goal.limit
    }
  })

/** As a table: every goal, what is reached, and the peers. */
export const table = (reached: ReadonlyArray<Reached>): Table => ({
  title: "Goals",
  note: "ratios to raw, unless the unit is named",
  rows: reached.map(({ effect, goal, met, ours, sdk2, tmcp }): Row => ({
    key: `${met === undefined ? "?" : met ? "ok" : "MISSED"} ${goal.title}`,
    figures: Object.fromEntries(
      Object.entries({ goal: goal.limit, ours, sdk2, effect, tmcp }).filter(
        (entry): entry is [string, number] => entry[1] !== undefined && !Number.isNaN(entry[1])
      )
    )
  }))
})
