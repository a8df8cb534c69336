/** Measures throughput, CPU time per call and heap as the number of open sessions grows. Calls go round-robin to all of them. */
import { Connection } from "../Connection.ts"
import * as Http from "../Http.ts"
import { type Cell, slice, type Table, table } from "../Measure.ts"
import type { Options } from "../Options.ts"
import * as Process from "../Process.ts"
import * as Servers from "../Servers.ts"
import type { Target } from "../Target.ts"

/** Numbers of sessions. The last one is the default limit. */
const counts = [1, 100, 1000, 10_000]

const opened = async (port: number, count: number): Promise<ReadonlyArray<Http.Session>> => {
  const connection = new Connection(port)
  await connection.open()
  const sessions: Array<Http.Session> = []
  while (sessions.length < count) sessions.push(await Http.open(connection))
  connection.end()
  return sessions
}

export const sessions = async (options: Options): Promise<Table> => {
  const running: Array<Http.Running> = []
  const targets: Array<Target> = []
  const cells: Array<Cell> = []
  try {
    for (const count of counts) {
      const server = await Http.start(Servers.router)
      running.push(server)
      const first = await opened(server.port, 1)
      const warming = Http.target(server, "2025", first)
      await warming.run("call", 16, { ms: 5000, count: 25_000 })
      await warming.close()
      const before = await Process.heap(server.child)
      const target = Http.target(server, "2025", [...first, ...(await opened(server.port, count - 1))])
      const heap = count === 1 ? Number.NaN : (await Process.heap(server.child)) - before
      targets.push(target)
      cells.push({
        key: `${count} sessions`,
        round: async () => ({
          ...(await slice(target, { kind: "call", inFlight: 16, ms: options.ms, ramp: options.ramp })),
          "heap MiB": heap / 1024 ** 2
        })
      })
    }
    return await table(
      "Growth with open sessions",
      cells,
      Math.min(options.rounds, 4),
      "HTTP tools/call, 16 at once, to all by turns"
    )
  } finally {
    for (const target of targets) await target.close()
    for (const { child } of running) await Process.stop(child, "SIGKILL")
  }
}
