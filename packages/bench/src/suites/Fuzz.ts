/** Measures the cost of a generated conversation with an in-memory server, in a separate process. */
import * as path from "node:path"
import { type Cell, type Table, table } from "../Measure.ts"
import type { Options } from "../Options.ts"
import * as Process from "../Process.ts"
import { ours } from "../Servers.ts"

const versions = { "2025": "2025-11-25", "2026": "2026-07-28" }

const cells = (kinds: ReadonlyArray<string>, directory: string, suffix = ""): ReadonlyArray<Cell> =>
  Object.entries(versions).flatMap(([era, version]) =>
    kinds.map((kind) => ({
      key: `${kind}${suffix} ${era}`,
      round: () => Process.printed(path.join(Process.root, directory, "fuzz.js"), kind, version)
    }))
  )

export const fuzz = async ({ base, quick }: Options): Promise<ReadonlyArray<Table>> => {
  const rounds = quick ? 1 : 3
  const both = (...kinds: ReadonlyArray<string>) => [
    ...cells(kinds, ours),
    ...(base === undefined ? [] : cells(kinds, base, "@base"))
  ]
  return [
    await table(
      "Conversations of ten messages in memory",
      both("fresh", "shared"),
      rounds,
      "CPU of the process for one that is generated, played and judged by all rules; `fresh`: with a server of its own, `shared`: all with one server"
    ),
    await table(
      "Conversations of ten messages over stdio",
      both("stdio"),
      rounds,
      "CPU of the fuzzer and of the processes of a bundled server, of 400 conversations, two at once; a core has 100 a second at 10 000 us"
    )
  ]
}
