/** Tasks in a database: the CPU of a recorded step, and what tasks cost that only wait. Each figure is of a process of its own. */
import { spawn } from "node:child_process"
import { text } from "node:stream/consumers"
import * as path from "node:path"
import { type Cell, type Figures, type Table, table } from "../Measure.ts"
import type { Options } from "../Options.ts"
import { root } from "../Process.ts"
import { ours } from "../Servers.ts"

const isFigures = (value: unknown): value is Figures => typeof value === "object" && value !== null

/** The figures that a process of its own prints. */
const printedBy = async (script: string, ...args: ReadonlyArray<string>): Promise<Figures> => {
  const env = { ...process.env, NODE_ENV: "production" }
  const child = spawn(process.execPath, ["--expose-gc", script, ...args], { env, stdio: ["ignore", "pipe", "ignore"] })
  const figures: unknown = JSON.parse(await text(child.stdout))
  if (!isFigures(figures)) throw new Error("The process printed no figures")
  return figures
}

const figuresOf = (...args: ReadonlyArray<string>) => printedBy(path.join(root, ours, "durable.js"), ...args)
const peer = (name: string) => printedBy(path.join(root, "packages/bench/peers", `${name}.mjs`))

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
