/** Options of a run: the servers and kinds to measure, and how thoroughly. */
import { parseArgs } from "node:util"

export const suites = [
  "http",
  "stdio",
  "tasks",
  "durable",
  "recovery",
  "operator",
  "observed",
  "nodes",
  "sessions",
  "cold",
  "client",
  "fuzz",
  "growth"
] as const
export type Suite = (typeof suites)[number]

export interface Options {
  readonly quick: boolean
  /** Whether to exit with 1 if a row misses its goal. */
  readonly gate: boolean
  /** Whether to write RESULTS.md. */
  readonly write: boolean
  readonly suites: ReadonlyArray<string>
  /**
   * Ids of servers, or the part before the colon. `ours!` means that server and its base, without `ours:generators` and others. Empty means
   * all servers, or the core with `quick`.
   */
  readonly servers: ReadonlyArray<string>
  /** Kinds of load. Empty means all. */
  readonly kinds: ReadonlyArray<string>
  /** Another snapshot to compare with, from `Published`. */
  readonly base: string | undefined
  readonly build: boolean
  readonly rounds: number
  readonly ms: number
  /** Unmeasured milliseconds before each slice. Doubled for peers, which slow down more when idle. */
  readonly ramp: number
  /** Time and number of requests before the first measurement. The SDKs settle after some 20 000 requests. */
  readonly warm: { readonly ms: number; readonly count: number }
  /** Number of runs. The medians count. */
  readonly times: number
  /** Number of processes to kill at random moments, for each store. */
  readonly kills: number
}

const list = (value: string | undefined): ReadonlyArray<string> =>
  (value ?? "").split(",").filter((part) => part !== "")

export const parse = (args: ReadonlyArray<string>): Options => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: "boolean", default: false },
      gate: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
      only: { type: "string" },
      kinds: { type: "string" },
      servers: { type: "string" },
      base: { type: "string" },
      "no-build": { type: "boolean", default: false },
      rounds: { type: "string" },
      ms: { type: "string" },
      times: { type: "string" },
      kills: { type: "string" }
    }
  })
  const { quick } = values
  const asked = list(values.only)
  if (values.write && [values.only, values.kinds, values.servers].some((part) => part !== undefined)) {
    throw new Error("--write is for a whole run: it would leave the rest out of RESULTS.md and of the README")
  }
  return {
    quick,
    gate: values.gate,
    write: values.write,
    suites:
      asked.length > 0
        ? asked
        : suites.filter((suite) => !quick || !["growth", "recovery", "operator"].includes(suite)),
    servers: list(values.servers),
    kinds: list(values.kinds),
    base: values.base,
    build: !values["no-build"],
    rounds: Number(values.rounds ?? (quick ? 3 : 5)),
    ms: Number(values.ms ?? (quick ? 200 : 300)),
    ramp: 150,
    warm: quick ? { ms: 1500, count: 25_000 } : { ms: 7000, count: 25_000 },
    times: Number(values.times ?? 1),
    kills: Number(values.kills ?? 20)
  }
}

/** True if a server is part of the run. */
export const wants = (
  { quick, servers }: Options,
  { core, id }: { readonly id: string; readonly core?: boolean }
): boolean =>
  servers.length === 0
    ? !quick || core === true || id.endsWith("@base")
    : servers.some((asked) => {
        const exact = asked.replace(/!$/, "")
        return id === exact || id === `${exact}@base` || (exact === asked && id.split(":")[0] === asked)
      })
