/**
 * The tasks of a store in memory that have ended: which are kept, which are forgotten for another, and when there is no room.
 *
 * Until its time to live is over, a task is forgotten only after its caller has read its end. If the memory is full, the caller that keeps
 * the most loses a task: a caller that floods the memory neither pushes out the tasks of others nor keeps new ones out.
 */
import { boundsOf, Shares } from "@effect-mcp/core/internal/Shares"
import type { Task, TaskOutcome } from "../model/Task.ts"
import { bytesOfText, callerOf, none, type Row } from "./Row.ts"

/** The part of the room that one caller may fill. */
const share = 1 / 2

/** A task that has ended, with what its owner does not see. */
export interface EndedTask {
  readonly task: Task
  readonly owner: string
  /** The caller that it counts for. */
  readonly caller: string
  readonly order: number
  /** Size of its outcome as JSON. */
  readonly bytes: number
}

/**
 * Ends the task of a row; `message` replaces its last progress message, even if it is `undefined`. Readers get the outcome as its JSON says,
 * since the value that the handler returned may change later. Throws if the outcome has no JSON form.
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

/** The tasks of one caller, in the order of their ends. */
interface Holding {
  readonly unread: Set<EndedTask>
  /** Tasks whose end the caller has seen. */
  readonly read: Set<EndedTask>
}

export interface EndedOptions {
  /**
   * Number of ended tasks that are kept; one caller has half of them. A caller that keeps so many loses the first whose end it has read; if
   * it has read none, its new tasks are refused. Default 10 000.
   */
  readonly kept?: number | undefined
  /**
   * Bytes of the outcomes that are kept, as JSON, with the same rule. If running tasks end with more than that in all, the caller that keeps
   * the most loses its first. Default 256 MiB.
   */
  readonly keptBytes?: number | undefined
}

const firstOf = (tasks: Set<EndedTask> | undefined): EndedTask | undefined => tasks?.values().next().value

/** The task that a caller loses first. */
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

  /** Keeps a task that has ended. */
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

  /** Its caller has seen how the task ended. */
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

  /** The holding of the caller that fills the largest part of the room. */
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

  /** Forgets tasks until there is room for one more of a caller. Returns false if none may be forgotten. */
  makeRoom(caller: string): boolean {
    while (true) {
      const exceeded = [this.count.exceededBy(caller, 1), this.bytes.exceededBy(caller, 1)]
      if (this.byId.size === 0 || exceeded.every((bound) => bound === undefined)) return true
      const own = this.byCaller.get(caller)
      const { largest } = this
      // A caller makes room for its own tasks only by those that it has read.
      const isOwn = exceeded.includes("perCaller") || largest === own
      const forgotten = isOwn ? firstOf(own?.read) : largest && firstToLose(largest)
      if (forgotten === undefined) return false
      this.delete(forgotten)
    }
  }
}
