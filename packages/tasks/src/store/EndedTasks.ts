/**
 * Finished tasks in an in-memory store. Decides which to keep, which to drop to make room, and when the store is full.
 *
 * Before its time to live is over, a task is only dropped if its caller has read its outcome. If the memory is full, the caller that uses
 * the most loses a task, so a caller that floods the store neither pushes out others' tasks nor blocks their new ones.
 */
import { boundsOf, Shares } from "@effect-mcp/core/internal/inFlight"
import type { Task, TaskOutcome } from "../model/Task.ts"
import { bytesOfText, callerOf, none, type Row } from "./Row.ts"

/** Share of the space that one caller may use. */
const share = 1 / 2

/** A finished task, with data that its owner doesn't see. */
export interface EndedTask {
  readonly task: Task
  readonly owner: string
  /** The caller that it counts against. */
  readonly caller: string
  readonly order: number
  /** Size of its outcome as JSON. */
  readonly bytes: number
}

/**
 * Ends a row's task. `message` replaces its last progress message, even if `undefined`. Readers receive the outcome parsed from its JSON,
 * because the value that the handler returned may change later. Throws if the outcome has no JSON form.
 */
export const endedOf = (
  { input, order, task }: Row,
  updatedAt: number,
  outcome: TaskOutcome,
  message: string | undefined
): EndedTask => {
  const text = JSON.stringify(outcome)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the text was made of an outcome
  const copy = JSON.parse(text) as TaskOutcome
  return {
    task: { ...task, updatedAt, message, questions: none, outcome: copy },
    owner: input.owner,
    caller: callerOf(input),
    order,
    bytes: bytesOfText(text)
  }
}

/** One caller's tasks, in the order in which they ended. */
interface Holding {
  readonly unread: Set<EndedTask>
  /** Tasks whose outcome the caller has seen. */
  readonly read: Set<EndedTask>
}

export interface EndedOptions {
  /**
   * Maximum number of finished tasks to keep. One caller may use half of it. A caller at its limit loses the first task whose outcome it
   * has read. If it has read none, its new tasks are rejected. Default 10 000.
   */
  readonly kept?: number | undefined
  /**
   * Maximum total size of kept outcomes as JSON, in bytes. The same rules apply. If running tasks finish with more than that in total, the
   * caller that uses the most loses its first task. Default 256 MiB.
   */
  readonly keptBytes?: number | undefined
}

const firstOf = (tasks: Set<EndedTask> | undefined): EndedTask | undefined => tasks?.values().next().value

/** Returns the task that a caller would lose first. */
const firstToLose = ({ read, unread }: Holding): EndedTask | undefined => firstOf(read) ?? firstOf(unread)

export class EndedTasks {
  private readonly count: Shares
  private readonly bytes: Shares
  private readonly byId = new Map<string, EndedTask>()
  private readonly byCaller = new Map<string, Holding>()

  constructor({ kept = 10_000, keptBytes = 256 * 1024 * 1024 }: EndedOptions) {
    this.count = new Shares(boundsOf(kept, share))
    this.bytes = new Shares(boundsOf(keptBytes, share))
  }

  get(id: string): EndedTask | undefined {
    return this.byId.get(id)
  }

  get all(): Iterable<EndedTask> {
    return this.byId.values()
  }

  /** Keeps a finished task. */
  add(ended: EndedTask): void {
    const { caller, task } = ended
    let holding = this.byCaller.get(caller)
    if (holding === undefined) this.byCaller.set(caller, (holding = { unread: new Set(), read: new Set() }))
    holding.unread.add(ended)
    this.byId.set(task.id, ended)
    this.weigh(ended, 1)
    while (this.bytes.total > this.bytes.bounds.total) {
      const excess = this.largest && firstToLose(this.largest)
      if (excess === undefined || excess === ended) return
      this.delete(excess)
    }
  }

  private weigh({ bytes, caller }: EndedTask, sign: 1 | -1): void {
    this.count.add(caller, sign)
    this.bytes.add(caller, sign * bytes)
  }

  /** Records that the task's caller has seen its outcome. */
  read(ended: EndedTask): void {
    const holding = this.byCaller.get(ended.caller)
    if (holding?.unread.delete(ended) === true) holding.read.add(ended)
  }

  /** Forgets a task. */
  delete(ended: EndedTask): void {
    const { caller, task } = ended
    const holding = this.byCaller.get(caller)
    if (holding === undefined || !(holding.unread.delete(ended) || holding.read.delete(ended))) return
    this.byId.delete(task.id)
    this.weigh(ended, -1)
    if (holding.unread.size + holding.read.size === 0) this.byCaller.delete(caller)
  }

  /** The caller that uses the most space. */
  private get largest(): Holding | undefined {
    let largest: Holding | undefined
    let most = -1
    for (const [caller, holding] of this.byCaller) {
      const part = Math.max(
        this.count.of(caller) / this.count.bounds.total,
        this.bytes.of(caller) / this.bytes.bounds.total
      )
      if (part <= most) continue
      largest = holding
      most = part
    }
    return largest
  }

  /** Drops tasks until there is room for another one from this caller. Returns false if none may be dropped. */
  makeRoom(caller: string): boolean {
    while (true) {
      const exceeded = [this.count.exceededBy(caller, 1), this.bytes.exceededBy(caller, 1)]
      if (this.byId.size === 0 || exceeded.every((bound) => bound === undefined)) return true
      const own = this.byCaller.get(caller)
      const { largest } = this
      // A caller makes room for its own tasks only with tasks that it has read.
      const isOwn = exceeded.includes("perCaller") || largest === own
      const forgotten = isOwn ? firstOf(own?.read) : largest && firstToLose(largest)
      if (forgotten === undefined) return false
      this.delete(forgotten)
    }
  }
}
