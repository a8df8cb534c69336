/** Starts HTTP servers, opens sessions, and runs load on keep-alive connections. */
import type { ChildProcess } from "node:child_process"
import { Connection, header } from "./Connection.ts"
import * as Process from "./Process.ts"
import type { Entry } from "./Servers.ts"
import { type Limit, load, type Load, type Target } from "./Target.ts"
import * as Wire from "./Wire.ts"

export interface Running {
  readonly child: ChildProcess
  readonly pid: number
  readonly port: number
}

/** Starts a server and waits at most 20 seconds until it prints its address. */
export const start = (entry: Entry, options?: Process.SpawnOptions): Promise<Running> => {
  const { child, log } = Process.start(entry, options)
  const failed = (what: string) => new Error(`${entry.id}: ${what}: ${log()}`)
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(failed("not ready")), 20_000)
    child.once("exit", (code) => reject(failed(`exit ${code}`)))
    child.stderr?.on("data", () => {
      const port = /READY (\d+)/.exec(log())?.[1]
      if (port === undefined || child.pid === undefined) return
      clearTimeout(late)
      resolve({ child, pid: child.pid, port: Number(port) })
    })
  })
}

const headOf = (version: string, session: string | undefined): string =>
  "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n" +
  `accept: application/json, text/event-stream\r\nmcp-protocol-version: ${version}\r\n` +
  (session === undefined ? "" : `mcp-session-id: ${session}\r\n`)

const frame = (head: string, era: Wire.Era, { method, name }: Wire.Request, body: string): string => {
  const named = name === undefined ? "" : `mcp-name: ${name}\r\n`
  const repeated = era === "2026" ? `mcp-method: ${method}\r\n${named}` : ""
  return `${head}${repeated}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

export interface Session {
  /** `undefined` if the server sends none. */
  readonly id: string | undefined
  readonly version: string
}

/** Opens a session with its two requests. */
export const open = async (connection: Connection): Promise<Session> => {
  const head = headOf(Wire.stateful, undefined)
  const body = Wire.encode(1, Wire.initialize, "2025")
  const answer = await connection.request(frame(head, "2025", Wire.initialize, body))
  const found = answer.status === 200 ? Wire.messages(header(answer.head, "content-type") ?? "", answer.body) : []
  const version = found.find(({ id }) => id === 1)?.result?.protocolVersion
  if (version === undefined) throw new Error(`initialize: ${answer.status} ${answer.body.slice(0, 300)}`)
  const id = header(answer.head, "mcp-session-id")
  const said = await connection.request(frame(headOf(version, id), "2025", Wire.initialize, Wire.initialized))
  if (![200, 202, 204].includes(said.status)) throw new Error(`initialized: ${said.status} ${said.body.slice(0, 300)}`)
  return { id, version }
}

/**
 * Opens a session's GET stream on a separate connection. Some servers send the headers only with the first event: wait 1.5 seconds for
 * them.
 */
export const listen = async (port: number, { id, version }: Session): Promise<Connection> => {
  const connection = new Connection(port)
  await connection.open()
  const status = await new Promise<number>((resolve, reject) => {
    const late = setTimeout(() => resolve(200), 1500)
    const done = (status: number): void => {
      clearTimeout(late)
      resolve(status)
    }
    connection.send(
      "GET /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: text/event-stream\r\n" +
        `mcp-protocol-version: ${version}\r\nmcp-session-id: ${id}\r\n\r\n`,
      { done: ({ status }) => done(status), failed: reject, onHead: (head) => done(Number(head.slice(9, 12))) }
    )
  })
  if (status !== 200) throw new Error(`GET: ${status}`)
  return connection
}

interface Exchanged {
  readonly status: number
  readonly head: string
  readonly body: string
}

/** Creates the load for one era. If the era has sessions, uses one, or the given ones in turn. */
export const target = ({ pid, port }: Running, era: Wire.Era, sessions: ReadonlyArray<Session> = []): Target => {
  const connections: Array<Connection> = []
  const heads = sessions.map(({ id, version }) => headOf(version, id))
  let id = 1_000_000
  const connect = async (count: number): Promise<void> => {
    while (connections.length < count) {
      const connection = new Connection(port)
      await connection.open()
      connections.push(connection)
    }
    const [first] = connections
    if (heads.length > 0 || first === undefined) return
    if (era === "2026") heads.push(headOf(Wire.stateless, undefined))
    else {
      const session = await open(first)
      heads.push(headOf(session.version, session.id))
    }
  }
  return {
    pid,
    run: async (kind: Wire.Kinds, inFlight: number, limit: Limit): Promise<Load> => {
      await connect(inFlight)
      const { build } = Wire.kinds[kind]
      return load<Exchanged>(
        inFlight,
        limit,
        () => ++id,
        (lane, id, done, failed) => {
          const request = build(id, era)
          const head = heads[id % heads.length] ?? ""
          connections[lane]?.send(frame(head, era, request, Wire.encode(id, request, era)), { done, failed })
        },
        ({ body, head, status }, id) => {
          if (status !== 200) throw new Error(`HTTP ${status}: ${body.slice(0, 300)}`)
          Wire.verify(kind, Wire.messages(header(head, "content-type") ?? "", body), id)
        }
      )
    },
    close: async () => {
      for (const connection of connections) connection.end()
    }
  }
}
