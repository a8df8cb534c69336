/**
 * Cost of metrics per call. Servers with and without metrics run in one process and are called in turn, because two processes differ by
 * more.
 */
import * as Http from "../Http.ts"
import { type Cell, type Table, table } from "../Measure.ts"
import type { Options } from "../Options.ts"
import * as Process from "../Process.ts"
import { ours } from "../Servers.ts"
import type { Target } from "../Target.ts"
import type { Era } from "../Wire.ts"

const eras: ReadonlyArray<Era> = ["2025", "2026"]
const inFlight = 16
const slice = { count: 300 }
/** Unmeasured requests before each slice, because the CPU caches still hold the other server. */
const before = { count: 64 }

/** Starts the servers. Returns their ports, alternating between servers without and with metrics. */
const start = () => {
  const server = Process.start({ id: "pair", file: `${ours}/pair.js`, eras: [] })
  return new Promise<{ readonly child: typeof server.child; readonly ports: ReadonlyArray<number> }>(
    (resolve, reject) => {
      server.child.once("exit", (code) => reject(new Error(`exit ${code}: ${server.log()}`)))
      server.child.stderr?.on("data", () => {
        const ports = Array.from(server.log().matchAll(/READY (\d+)/g), ([, port]) => Number(port))
        if (ports.length === 4) resolve({ child: server.child, ports })
      })
    }
  )
}

/** Returns the CPU time of a call in microseconds, averaged over identical servers. */
const cpuOf = async (targets: ReadonlyArray<Target>): Promise<number> => {
  let us = 0
  for (const { pid, run } of targets) {
    await run("call", inFlight, before)
    const from = Process.cpu(pid)
    await run("call", inFlight, slice)
    us += (Process.cpu(pid) - from) / 1000 / slice.count
  }
  return us / targets.length
}

export const observed = async ({ quick }: Options): Promise<ReadonlyArray<Table>> => {
  const { child, ports } = await start()
  const cells: Array<Cell> = []
  for (const era of eras) {
    const targets = ports.map((port) => Http.target({ child, pid: child.pid ?? 0, port }, era))
    for (let i = 0; i < 20; i++) for (const { run } of targets) await run("call", inFlight, slice)
    const [none, metrics] = [targets.filter((_, i) => i % 2 === 0), targets.filter((_, i) => i % 2 === 1)]
    const plain = `none ${era}`
    cells.push({ key: plain, round: async () => ({ "cpu us": await cpuOf(none) }) })
    cells.push({
      key: `metrics ${era}`,
      against: { none: plain },
      round: async () => ({ "cpu us": await cpuOf(metrics) })
    })
  }
  const measured = await table(
    "HTTP tools/call, servers of one process",
    cells,
    quick ? 20 : 60,
    "metrics against none, two servers each, 16 at once: repeats within 1 % where five runs are taken (`--times 5`)"
  )
  await Process.stop(child)
  return [measured]
}
