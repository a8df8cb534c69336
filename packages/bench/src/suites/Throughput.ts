/** Measures the CPU time per request under load, over HTTP and over stdio. */
import * as Http from "../Http.ts"
import { type Cell, slice, type Table, table } from "../Measure.ts"
import { type Options, wants } from "../Options.ts"
import * as Process from "../Process.ts"
import * as Progress from "../Progress.ts"
import * as Servers from "../Servers.ts"
import * as Stdio from "../Stdio.ts"
import { broken, type Limit, type Target } from "../Target.ts"
import { type Era, floods, type Kinds } from "../Wire.ts"

interface Measured {
  readonly entry: Servers.Entry
  readonly era: Era
  readonly target: Target
}

interface Load {
  readonly title: string
  readonly kind: Kinds
  readonly inFlight: number
  readonly unit?: number
  readonly note?: string
}

const echoAndAdd =
  "echo and add by turns, 50 tools; handlers are async functions but for `generators`, `provided` and `trivial`"

const httpLoads: ReadonlyArray<Load> = [
  { title: "HTTP tools/call, 16 at once", kind: "call", inFlight: 16, note: echoAndAdd },
  { title: "HTTP tools/call that waits 1 ms, 16 at once", kind: "wait", inFlight: 16, note: "a timer" },
  { title: "HTTP tools/call, 64 at once", kind: "call", inFlight: 64 },
  { title: "HTTP tools/list of 50 tools, 16 at once", kind: "list", inFlight: 16 },
  { title: "HTTP echo of 1 MiB, 4 at once", kind: "big", inFlight: 4 },
  { title: "HTTP progress", kind: "flood", inFlight: 1, unit: floods, note: "per notification, 1000 in a call" }
]
const stdioLoads: ReadonlyArray<Load> = [
  { title: "stdio tools/call, 64 in flight", kind: "call", inFlight: 64, note: echoAndAdd },
  { title: "stdio tools/call that waits 1 ms, 64 in flight", kind: "wait", inFlight: 64, note: "a timer" },
  { title: "stdio tools/call, 1 in flight", kind: "call", inFlight: 1 },
  { title: "stdio tools/list of 50 tools, 16 in flight", kind: "list", inFlight: 16 },
  { title: "stdio echo of 1 MiB, 4 in flight", kind: "big", inFlight: 4 },
  { title: "stdio progress", kind: "flood", inFlight: 1, unit: floods, note: "per notification, 1000 in a call" }
]

/** A failure here occurs again during the measurement, which reports it. */
const warmUp = async ({ entry, era, target }: Measured, kind: Kinds, inFlight: number, limit: Limit): Promise<void> => {
  try {
    await target.run(kind, inFlight, limit)
  } catch (error) {
    Progress.say(`${entry.id} ${era}: ${kind} failed: ${String(error)}`)
  }
}

const measure = async (
  measured: ReadonlyArray<Measured>,
  loads: ReadonlyArray<Load>,
  sdk: (era: Era) => string,
  options: Options
): Promise<ReadonlyArray<Table>> => {
  const warm = new Set<number>()
  for (const one of measured) {
    const { entry, era, target } = one
    Progress.say(`warming up ${entry.id} ${era}`)
    // For the second era of a process, most of the code is already compiled.
    const ms = options.warm.ms / (warm.has(target.pid) ? 2 : 1)
    await warmUp(one, "call", 16, { ...options.warm, ms })
    warm.add(target.pid)
  }
  const tables: Array<Table> = []
  for (const load of loads.filter(({ kind }) => options.kinds.length === 0 || options.kinds.includes(kind))) {
    const loaded = measured.filter(({ entry }) => entry.kinds === undefined || entry.kinds.includes(load.kind))
    const cells = loaded.map(({ entry, era, target }): Cell => ({
      key: `${entry.id} ${era}`,
      against: { raw: `raw ${era}`, sdk2: `${sdk(era)} ${era}`, effect: `effect ${era}` },
      sparse: Servers.isPeer(entry),
      round: () =>
        slice(target, { ...load, ms: options.ms, ramp: Servers.isPeer(entry) ? options.ramp * 2 : options.ramp })
    }))
    // Calls are warm by now, but the code of other kinds of load is not.
    if (load.kind !== "call") for (const one of loaded) await warmUp(one, load.kind, load.inFlight, { ms: 300 })
    tables.push(await table(load.title, cells, options.rounds, load.note))
  }
  return tables
}

export const http = async (options: Options): Promise<ReadonlyArray<Table>> => {
  const running: Array<Http.Running> = []
  const measured: Array<Measured> = []
  try {
    for (const entry of Servers.http(options.base).filter((entry) => wants(options, entry))) {
      try {
        const server = await Http.start(entry)
        running.push(server)
        for (const era of entry.eras) measured.push({ entry, era, target: Http.target(server, era) })
      } catch (error) {
        for (const era of entry.eras) measured.push({ entry, era, target: broken(error) })
      }
    }
    return await measure(measured, httpLoads, (era) => (era === "2025" ? "sdk2:stateful" : "sdk2:handler"), options)
  } finally {
    for (const { target } of measured) await target.close()
    for (const { child } of running) await Process.stop(child, "SIGKILL")
  }
}

export const stdio = async (options: Options): Promise<ReadonlyArray<Table>> => {
  const measured: Array<Measured> = []
  try {
    for (const entry of Servers.stdio(options.base).filter((entry) => wants(options, entry))) {
      for (const era of entry.eras) {
        const target = Stdio.target(entry, era)
        try {
          await target.ready()
          measured.push({ entry, era, target })
        } catch (error) {
          await target.close()
          measured.push({ entry, era, target: broken(error) })
        }
      }
    }
    return await measure(measured, stdioLoads, () => "sdk2", options)
  } finally {
    for (const { target } of measured) await target.close()
  }
}
