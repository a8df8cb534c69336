/** A task as a store holds it: its row in memory, and what all stores count and name alike. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Stream from "effect/Stream"
import { Expired, type NewTask, type Task } from "../model/Task.ts"
import {
  type Claimed,
  type Entry,
  type ExpiredTask,
  type Lease,
  Lost,
  type Parked,
  type ParkedCounts
} from "./Journal.ts"
import type { StoreLimits } from "./TaskStore.ts"

/** A task that has not ended, with what its owner does not see. */
export interface Row {
  task: Task
  readonly input: NewTask
  readonly order: number
  /** Made with the first entry: most tasks record none. */
  entries: Map<string, Entry> | undefined
  /** Of its entries as JSON. */
  bytes: number
  epoch: number
  node: string | undefined
  leaseUntil: number
  /** When a parked task is due; infinity: when it is answered. */
  wakeAt: number
  attempts: number
  /** Completed at the next change; made where that is waited for. */
  changed: Deferred.Deferred<void> | undefined
}

/** Adds an entry, or replaces the one of its key. */
export const keep = (row: Row, entry: Entry): void => {
  row.entries ??= new Map()
  row.entries.set(entry.key, entry)
}

/** Waits for the next change. */
export const changeOf = (row: Row): Effect.Effect<void> => Deferred.await((row.changed ??= Deferred.makeUnsafe()))

/** The state of a task that a reader has got. */
interface Seen {
  readonly row: Row
  readonly task: Task
}

/** A task that a store has, open or ended. One that has ended changes no more. */
type Found = Row | { readonly task: Task }

/** A task now and after each change, until its end; `find` gives its row, where its reader has one. */
export const changesOf = (find: () => Found | undefined): Stream.Stream<Task> => {
  const next = (): readonly [Task, Seen | undefined] | undefined => {
    const row = find()
    return row && [row.task, "changed" in row ? { row, task: row.task } : undefined]
  }
  const states = Stream.unfold<Seen | "first" | undefined, Task, never, never>("first", (last) => {
    if (last === undefined) return Effect.undefined
    if (last === "first") return Effect.sync(next)
    // A slow reader may have missed a change, and the last one.
    const isOld = last.row.task !== last.task || find() !== last.row
    return Effect.map(isOld ? Effect.void : changeOf(last.row), next)
  })
  // A change of its lease alone does not change a task.
  return Stream.changesWith(states, (a, b) => a === b)
}

const encoder = new TextEncoder()

/** Size of a value as JSON, in bytes of UTF-8: what the limits of a store count. */
export const bytesOf = (value: unknown): number => bytesOfText(JSON.stringify(value) ?? "")

/** Size of a text in bytes of UTF-8. */
export const bytesOfText = (text: string): number => encoder.encode(text).byteLength

/** Whether one more entry, or an answer, fits into the journal of a task. */
export const hasRoom = (
  limits: StoreLimits,
  { bytes, entries }: Pick<Row, "bytes" | "entries">,
  value: unknown
): boolean => {
  const more = bytesOf(value)
  return more <= limits.entryBytes && bytes + more <= limits.journalBytes && (entries?.size ?? 0) < limits.entries
}

/** The questions of a task that has none. */
export const none: Task["questions"] = new Map()

/** A task that has just been made. */
export const newTask = (id: string, { message, pollInterval, ttl }: NewTask, now: number): Task => ({
  id,
  createdAt: now,
  updatedAt: now,
  ttl,
  pollInterval,
  message,
  questions: none,
  outcome: undefined
})

/** The row of a task that a node has leased for its first run. */
export const newRow = (
  task: Task,
  input: NewTask,
  order: number,
  { node, until }: { readonly node: string; readonly until: number }
): Row => ({
  task,
  input,
  order,
  entries: undefined,
  bytes: 0,
  epoch: 1,
  node,
  leaseUntil: until,
  wakeAt: 0,
  attempts: 1,
  changed: undefined
})

/** The caller that a task counts for. */
export const callerOf = ({ caller, owner }: NewTask): string => caller ?? owner

/** Leases the task of a row to a node. */
export const leasedTo = (row: Row, node: string, until: number): Claimed => {
  row.node = node
  row.leaseUntil = until
  const { entries, input, task } = row
  const lease = { task: task.id, epoch: ++row.epoch }
  return { lease, task, input, entries: [...(entries?.values() ?? [])], attempts: ++row.attempts }
}

/** Why a lease on a task is not valid; without a row the task is forgotten. */
export const lostOf = ({ task }: Lease, row: Found | undefined): Lost => {
  if (row === undefined) return new Lost({ task, reason: "expired" })
  const { outcome } = row.task
  if (outcome === undefined) return new Lost({ task, reason: "taken" })
  if (outcome._tag === "Cancelled") return new Lost({ task, reason: "cancelled" })
  return new Lost({ task, reason: outcome._tag === "Error" && outcome.code === Expired ? "expired" : "ended" })
}

/**
 * The id of a new task, "t" and 256 random bits in base64url: to an anonymous caller it is the right to use the task. It starts with a letter
 * because "-" would be a flag on a command line.
 */
export const newId = (): string => `t${Base64Url.encode(crypto.getRandomValues(new Uint8Array(32)))}`

/** The counts of all parked tasks of a store. */
export const countsOf = (parked: ReadonlyArray<Parked>, now: number): ParkedCounts => {
  const counts = { asking: 0, sleeping: 0, pending: 0 }
  for (const { due, task } of parked) {
    if (due !== undefined && due <= now) counts.pending++
    else counts[task.questions.size > 0 ? "asking" : "sleeping"]++
  }
  return counts
}

/** The tasks that expired while they were parked, until they are asked for. */
export class ExpiredTasks {
  private readonly queue = Effect.runSync(Queue.sliding<ExpiredTask>(1024))

  /** Called before the task loses its arguments. */
  add({ input, task }: ExpiredTask): void {
    Queue.offerUnsafe(this.queue, { input, task })
  }

  get next(): Effect.Effect<ExpiredTask> {
    return Queue.take(this.queue)
  }
}
