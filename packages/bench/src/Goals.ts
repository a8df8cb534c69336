/**
 * Goals: the value that a figure must not exceed, usually as a ratio to raw in the same run.
 *
 * Ratios compare the lowest rounds and repeat within 10 to 20 %. Ratios to other SDKs are reported but have no limit, because they vary by a
 * factor of two with the warm-up.
 */
import { median, type Row, type Table } from "./Measure.ts"
import { number } from "./Report.ts"

export interface Goal {
  readonly title: string
  /** The table, row and figure. The figure is divided by the same figure of `raw`, if there is one. */
  readonly table: string
  readonly row: string
  readonly figure: string
  readonly raw?: string
  readonly limit?: number
  /** Whether to leave out the peers, because their handlers differ too much. Default false. */
  readonly alone?: boolean
}

export interface Reached {
  readonly goal: Goal
  readonly ours: number | undefined
  readonly sdk2: number | undefined
  readonly effect: number | undefined
  readonly tmcp: number | undefined
  /** `missed` includes failures of the row or of `raw`. `unknown` means that it was not part of the run. */
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
 * Wall time of a start, compared with a raw server that also loads `node:http`. The stricter ratios are only reported.
 */
const started = (title: string, row: string, limit: number): ReadonlyArray<Goal> => {
  const start = { table: "Cold start of a stdio server", row, raw: "raw:both" }
  return [
    { ...start, title: `cold start, ${title}, to raw with HTTP`, figure: "ms", limit },
    { ...start, title: `cold start, ${title}, to raw with HTTP: CPU`, figure: "cpu ms" },
    { ...start, title: `cold start, ${title}, to raw`, figure: "ms", raw: "raw" }
  ]
}
/** Cost of observation, as a ratio to the same server without an observer. */
const observed = (title: string, table: string, plain: string): ReadonlyArray<Goal> =>
  eras.flatMap((era) => {
    const row = { table, figure: cpu, raw: `${plain} ${era}`, alone: true }
    return [
      { ...row, title: `${title}, metrics, to none, ${era}`, row: `ours:metrics ${era}` },
      { ...row, title: `${title}, metrics and traces, to none, ${era}`, row: `ours:traces ${era}`, limit: 2 }
    ]
  })
/** Handlers of each form, as ratios to raw. Peers' documentation only shows async functions. */
const handlers = (table: string, async: string, promise: string, limits: Limits): ReadonlyArray<Goal> => [
  ...both(`${table}, async functions`, table, limits.async, async),
  ...both(`${table}, async functions without Effect`, table, limits.async, promise),
  ...alone(both(`${table}, generators that ask for a service`, table, limits.generators, "ours:generators")),
  ...alone(both(`${table}, a service that each request makes`, table, limits.provided, "ours:provided")),
  ...alone(both(`${table}, trivial`, table, limits.trivial, "ours:trivial"))
]
interface Limits {
  readonly async: number
  readonly generators: number
  readonly provided: number
  readonly trivial: number
}
const alone = (goals: ReadonlyArray<Goal>): ReadonlyArray<Goal> => goals.map((goal) => ({ ...goal, alone: true }))
/**
 * The package without Effect, compared with the same server with Effect. Trivial handlers have no limit, because a plain function runs in a
 * fiber and `Effect.succeed` needs none.
 */
const withoutEffect = (
  title: string,
  table: string,
  promise: string,
  effect: string,
  limit: number | undefined
): ReadonlyArray<Goal> =>
  both(`${title} without Effect, to one with Effect`, table, limit, promise).map((goal, i) => ({
    ...goal,
    raw: `${effect} ${eras[i]}`,
    alone: true
  }))
const router = "ours:router"
const httpCall = "HTTP tools/call, 16 at once"
const httpWait = "HTTP tools/call that waits 1 ms, 16 at once"
const stdioCall = "stdio tools/call, 64 in flight"
const stdioWait = "stdio tools/call that waits 1 ms, 64 in flight"

export const goals: ReadonlyArray<Goal> = [
  ...handlers(httpCall, router, "ours:promise", { async: 2.2, generators: 2.2, provided: 2.4, trivial: 2 }),
  ...both(httpWait, httpWait, undefined, router),
  ...both("HTTP tools/call through a Node listener", httpCall, undefined, "ours:node"),
  ...withoutEffect("HTTP tools/call", httpCall, "ours:promise", "ours:node", 1.1),
  ...withoutEffect("HTTP tools/call, trivial,", httpCall, "ours:promise-trivial", "ours:node-trivial", undefined),
  ...withoutEffect(httpWait, httpWait, "ours:promise", "ours:node", 1.1),
  ...observed("HTTP tools/call", httpCall, router),
  ...both("HTTP p99 at 64", "HTTP tools/call, 64 at once", 2, router, "p99 ms"),
  ...both("HTTP p99 at 64 through a Node listener", "HTTP tools/call, 64 at once", 2, "ours:node", "p99 ms"),
  ...both("HTTP tools/list of 50", "HTTP tools/list of 50 tools, 16 at once", 1, router),
  ...both("HTTP echo of 1 MiB", "HTTP echo of 1 MiB, 4 at once", 1.25, router),
  ...eras.map((era) => absolute(`HTTP progress, us each, ${era}`, "HTTP progress", 1, `${router} ${era}`, cpu)),
  ...handlers(stdioCall, "ours", "ours:promise", { async: 2.4, generators: 2.2, provided: 2.6, trivial: 1.6 }),
  ...both(stdioWait, stdioWait, undefined),
  ...withoutEffect("stdio tools/call", stdioCall, "ours:promise", "ours", 1.1),
  ...withoutEffect("stdio tools/call, trivial,", stdioCall, "ours:promise-trivial", "ours:trivial", undefined),
  ...withoutEffect(stdioWait, stdioWait, "ours:promise", "ours", 1.1),
  ...observed("stdio tools/call", stdioCall, "ours"),
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
      table: stdioCall,
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
    raw: `none ${era}`,
    limit: 1.08
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

/** Returns a peer's best row in a table, if it has one, as a ratio like ours or as the figure itself. */
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
    const of = (id: string) => (goal.alone === true ? undefined : peer(table, goal, id, divisor))
    return {
      goal,
      ours,
      sdk2: of("sdk2"),
      effect: of("effect"),
      tmcp: of("tmcp"),
      state: stateOf(goal, table?.rows ?? [], ours)
    }
  })

/** Combines several runs by taking the median of each value. Ratios are computed within a run first. */
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

/** Returns a line for each row that misses its goal. Empty if all goals are met. */
export const missed = (reached: ReadonlyArray<Reached>): ReadonlyArray<string> =>
  reached.flatMap(({ goal, ours, state }) =>
    state === "missed" ? [`${goal.title}: ${ours === undefined ? "failed" : number(ours)}, goal ${goal.limit}`] : []
  )

const words = { met: "ok", missed: "MISSED", unknown: "?", noted: "(no goal)" } as const

/** Returns a table of every goal, the value reached, and the peers. */
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
