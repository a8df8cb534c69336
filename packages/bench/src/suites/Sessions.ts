/** Measures idle sessions: the heap per session, with and without an open GET stream, and the CPU time for opening one. */
import { Connection } from "../Connection.ts"
import * as Http from "../Http.ts"
import { type Figures, type Table, table } from "../Measure.ts"
import { type Options, wants } from "../Options.ts"
import * as Process from "../Process.ts"
import * as Servers from "../Servers.ts"

const lanes = 8
/** Sessions opened before measuring, so that the code is already compiled. */
const warming = 1500
const streams = 300

const measure = async (entry: Servers.Entry, count: number): Promise<Figures> => {
  const server = await Http.start(entry)
  const connections: Array<Connection> = []
  try {
    for (let lane = 0; lane < lanes; lane++) {
      const connection = new Connection(server.port)
      await connection.open()
      connections.push(connection)
    }
    const openMany = async (many: number): Promise<ReadonlyArray<Http.Session>> => {
      const opened: Array<Http.Session> = []
      let left = many
      await Promise.all(
        connections.slice(0, lanes).map(async (connection) => {
          while (left-- > 0) opened.push(await Http.open(connection))
        })
      )
      return opened
    }
    await openMany(warming)
    const before = await Process.heap(server.child)
    const cpu = Process.cpu(server.pid)
    const sessions = await openMany(count)
    const spent = Process.cpu(server.pid) - cpu
    const after = await Process.heap(server.child)
    const figures = { "heap KiB": (after - before) / count / 1024, "cpu us to open": spent / count / 1000 }
    if (entry.get !== true) return figures
    const streaming = sessions.slice(0, streams)
    for (const session of streaming) connections.push(await Http.listen(server.port, session))
    const listening = await Process.heap(server.child)
    return { ...figures, "heap KiB +GET": (listening - after) / streaming.length / 1024 }
  } finally {
    for (const connection of connections) connection.end()
    await Process.stop(server.child, "SIGKILL")
  }
}

export const sessions = async (options: Options): Promise<ReadonlyArray<Table>> => {
  const count = options.quick ? 500 : 1500
  const cells = Servers.http(options.base)
    .filter((entry) => entry.sessions === true && wants(options, entry))
    .map((entry) => ({
      key: entry.id,
      against: { raw: "raw", sdk2: "sdk2:stateful", effect: "effect" },
      sparse: Servers.isPeer(entry),
      round: () => measure(entry, count)
    }))
  return [
    await table(
      "Idle sessions",
      cells,
      options.quick ? 1 : 3,
      `${count} opened after ${warming} others; heap and external after collection`
    )
  ]
}
