/**
 * Goals: the figure that a row of a table must not exceed, usually as a ratio to raw in the same run.
 *
 * Ratios compare the lowest rounds and repeat within 10 to 20 %. Ratios to other SDKs are reported and never gated, since they vary by a
 * factor of two with warm-up. A row without a limit is only reported.
 */
import { median, type Row, type Table } from "./Measure.ts"
import { number } from "./Report.ts"

export interface Goal {
  readonly title: string
  /** The table, the row in it and the figure; the same figure of `raw` divides it, unless there is none. */
  readonly table: string
  readonly row: string
  readonly figure: string
  readonly raw?: string
  readonly limit?: number
}

export interface Reached {
  readonly goal: Goal
  readonly ours: number | undefined
  readonly sdk2: number | undefined
  readonly effect: number | undefined
  readonly tmcp: number | undefined
  /** `missed` also where the row, or raw beside it, failed; `unknown` where it was not part of the run. */
  readonly state: "met" | "missed" | "unknown" | "noted"
}

const cpu = "cpu us"
const eras = ["2025", "2026"]
const both = (
  title: string,
  table: string,
  limit: number | undefined,
  ours = "ours",
  figure = cpu
): ReadonlyArray<Goal> =>
  eras.map((era) => ({
    title: `${title}, ${era}`,
    table,
    row: `${ours} ${era}`,
    figure,
    raw: `raw ${era}`,
    ...(limit === undefined ? undefined : { limit })
  }))
const absolute = (title: string, table: string, limit: number | undefined, row: string, figure: string): Goal => ({
  title,
  table,
  row,
  figure,
  ...(limit === undefined ? undefined : { limit })
})
/**
 * The start by wall time, against a raw server that has loaded `node:http` although it serves stdio. The stricter goals are beside it.
 */
const started = (title: string, row: string, limit: number): ReadonlyArray<Goal> => {
  const start = { table: "Cold start of a stdio server", row, raw: "raw:both" }
  return [
    { ...start, title: `cold start, ${title}, to raw with HTTP`, figure: "ms", limit },
    { ...start, title: `cold start, ${title}, to raw with HTTP: CPU`, figure: "cpu ms" },
    { ...start, title: `cold start, ${title}, to raw`, figure: "ms", raw: "raw" }
  ]
}
/** What it costs to be observed: a ratio to the same server that nothing observes. */
const observed = (title: string, table: string, plain: string): ReadonlyArray<Goal> =>
  eras.flatMap((era) => {
    const row = { table, figure: cpu, raw: `${plain} ${era}` }
    return [
      { ...row, title: `${title}, metrics, to none, ${era}`, row: `ours:metrics ${era}` },
      { ...row, title: `${title}, metrics and traces, to none, ${era}`, row: `ours:traces ${era}` }
    ]
  })
const router = "ours:router"
const generators = "ours:generators"

