/** Converts table rows to tasks and entries. */
import { Expired } from "../model/Task.ts"
import type { Answer, NewTask, TaskOutcome, Question, Task } from "../model/Task.ts"
import { type Entry, Lost } from "../store/Journal.ts"

export interface TaskRow {
  readonly id: string
  readonly owner: string
  readonly caller: string | null
  readonly tool: string
  readonly input: string
  readonly client: string
  readonly created: number
  readonly updated: number
  readonly ttl: number
  readonly poll_interval: number
  readonly message: string | null
  readonly outcome: string | null
  readonly open: number
  readonly version: number
  readonly epoch: number
  readonly base: number
  readonly node: string | null
  readonly due: number | null
  /** True if the task has expired but not ended. */
  readonly late: number
  /** True if no node has a valid lease on it. Tasks that have expired stay free, because they are neither leased nor renewed. */
  readonly free: number
}

export interface EntryRow {
  readonly task: string
  readonly key: string
  readonly kind: Entry["_tag"]
  readonly value: string
  readonly answer: string | null
  readonly epoch: number
}

export const outcomeOf = ({ outcome }: TaskRow): TaskOutcome | undefined =>
  outcome === null ? undefined : JSON.parse(outcome)

export const taskOf = (row: TaskRow, questions: ReadonlyArray<EntryRow>): Task => ({
  id: row.id,
  createdAt: row.created,
  updatedAt: row.updated,
  ttl: row.ttl,
  pollInterval: row.poll_interval,
  message: row.message ?? undefined,
  questions: new Map(questions.map(({ key, value }): [string, Question] => [key, JSON.parse(value)])),
  outcome: outcomeOf(row)
})

export const inputOf = ({
  caller,
  client,
  input,
  owner,
  poll_interval: pollInterval,
  tool,
  ttl
}: TaskRow): NewTask => ({
  owner,
  ...(caller === null ? undefined : { caller }),
  tool,
  input: JSON.parse(input),
  client: JSON.parse(client),
  ttl,
  pollInterval
})

export const entryOf = ({ answer, key, kind, value }: EntryRow): Entry => {
  if (kind === "Step") return { _tag: kind, key, value: JSON.parse(value) }
  if (kind === "Sleep") return { _tag: kind, key, until: JSON.parse(value) }
  return {
    _tag: kind,
    key,
    question: JSON.parse(value),
    ...(answer === null ? undefined : { answer: answerOf(answer) })
  }
}

export const answerOf = (answer: string): Answer => JSON.parse(answer)

/** Returns the stored form of an entry's value. */
export const valueOf = (entry: Entry): string => {
  if (entry._tag === "Step") return JSON.stringify(entry.value ?? null)
  return JSON.stringify(entry._tag === "Sleep" ? entry.until : entry.question)
}

/** Returns why a lease on a row's task is not valid. If there is no row, the task has been forgotten. */
export const lostOf = (task: string, row: TaskRow | undefined): Lost => {
  const outcome = row && outcomeOf(row)
  if (row === undefined || row.late === 1) return new Lost({ task, reason: "expired" })
  if (outcome === undefined) return new Lost({ task, reason: "taken" })
  if (outcome._tag === "Cancelled") return new Lost({ task, reason: "cancelled" })
  return new Lost({ task, reason: outcome._tag === "Error" && outcome.code === Expired ? "expired" : "ended" })
}
