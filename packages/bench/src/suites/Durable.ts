/** Measures tasks in a database: the CPU time of a recorded step, and the cost of waiting tasks. Each figure comes from a separate process. */
import * as path from "node:path"
import { type Cell, type Figures, type Table, table } from "../Measure.ts"
import type { Options } from "../Options.ts"
import * as Process from "../Process.ts"
import { ours } from "../Servers.ts"

const figuresOf = (...args: ReadonlyArray<string>) =>
  Process.printed(path.join(Process.root, ours, "durable.js"), ...args)
const peer = (name: string) => Process.printed(path.join(Process.root, "peers", `${name}.mjs`))

const parked = async (count: number): Promise<Figures> => {
  const none = await figuresOf("sqlite", "parked", "0")
  const all = await figuresOf("sqlite", "parked", `${count}`)
  return { "heap MiB": (all["heap MiB"] ?? NaN) - (none["heap MiB"] ?? NaN), "idle ms/s": all["idle ms/s"] ?? NaN }
}

const cell = (key: string, round: Cell["round"]): Cell => ({ key, round })

export const durable = async (options: Options): Promise<ReadonlyArray<Table>> => [
  await table(
    "Recorded steps, 16 tasks at once",
    [
      cell("SQLite", () => figuresOf("sqlite", "steps")),
      cell("Postgres", () => figuresOf("postgres", "steps")),
      cell("DBOS", () => peer("dbos")),
      cell("Effect's cluster", () => peer("engine"))
    ],
    options.quick ? 1 : 3,
    "CPU of the process for a step of `Once.run`, the calls and their tasks included; of DBOS and of an activity of Effect's cluster of one runner, both on Postgres and without MCP. Postgres of DATABASE_URL, else of this machine"
  ),
  await table(
    "Parked tasks on SQLite",
    [cell("100 000", () => parked(100_000))],
    options.quick ? 1 : 3,
    "more heap after collection than without them, and CPU of a server that does nothing, where so many tasks wait for answers"
  )
]
