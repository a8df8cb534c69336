/** A task's in-memory row in a store, and the counting and naming shared by all stores. */
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

/** An unfinished task, with data that its owner doesn't see. */
export interface Row {
  task: Task
  readonly input: NewTask
  readonly order: number
  /** Created with the first entry, because most tasks record nothing. */
  entries: Map<string, Entry> | undefined
  /** Size of its entries as JSON, in bytes. */
  bytes: number
  epoch: number
  node: string | undefined
  leaseUntil: number
  /** When a parked task is due, or Infinity if it is waiting for an answer. */
  wakeAt: number
  attempts: number
  /** Completed at the next change. Only created when something waits for it. */
  changed: Deferred.Deferred<void> | undefined
}

/** Adds an entry, or replaces the entry with the same key. */
export const keep = (row: Row, entry: Entry): void => {
  row.entries ??= new Map()
  row.entries.set(entry.key, entry)
}

/** Waits for the next change. */
export const changeOf = (row: Row): Effect.Effect<void> => Deferred.await((row.changed ??= Deferred.makeUnsafe()))

/** The task state that a reader has received. */
interface Seen {
  readonly row: Row
  readonly task: Task
}

/** A task in a store, open or finished. A finished task no longer changes. */
type Found = Row | { readonly task: Task }

/** Emits a task now and after each change, until it ends. `find` returns its row if the reader has one. */
export const changesOf = (find: () => Found | undefined): Stream.Stream<Task> => {
  const next = (): readonly [Task, Seen | undefined] | undefined => {
    const row = find()
    return row && [row.task, "changed" in row ? { row, task: row.task } : undefined]
  }
  const states = Stream.unfold<Seen | "first" | undefined, Task, never, never>("first", (last) => {
    if (last === undefined) return Effect.undefined
    if (last === "first") return Effect.sync(next)
    // A slow reader may have missed a change, including the last one.
    const isOld = last.row.task !== last.task || find() !== last.row
    return Effect.map(isOld ? Effect.void : changeOf(last.row), next)
  })
  // A change to the lease alone does not change the task.
  return Stream.changesWith(states, (a, b) => a === b)
}

const encoder = new TextEncoder()

/** Returns a value's JSON size in UTF-8 bytes, which is what store limits count. */
export const bytesOf = (value: unknown): number => bytesOfText(JSON.stringify(value) ?? "")

/** Returns a text's size in UTF-8 bytes. */
export const bytesOfText = (text: string): number => encoder.encode(text).byteLength

/** True if another entry or answer fits in a task's journal. */
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

/** Returns a new task. */
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

/** Returns the row for a task that a node has leased for its first run. */
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

/** Returns the caller that a task counts against. */
export const callerOf = ({ caller, owner }: NewTask): string => caller ?? owner

/** Leases a row's task to a node. */
export const leasedTo = (row: Row, node: string, until: number): Claimed => {
  row.node = node
  row.leaseUntil = until
  const { entries, input, task } = row
  const lease = { task: task.id, epoch: ++row.epoch }
  return { lease, task, input, entries: [...(entries?.values() ?? [])], attempts: ++row.attempts }
}

/** Returns why a lease on a task is not valid. If there is no row, the task has been forgotten. */
export const lostOf = ({ task }: Lease, row: Found | undefined): Lost => {
  if (row === undefined) return new Lost({ task, reason: "expired" })
  const { outcome } = row.task
  if (outcome === undefined) return new Lost({ task, reason: "taken" })
  if (outcome._tag === "Cancelled") return new Lost({ task, reason: "cancelled" })
  return new Lost({ task, reason: outcome._tag === "Error" && outcome.code === Expired ? "expired" : "ended" })
}

/**
 * Creates a task ID: "t" followed by 256 random bits in base64url, because for anonymous callers the ID grants access to the task. It
 * starts with a letter because "-" would look like a command-line flag.
 */
export const newId = (): string => `t${Base64Url.encode(crypto.getRandomValues(new Uint8Array(32)))}`

/** Counts all of a store's parked tasks. */
export const countsOf = (parked: ReadonlyArray<Parked>, now: number): ParkedCounts => {
  const counts = { asking: 0, sleeping: 0, pending: 0 }
  for (const { due, task } of parked) {
    if (due !== undefined && due <= now) counts.pending++
    else counts[task.questions.size > 0 ? "asking" : "sleeping"]++
  }
  return counts
}

/** Tasks that expired while they were parked, until they are requested. */
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
