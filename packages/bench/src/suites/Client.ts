/** Measures clients against the raw server: the CPU time of the client's process per verified call. */
import { type ChildProcess, spawn } from "node:child_process"
import * as path from "node:path"
import * as Http from "../Http.ts"
import { type Cell, type Table, table } from "../Measure.ts"
import { type Options, wants } from "../Options.ts"
import * as Process from "../Process.ts"
import * as Progress from "../Progress.ts"
import * as Servers from "../Servers.ts"
import type { Era } from "../Wire.ts"

interface Told {
  readonly requests: number
  readonly ms: number
  /** Microseconds. */
  readonly cpu: number
}

/** Starts a client that calls the server at the URL when told to. `flags` are for Node. */
export const start = (entry: Servers.Client, url: string, era: Era, flags: ReadonlyArray<string> = []) => {
  const child = spawn(process.execPath, [...flags, path.join(Process.root, entry.file), url, era], {
    cwd: Process.root,
    env: { ...process.env, NODE_ENV: "production" },
    stdio: ["ignore", "ignore", "pipe", "ipc"]
  })
  let log = ""
  child.stderr?.on("data", (data) => {
    log = `${log}${data}`.slice(-2000)
  })
  const answering = { child, log: () => log }
  const ready = Process.told(answering)
  const run = async (inFlight: number, ms: number) => {
    await ready
    const { cpu, ms: took, requests } = await Process.ask<Told>(answering, { inFlight, ms })
    return { requests, "cpu us": cpu / requests, "per s": (requests / took) * 1000 }
  }
  return { child, ready, run }
}

export const client = async (options: Options): Promise<ReadonlyArray<Table>> => {
  const [raw] = Servers.http()
  if (raw === undefined) return []
  Progress.say("client: warming up")
  const server = await Http.start(raw)
  const running: Array<ChildProcess> = []
  const cells: Array<Cell> = []
  try {
    for (const entry of Servers.clients(options.base).filter((entry) => wants(options, entry))) {
      for (const era of entry.eras) {
        const { child, run } = start(entry, `http://127.0.0.1:${server.port}/mcp`, era)
        running.push(child)
        cells.push({
          key: `${entry.id} ${era}`,
          against: { raw: `raw ${era}`, sdk2: `sdk2 ${era}`, effect: `effect ${era}` },
          sparse: Servers.isPeer(entry),
          round: async () => {
            await run(16, options.ramp)
            const { requests: _, ...figures } = await run(16, options.ms)
            return figures
          }
        })
        // A failure is reported when the round is measured.
        await run(16, options.warm.ms / 3).catch(() => undefined)
      }
    }
    return [
      await table("Client tools/call, 16 at once", cells, options.rounds, "CPU of the client, against the raw server")
    ]
  } finally {
    for (const child of running) await Process.stop(child)
    await Process.stop(server.child, "SIGKILL")
  }
}