export const goals: ReadonlyArray<Goal> = [
  ...both("HTTP tools/call through HttpRouter", "HTTP tools/call, 16 at once", 2.2, router),
  ...both("HTTP tools/call, handlers that take a step", "HTTP tools/call, 16 at once", undefined, generators),
  ...eras.map((era): Goal => ({
    title: `HTTP tools/call, a service that each request makes, to a plain one, ${era}`,
    table: "HTTP tools/call, 16 at once",
    row: `ours:provided ${era}`,
    figure: cpu,
    raw: `${generators} ${era}`
  })),
  ...observed("HTTP tools/call", "HTTP tools/call, 16 at once", router),
  ...both("HTTP tools/call through a Node listener", "HTTP tools/call, 16 at once", 1.4, "ours:node"),
  ...both("HTTP p99 at 64", "HTTP tools/call, 64 at once", 2, router, "p99 ms"),
  ...both("HTTP p99 at 64 through a Node listener", "HTTP tools/call, 64 at once", 2, "ours:node", "p99 ms"),
  ...both("HTTP tools/list of 50", "HTTP tools/list of 50 tools, 16 at once", 1, router),
  ...both("HTTP echo of 1 MiB", "HTTP echo of 1 MiB, 4 at once", 1.25, router),
  ...eras.map((era) => absolute(`HTTP progress, us each, ${era}`, "HTTP progress", 1, `${router} ${era}`, cpu)),
  ...both("stdio tools/call, 64 in flight", "stdio tools/call, 64 in flight", 2),
  ...both("stdio tools/call, handlers that take a step", "stdio tools/call, 64 in flight", undefined, generators),
  ...observed("stdio tools/call", "stdio tools/call, 64 in flight", "ours"),
  ...both("stdio tools/call, 1 in flight", "stdio tools/call, 1 in flight", 1.3),
  ...both("stdio tools/list of 50", "stdio tools/list of 50 tools, 16 in flight", 0.8),
  ...both("stdio echo of 1 MiB", "stdio echo of 1 MiB, 4 in flight", 1),
  ...eras.map((era) => absolute(`stdio progress, us each, ${era}`, "stdio progress", 1, `ours ${era}`, cpu)),
  ...eras.flatMap((era): ReadonlyArray<Goal> => [
    {
      title: `a call that becomes a task (create, get, result), to one within its request, ${era}`,
      table: "Tasks over stdio, 16 in flight",
      row: `task ${era}`,
      figure: cpu,
      raw: `inline ${era}`,
      limit: 6
    },
    {
      title: `stdio tools/call beside a layer of tasks, to none, ${era}`,
      table: "stdio tools/call, 64 in flight",
      row: `ours:tasks ${era}`,
      figure: cpu,
      raw: `ours ${era}`,
      limit: 1.05
    },
    { title: `heap per open task, KiB, ${era}`, table: "Open tasks", row: `open ${era}`, figure: "heap KiB" }
  ]),
  absolute("a recorded step on SQLite, us", "Recorded steps, 16 tasks at once", 80, "SQLite", cpu),
  absolute("a recorded step on Postgres, us", "Recorded steps, 16 tasks at once", 250, "Postgres", cpu),
  {
    title: "a recorded step on Postgres, to one of DBOS",
    table: "Recorded steps, 16 tasks at once",
    row: "Postgres",
    figure: cpu,
    raw: "DBOS",
    limit: 0.5
  },
  ...eras.map((era) => ({
    title: `HTTP tools/call, metrics, to none in one process, ${era}`,
    table: "HTTP tools/call, servers of one process",
    row: `metrics ${era}`,
    figure: cpu,
    raw: `none ${era}`
  })),
  ...["two commands of a script", "the routes of the page"].map((row) =>
    absolute(
      `a call that hangs is stopped by ${row}, ms`,
      "A call that hangs among 1000 sessions",
      undefined,
      row,
      "ms"
    )
  ),
  absolute("heap of 100 000 parked tasks, MiB", "Parked tasks on SQLite", 5, "100 000", "heap MiB"),
  absolute("an idle server with 100 000 parked tasks, ms/s", "Parked tasks on SQLite", 3, "100 000", "idle ms/s"),
  ...["SQLite", "Postgres"].flatMap((kind): ReadonlyArray<Goal> => {
    const ends = { table: "Tasks whose process ends", figure: "ms" }
    const torture = { table: "Processes that are killed at any moment", row: `torture, ${kind}` }
    return [
      {
        ...ends,
        title: `a task continues after a kill, another process runs, ${kind}, ms`,
        row: `killed, another process runs, ${kind}`
      },
      {
        ...ends,
        title: `a task continues after a kill, a process starts, ${kind}, ms`,
        row: `killed, a process starts, ${kind}`
      },
      {
        ...ends,
        title: `a task continues after its process froze, beyond its lease, ${kind}, ms`,
        row: `frozen, beyond its lease, ${kind}`
      },
      {
        title: `a task continues after an answer at another process, ${kind}, p99, ms`,
        table: "Answers that another process takes",
        row: `a task's question, ${kind}`,
        figure: "p99 ms"
      },
      { ...torture, title: `tasks lost by kills, ${kind}`, figure: "lost", limit: 0 },
      { ...torture, title: `tasks with another result after kills, ${kind}`, figure: "wrong", limit: 0 },
      { ...torture, title: `steps again, for each kill and task, ${kind}`, figure: "again per kill and task", limit: 1 }
    ]
  }),
  ...["postgres", "redis"].flatMap((kind) =>
    [1, 16, 64].flatMap((inFlight): ReadonlyArray<Goal> => {
      const rest = {
        table: `Calls to a node that holds the session, and to another one, ${inFlight} at once`,
        figure: cpu
      }
      const title = `a call sent to another node, to one at its own node, ${kind}, ${inFlight} at once`
      return [{ ...rest, title, row: `other ${kind}`, raw: `own ${kind}` }]
    })
  ),
  ...Object.entries({ postgres: 3, redis: 1 }).map(([kind, limit]): Goal => ({
    title: `more for an answer at another node, ${kind}, ms`,
    table: "Answers of a client, at the node that asked it and at another one",
    row: kind,
    figure: "more ms",
    limit
  })),
  absolute("heap per idle session, KiB", "Idle sessions", 4, router, "heap KiB"),
  absolute("heap per open GET stream, KiB", "Idle sessions", 8, router, "heap KiB +GET"),
  absolute("heap per open GET stream through a Node listener, KiB", "Idle sessions", 8, "ours:node", "heap KiB +GET"),
  { title: "opening a session", table: "Idle sessions", row: router, figure: "cpu us to open", raw: "raw", limit: 2.5 },
  ...started("bundled", "ours:bundled", 2),
  ...started("published files", "ours", 2.6),
  ...eras.flatMap((era): ReadonlyArray<Goal> => {
    const row = { table: "Conversations of ten messages in memory", figure: cpu }
    return [
      { ...row, title: `a fuzzed conversation with a shared server, us, ${era}`, row: `shared ${era}` },
      { ...row, title: `a fuzzed conversation with a server of its own, us, ${era}`, row: `fresh ${era}` },
      {
        table: "Conversations of ten messages over stdio",
        figure: cpu,
        title: `a fuzzed conversation over stdio, all processes, us, ${era}`,
        row: `stdio ${era}`
      }
    ]
  }),
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

const stateOf = (goal: Goal, rows: ReadonlyArray<Row>, reached: number | undefined): Reached["state"] => {
  const needed = [goal.row, ...(goal.raw === undefined ? [] : [goal.raw])]
  if (!needed.every((key) => rows.some((row) => row.key === key))) return "unknown"
  if (goal.limit === undefined) return "noted"
  return judged(goal, reached)
}
const judged = ({ limit = Infinity }: Goal, reached: number | undefined): Reached["state"] =>
  reached !== undefined && reached <= limit ? "met" : "missed"

export const rows = (tables: ReadonlyArray<Table>): ReadonlyArray<Reached> =>
  goals.map((goal) => {
    const table = tables.find(({ title }) => title === goal.table)
    const figure = (key: string) => table?.rows.find((row) => row.key === key)?.figures[goal.figure]
    const divisor = goal.raw === undefined ? 1 : (figure(goal.raw) ?? Number.NaN)
    const own = figure(goal.row)
    const ours = own === undefined || Number.isNaN(own / divisor) ? undefined : own / divisor
    const of = (id: string) => peer(table, goal, id, divisor)
    return {
      goal,
      ours,
      sdk2: of("sdk2"),
      effect: of("effect"),
      tmcp: of("tmcp"),
      state: stateOf(goal, table?.rows ?? [], ours)
    }
  })

/** Several runs as one: each figure is the median of theirs, so that a ratio stays one of a single run. */
export const medians = (runs: ReadonlyArray<ReadonlyArray<Reached>>): ReadonlyArray<Reached> =>
  goals.map((goal, i) => {
    const seen = runs.flatMap((run) => run[i] ?? [])
    const of = (figure: "ours" | "sdk2" | "effect" | "tmcp"): number | undefined => {
      const values = seen.flatMap((reached) => reached[figure] ?? [])
      return values.length === 0 ? undefined : median(values)
    }
    const ours = of("ours")
    const known = seen.find(({ state }) => state !== "unknown")?.state ?? "unknown"
    const state = known === "met" || known === "missed" ? judged(goal, ours) : known
    return { goal, ours, sdk2: of("sdk2"), effect: of("effect"), tmcp: of("tmcp"), state }
  })

/** What the gate says of each row that misses its goal; nothing where all is well. */
export const missed = (reached: ReadonlyArray<Reached>): ReadonlyArray<string> =>
  reached.flatMap(({ goal, ours, state }) =>
    state === "missed" ? [`${goal.title}: ${ours === undefined ? "failed" : number(ours)}, goal ${goal.limit}`] : []
  )

const words = { met: "ok", missed: "MISSED", unknown: "?", noted: "(no goal)" } as const

/** As a table: every goal, what is reached, and the peers. */
export const table = (reached: ReadonlyArray<Reached>): Table => ({
  title: "Goals",
  note: "ratios to raw, unless the unit is named",
  columns: ["goal", "ours", "sdk2", "effect", "tmcp"],
  rows: reached.map(({ effect, goal, ours, sdk2, state, tmcp }): Row => ({
    key: `${words[state]} ${goal.title}`,
    figures: Object.fromEntries(
      Object.entries({ goal: goal.limit, ours, sdk2, effect, tmcp }).filter(
        (entry): entry is [string, number] => entry[1] !== undefined && !Number.isNaN(entry[1])
      )
    )
  }))
})
