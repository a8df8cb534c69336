/** Measures in-memory tasks: the CPU time of a task compared with an ordinary call of the same tool, and the memory of an open task. */
import { type Cell, type Figures, slice, type Table, table } from "../Measure.ts"
import { type Options, wants } from "../Options.ts"
import * as Servers from "../Servers.ts"
import * as Stdio from "../Stdio.ts"
import type { Era } from "../Wire.ts"

const inFlight = 16
/** Default limit on open tasks. */
const open = 10_000
/** Tasks opened before measuring, so that the code they need is already compiled. */
const warming = 1000

/** Kinds of load by era. In 2026, reading a task also returns its result. */
const kinds = { "2025": ["inline", "task", "awaited", "floor"], "2026": ["inline", "task", "floor"] } as const

const suffixOf = ({ id }: Servers.Entry): string => id.slice("ours:tasks".length)

const started = async (entry: Servers.Entry, era: Era) => {
  const target = Stdio.target(entry, era)
  await target.ready()
  return target
}

const calls = async (options: Options, entries: ReadonlyArray<Servers.Entry>): Promise<Table> => {
  const targets: Array<Awaited<ReturnType<typeof started>>> = []
  try {
    const cells: Array<Cell> = []
    for (const entry of entries) {
      for (const era of entry.eras) {
        const target = await started(entry, era)
        targets.push(target)
        const suffix = suffixOf(entry)
        for (const kind of kinds[era]) {
          await target.run(kind, inFlight, options.warm)
          cells.push({
            key: `${kind}${suffix} ${era}`,
            against: { inline: `inline${suffix} ${era}` },
            round: () => slice(target, { kind, inFlight, ms: options.ms, ramp: options.ramp })
          })
        }
      }
    }
    return await table(
      `Tasks over stdio, ${inFlight} in flight`,
      cells,
      options.rounds,
      "a call of a tool within its request; as a task until its result has come: create and read, and in 2025 the result too; awaited: create and result, without a read; floor: as many of the smallest requests as a task"
    )
  } finally {
    for (const target of targets) await target.close()
  }
}

const kept = async (entry: Servers.Entry, era: Era): Promise<Figures> => {
  const target = await started(entry, era)
  try {
    await target.run("hold", inFlight, { count: warming })
    const before = await target.heap()
    await target.run("hold", inFlight, { count: open })
    return { "heap KiB": ((await target.heap()) - before) / open / 1024 }
  } finally {
    await target.close()
  }
}

export const tasks = async (options: Options): Promise<ReadonlyArray<Table>> => {
  const entries = Servers.withTasks(options.base).filter((entry) => wants(options, entry))
  const cells = entries.flatMap((entry) =>
    entry.eras.map((era): Cell => ({ key: `open${suffixOf(entry)} ${era}`, round: () => kept(entry, era) }))
  )
  return [
    await calls(options, entries),
    await table("Open tasks", cells, options.quick ? 1 : 3, `${open} opened after ${warming} others, after collection`)
  ]
}
