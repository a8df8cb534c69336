/**
 * Measures several nodes of one server: the cost of a call on the session's node and on another node, and the delay of a client's answer on
 * another node.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import * as path from "node:path"
import * as Asking from "../Asking.ts"
import * as Http from "../Http.ts"
import { Connection } from "../Connection.ts"
import { type Cell, type Figures, median, type Table, table } from "../Measure.ts"
import type { Options } from "../Options.ts"
import * as Process from "../Process.ts"
import { ours } from "../Servers.ts"
import type { Target } from "../Target.ts"

const file = `${ours}/nodes.js`

interface Pair {
  readonly running: ReadonlyArray<Http.Running>
  /** Requests to each node in a session that the first node holds. */
  readonly targets: ReadonlyArray<Target>
  readonly close: () => Promise<void>
}

const pairOf = async (kind: string): Promise<Pair> => {
  const place = `bench_nodes_${process.pid}`
  const entry = { id: `nodes:${kind}`, file, args: [kind, place], eras: ["2025"] } as const
  const running = [await Http.start(entry), await Http.start(entry)]
  const connection = new Connection(running[0]?.port ?? 0)
  await connection.open()
  const session = await Http.open(connection)
  connection.end()
  const targets = running.map((one) => Http.target(one, "2025", [session]))
  return {
    running,
    targets,
    close: async () => {
      for (const target of targets) await target.close()
      for (const { child } of running) await Process.stop(child, "SIGKILL")
      const removal = spawn(process.execPath, [path.join(Process.root, file), kind, place, "remove"], {
        stdio: "ignore"
      })
      await once(removal, "exit")
    }
  }
}

/** Runs load on one node, and returns the CPU time that all nodes spent on it. */
const slice = async ({ running }: Pair, target: Target, inFlight: number, options: Options): Promise<Figures> => {
  const spent = (): number => running.reduce((sum, { pid }) => sum + Process.cpu(pid), 0)
  await target.run("call", inFlight, { ms: options.ramp })
  const before = spent()
  const { ms, p50, p99, requests } = await target.run("call", inFlight, { ms: options.ms })
  return {
    "cpu us": (spent() - before) / requests / 1000,
    "per s": (requests / ms) * 1000,
    "p50 ms": p50,
    "p99 ms": p99
  }
}

const kinds = ["postgres", "redis"]

/** Measures how long answers take to a question from the first of two nodes, sent to either node. */
const answered = async (kind: string): Promise<Figures> => {
  const pair = await pairOf(kind)
  try {
    const [own, other] = pair.running.map(({ port }) => port)
    if (own === undefined || other === undefined) throw new Error("A node has no port")
    const session = await Asking.open(own)
    const times: Record<"own" | "other", Array<number>> = { own: [], other: [] }
    for (let at = 0; at < 200; at++) {
      const [here, there] = [await Asking.time(session, own, own), await Asking.time(session, own, other)]
      // The first rounds compile the code.
      if (at < 50) continue
      times.own.push(here)
      times.other.push(there)
    }
    const figures = { "own ms": median(times.own), "other ms": median(times.other) }
    return { ...figures, "more ms": figures["other ms"] - figures["own ms"] }
  } finally {
    await pair.close()
  }
}

export const nodes = async (options: Options): Promise<ReadonlyArray<Table>> => {
  const pairs = new Map<string, Pair>()
  const tables: Array<Table> = []
  try {
    for (const kind of kinds) {
      const pair = await pairOf(kind)
      pairs.set(kind, pair)
      for (const target of pair.targets) await target.run("call", 16, options.warm)
    }
    for (const inFlight of [1, 16, 64]) {
      const cells = Array.from(pairs).flatMap(([kind, pair]) =>
        pair.targets.map((target, at): Cell => ({
          key: `${at === 0 ? "own" : "other"} ${kind}`,
          against: at === 0 ? {} : { own: `own ${kind}` },
          round: () => slice(pair, target, inFlight, options)
        }))
      )
      const title = `Calls to a node that holds the session, and to another one, ${inFlight} at once`
      const notes = "HTTP tools/call of 2025-11-25; CPU of both nodes"
      tables.push(await table(title, cells, options.rounds, notes))
    }
    const title = "Answers of a client, at the node that asked it and at another one"
    const cells = kinds.map((kind): Cell => ({ key: kind, round: () => answered(kind) }))
    const note = "from the POST of an answer until the call that asked has its result; medians of 150, by turns"
    tables.push(await table(title, cells, options.rounds, note))
    return tables
  } finally {
    for (const pair of pairs.values()) await pair.close()
  }
}
