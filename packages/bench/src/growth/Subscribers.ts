/**
 * Measures the CPU time per message as the number of subscribers to a resource grows: sessions (2025), or `subscriptions/listen` requests
 * (2026). They are inside the server's process (`servers/subscribers.ts`), so that ten thousand of them need no sockets.
 */
import { type Cell, type Table, table } from "../Measure.ts"
import type { Options } from "../Options.ts"
import * as Process from "../Process.ts"
import * as Servers from "../Servers.ts"
import type { Era } from "../Wire.ts"

const counts = [1, 100, 1000, 10_000]
const eras: ReadonlyArray<Era> = ["2025", "2026"]
/** Minimum number of messages per round. */
const messages = 20_000

interface Updated {
  readonly messages: number
  /** How often the resource's stream of changes was started. */
  readonly watchers: number
}

const start = async (
  era: Era,
  count: number
): Promise<{ readonly cell: Cell; readonly process: Process.Answering }> => {
  const entry: Servers.Entry = { id: "subscribers", file: `${Servers.ours}/subscribers.js`, eras }
  const process = Process.start(entry)
  const { child } = process
  await Process.told(process)
  // The first subscriber creates the state that all share.
  await Process.ask(process, { open: 1, era })
  const before = await Process.heap(child)
  const more = count - 1
  if (more > 0) await Process.ask(process, { open: more, era })
  const each = more > 0 ? ((await Process.heap(child)) - before) / more / 1024 : Number.NaN
  return {
    process,
    cell: {
      key: `${count} in ${era}`,
      round: async () => {
        const question = { updates: Math.max(1, Math.ceil(messages / count)) }
        await Process.ask(process, question)
        const { pid = 0 } = child
        const spent = Process.cpu(pid)
        const began = performance.now()
        const { messages: sent, watchers } = await Process.ask<Updated>(process, question)
        const took = performance.now() - began
        const cpu = Process.cpu(pid) - spent
        return {
          "cpu us": cpu / sent / 1000,
          "per s": (sent / took) * 1000,
          "heap KiB each": each,
          watchers
        }
      }
    }
  }
}

export const subscribers = async (options: Options): Promise<Table> => {
  const started: Array<{ readonly cell: Cell; readonly process: Process.Answering }> = []
  try {
    for (const era of eras) for (const count of counts) started.push(await start(era, count))
    return await table(
      "Growth with subscribers of one resource",
      started.map(({ cell }) => cell),
      Math.min(options.rounds, 4),
      "per message that an update sends; each subscriber has a wire of its own, which writes nowhere"
    )
  } finally {
    for (const { process } of started) await Process.stop(process.child, "SIGKILL")
  }
}
