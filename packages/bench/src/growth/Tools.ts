/** Measures the CPU time of a call, which must not depend on the number of tools, and of a start, which registers them. */
import { slice, type Table, table } from "../Measure.ts"
import type { Options } from "../Options.ts"
import * as Process from "../Process.ts"
import * as Servers from "../Servers.ts"
import * as Stdio from "../Stdio.ts"
import type { Target } from "../Target.ts"

const counts = [10, 100, 1000, 10_000]

export const tools = async (options: Options): Promise<Table> => {
  const opened: Array<Target> = []
  try {
    const cells = []
    for (const count of counts) {
      const env = { BENCH_TOOLS: `${count}` }
      const entry: Servers.Entry = { id: `${count} tools`, file: `${Servers.ours}/stdio.js`, eras: ["2025"], env }
      const target = Stdio.target(entry, "2025")
      opened.push(target)
      await target.ready()
      const start = Process.cpu(target.pid) / 1e6
      await target.run("call", 64, { ms: 3000, count: 100_000 })
      cells.push({
        key: entry.id,
        round: async () => ({
          ...(await slice(target, { kind: "call", inFlight: 64, ms: options.ms, ramp: options.ramp })),
          "cpu ms to start": start
        })
      })
    }
    return await table(
      "Growth with registered tools",
      cells,
      Math.min(options.rounds, 4),
      "stdio tools/call, 64 in flight; the CPU of a start is that of one, until its answer to initialize"
    )
  } finally {
    for (const target of opened) await target.close()
  }
}
