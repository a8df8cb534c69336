/** How cost grows: CPU per call as registered tools and open sessions grow (it must not), and the heap that sessions take. */
import { Connection } from "../Connection.ts"
import * as Http from "../Http.ts"
import { type Cell, type Figures, slice, type Table, table } from "../Measure.ts"
import type { Options } from "../Options.ts"
import * as Process from "../Process.ts"
import * as Servers from "../Servers.ts"
import * as Stdio from "../Stdio.ts"

const tools = [10, 100, 1000, 10_000]
/** With the one that the load opens, as many as may be open by default. */
const sessions = [1, 100, 1000, 9999]

const withTools = async (options: Options): Promise<Table> => {
  const opened: Array<{ readonly close: () => Promise<void> }> = []
  try {
    const cells: Array<Cell> = []
    for (const count of tools) {
      const env = { BENCH_TOOLS: `${count}` }
      const entry: Servers.Entry = { id: `${count} tools`, file: `${Servers.ours}/stdio.js`, eras: ["2025"], env }
      const target = Stdio.target(entry, "2025")
      opened.push(target)
      await target.ready()
      await target.run("call", 64, options.warm)
      cells.push({
        key: entry.id,
        round: () => slice(target, { kind: "call", inFlight: 64, ms: options.ms, ramp: options.ramp })
      })
    }
    return await table("Growth with registered tools (stdio tools/call, 64 in flight)", cells, options.rounds)
  } finally {
    for (const target of opened) await target.close()
  }
}

const atSessions = async (entry: Servers.Entry, count: number, options: Options): Promise<Figures> => {
  const server = await Http.start(entry)
  const connection = new Connection(server.port)
  const target = Http.target(server, "2025")
  try {
    await connection.open()
    await target.run("call", 16, options.warm)
    const before = await Process.heap(server.child)
    for (let opened = 0; opened < count; opened++) await Http.open(connection)
    const heap = (await Process.heap(server.child)) - before
    const figures = await slice(target, { kind: "call", inFlight: 16, ms: options.ms * 2, ramp: options.ramp })
    return { ...figures, "heap MiB": heap / 1024 ** 2 }
  } finally {
    connection.end()
    await target.close()
    await Process.stop(server.child, "SIGKILL")
  }
}

const withSessions = (options: Options): Promise<Table> => {
  const [entry] = Servers.http().filter(({ id }) => id === "ours:router")
  const cells =
    entry === undefined
      ? []
      : sessions.map((count) => ({ key: `${count} sessions`, round: () => atSessions(entry, count, options) }))
  return table("Growth with open sessions (HTTP tools/call, 16 at once)", cells, Math.min(options.rounds, 2))
}

export const growth = async (options: Options): Promise<ReadonlyArray<Table>> => [
  await withTools(options),
  await withSessions(options)
]
