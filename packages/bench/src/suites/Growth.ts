/** How cost grows: CPU per call as registered tools grow (it must not), and as open sessions do. */
import { type Cell, slice, type Table, table } from "../Measure.ts"
import type { Options } from "../Options.ts"
import { ours } from "../Servers.ts"
import * as Stdio from "../Stdio.ts"

const tools = [10, 100, 1000, 10_000]

export const growth = async (options: Options): Promise<ReadonlyArray<Table>> => {
  const opened: Array<{ readonly close: () => Promise<void> }> = []
  try {
    const cells: Array<Cell> = []
    for (const count of tools) {
      const env = { BENCH_TOOLS: `${count}` }
      const target = Stdio.target({ id: `ours, ${count} tools`, file: `${ours}/stdio.js`, eras: ["2025"], env }, "2025")
      opened.push(target)
      await target.ready()
      await target.run("call", 16, options.warm)
      cells.push({
        key: `${count} tools`,
        round: () => slice(target, { kind: "call", inFlight: 16, ms: options.ms, ramp: options.ramp })
      })
    }
    return [await table("Growth of tools/call with the tools registered (stdio)", cells, options.rounds)]
  } finally {
    for (const target of opened) await target.close()
  }
}
