/** Measures the time from spawning a server to its answer to `initialize`, with warm file caches. */
import { mkdtempSync, rmSync } from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { type Cell, type Table, table } from "../Measure.ts"
import { type Options, wants } from "../Options.ts"
import * as Process from "../Process.ts"
import * as Progress from "../Progress.ts"
import * as Servers from "../Servers.ts"
import * as Stdio from "../Stdio.ts"

export const cold = async (options: Options): Promise<ReadonlyArray<Table>> => {
  // The server starts with Node's compile cache: `NODE_COMPILE_CACHE`, or `module.enableCompileCache()`.
  const NODE_COMPILE_CACHE = mkdtempSync(path.join(os.tmpdir(), "effect-mcp-bench-"))
  const start = async (entry: Servers.Entry, env: Readonly<Record<string, string>>) => {
    const began = performance.now()
    const server = Stdio.target(entry, "2025", { probe: false, env })
    await server.ready()
    const ms = performance.now() - began
    const cpu = Process.cpu(server.pid) / 1e6
    const rss = Process.resident(server.pid) / 1024 ** 2
    // Exit normally, otherwise nothing is written to the compile cache.
    await server.end()
    return { ms, "cpu ms": cpu, "rss MiB": rss }
  }
  const cells = [...Servers.stdio(options.base), ...Servers.starts(options.base)]
    .filter((entry) => entry.kinds === undefined && wants(options, entry))
    .flatMap((entry): ReadonlyArray<Cell> => [
      {
        key: entry.id,
        against: { raw: "raw", sdk2: "sdk2", effect: "effect" },
        sparse: Servers.isPeer(entry),
        round: () => start(entry, {})
      },
      {
        key: `${entry.id} +compile cache`,
        against: { raw: "raw", sdk2: "sdk2", effect: "effect" },
        sparse: true,
        round: () => start(entry, { NODE_COMPILE_CACHE })
      }
    ])
  try {
    // Fills the file caches and the compile cache.
    Progress.say("cold: filling caches")
    for (const cell of [...cells, ...cells]) {
      // A failure is reported when the round is measured.
      await cell.round().catch(() => undefined)
    }
    return [
      await table("Cold start of a stdio server", cells, options.quick ? 5 : 15, "until the answer to initialize")
    ]
  } finally {
    rmSync(NODE_COMPILE_CACHE, { recursive: true, force: true })
  }
}
