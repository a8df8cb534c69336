/** Kills or freezes processes while their tasks run, and measures when another process continues the tasks and what is lost. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { type Cell, type Figures, type Table, table } from "../Measure.ts"
import type { Options } from "../Options.ts"
import { Node, remove, type Result } from "../RecoveryNode.ts"

const kinds = { sqlite: "SQLite", postgres: "Postgres" } as const
type Kind = keyof typeof kinds
/** The stores to measure. */
const all: ReadonlyArray<Kind> = ["sqlite", "postgres"]

type Start = (lease?: number) => Node

let places = 0
/** Runs `use` with a new store, then kills its processes and removes its data. */
const at = async <A>(kind: Kind, use: (start: Start) => Promise<A>): Promise<A> => {
  const folder = mkdtempSync(path.join(tmpdir(), "bench-recovery-"))
  const schema = `bench_recovery_${process.pid}_${++places}`
  const nodes: Array<Node> = []
  try {
    return await use((lease = 10_000) => {
      const node = new Node(kind, kind === "postgres" ? schema : path.join(folder, "tasks.db"), lease)
      nodes.push(node)
      return node
    })
  } finally {
    for (const node of nodes) await node.kill()
    if (kind === "postgres") await remove(schema)
    rmSync(folder, { recursive: true, force: true })
  }
}

const endless = { name: "t", count: 10_000, millis: 10 }
/** Starts a process with a running task, of which some steps are recorded. */
const running = async (start: Start, lease?: number): Promise<Node> => {
  const node = await start(lease).ready()
  await node.call("steps", endless)
  await node.line("begin t 3")
  return node
}

/** Measures the time from a kill to the task's next step in another process, which is already running. */
const killed = (kind: Kind): Promise<Figures> =>
  at(kind, async (start) => {
    const node = await running(start)
    const other = await start().ready()
    const from = performance.now()
    await node.kill()
    return { ms: (await other.line("begin t")) - from }
  })

/** Measures the time from the first answer of a starting process to the task's next step, or 0 if the step comes first. */
const restarted = (kind: Kind): Promise<Figures> =>
  at(kind, async (start) => {
    await (await running(start)).kill()
    const other = start()
    const answered = other.ready().then(() => performance.now())
    const first = await other.line("begin t")
    return { ms: Math.max(0, first - (await answered)) }
  })

const lease = 2000
/** Measures the time until another process continues the task of a frozen one, beyond the lease. */
const frozen = (kind: Kind): Promise<Figures> =>
  at(kind, async (start) => {
    const node = await running(start, lease)
    const other = await start(lease).ready()
    const from = performance.now()
    node.signal("SIGSTOP")
    return { ms: (await other.line("begin t")) - from - lease }
  })

const answers = 100
/** Measures the time from an answer, received by one process, to the next line of the handler, which waits in another. */
const answered = (kind: Kind): Promise<Figures> =>
  at(kind, async (start) => {
    const [node, other] = [await start().ready(), await start().ready()]
    const taskId = await node.call("questions", { count: answers })
    const times: Array<number> = []
    for (let key = 0; key < answers; key++) {
      await other.read(taskId, ({ inputRequests = {} }) => `${key}` in inputRequests)
      const from = performance.now()
      const resumed = Promise.any([node.line(`resumed ${key}`), other.line(`resumed ${key}`)])
      await other.request("tasks/update", {
        taskId,
        inputResponses: { [key]: { action: "accept", content: { ok: true } } }
      })
      times.push((await resumed) - from)
    }
    const sorted = times.toSorted((a, b) => a - b)
    const share = (of: number): number => sorted[Math.ceil(of * answers) - 1] ?? Number.NaN
    return { ms: share(0.5), "p99 ms": share(0.99) }
  })

/** Number of concurrent tasks, steps per task, milliseconds per step, and kills per batch. */
const [tasks, steps, pace, killsEach] = [8, 100, 20, 20]
const expected = JSON.stringify(Array.from({ length: steps }, (_, step) => step))
/** True if the task was given up because ten processes in a row took it without recording a step. */
const isGivenUp = ({ error }: Result): boolean => error?.message?.startsWith("Gave up after") === true
const isOver = ({ status = "" }: Result): boolean => ["completed", "failed", "cancelled"].includes(status)

/** Kills one process after another at random moments. The last process completes the tasks. */
const batch = (kind: Kind): Promise<{ lost: number; wrong: number; again: number; givenUp: number }> =>
  at(kind, async (start) => {
    const lines: Array<string> = []
    const ids: Array<string> = []
    for (let kill = 0; kill < killsEach; kill++) {
      const node = await start().ready()
      for (let task = ids.length; task < tasks; task++) {
        ids.push(await node.call("steps", { name: `${task}`, count: steps, millis: pace }))
      }
      // All tasks may have ended in the previous process, so that none starts here.
      await node.line("start", 3000).catch(() => undefined)
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 150))
      await node.kill()
      lines.push(...node.lines.map(({ line }) => line))
    }
    const last = await start().ready()
    const ended = await Promise.all(ids.map((id) => last.read(id, isOver)))
    const begun = [...lines, ...last.lines.map(({ line }) => line)].filter((line) => line.startsWith("begin"))
    const completed = ended.filter(({ status }) => status === "completed")
    const givenUp = ended.filter(isGivenUp).length
    return {
      givenUp,
      lost: ended.length - completed.length - givenUp,
      wrong: completed.filter(({ result }) => JSON.stringify(result?.structuredContent?.values) !== expected).length,
      again: begun.length - new Set(begun).size
    }
  })

const torture = async (kind: Kind, kills: number): Promise<Figures> => {
  const sum = { lost: 0, wrong: 0, again: 0, givenUp: 0 }
  for (let done = 0; done < kills; done += killsEach) {
    const { again, givenUp, lost, wrong } = await batch(kind)
    sum.givenUp += givenUp
    sum.lost += lost
    sum.wrong += wrong
    sum.again += again
  }
  return {
    kills,
    lost: sum.lost,
    wrong: sum.wrong,
    "given up": sum.givenUp,
    "again per kill and task": sum.again / kills / tasks
  }
}

const rows = (what: string, round: (kind: Kind) => Promise<Figures>, of = all): ReadonlyArray<Cell> =>
  of.map((kind) => ({ key: `${what}, ${kinds[kind]}`, round: () => round(kind) }))

export const recovery = async (options: Options): Promise<ReadonlyArray<Table>> => [
  await table(
    "Tasks whose process ends",
    [
      ...rows("killed, another process runs", killed),
      ...rows("killed, a process starts", restarted),
      ...rows("frozen, beyond its lease", frozen)
    ],
    options.quick ? 1 : 3,
    "until the first step in another process; where one starts, from its first answer"
  ),
  await table(
    "Answers that another process takes",
    rows("a task's question", answered),
    options.quick ? 1 : 3,
    "until the handler continues in its own process"
  ),
  await table(
    "Processes that are killed at any moment",
    rows("torture", (kind) => torture(kind, options.kills)),
    1,
    `${tasks} tasks at once, of ${steps} steps of ${pace} ms; lost, wrong and given up count tasks, again the steps whose record was cut off`
  )
]
