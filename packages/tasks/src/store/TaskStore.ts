/**
 * Tasks for requests: create, look up, list, answer, cancel and follow them.
 *
 * Another owner's task counts as unknown, and so does an expired task. `Journal` runs tasks; one layer provides both on the same storage.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type * as Stream from "effect/Stream"
import type { Answer, NewTask, Task } from "../model/Task.ts"
import type { Lease } from "./Journal.ts"

/** A limit from `StoreLimits` was reached. Nothing was stored. */
export class LimitReached extends Data.TaggedError("LimitReached")<{ readonly message: string }> {}

/** The store is full, for example because the disk is. Nothing was stored. */
export class StoreFull extends Data.TaggedError("StoreFull")<{ readonly message: string }> {}

/** The cursor is not valid for this list. */
export class UnknownCursor extends Data.TaggedError("UnknownCursor")<{}> {}

/** A page of an owner's tasks, oldest first. */
export interface TaskPage {
  readonly tasks: ReadonlyArray<Task>
  /** Cursor for the next page, or `undefined` on the last page. */
  readonly next: string | undefined
}

/** Answers to questions by key, as sent by the client. */
export type Answers = { readonly [key: string]: Answer }

/** Store limits. */
export interface StoreLimits {
  /** Maximum number of open tasks per owner. Default 64. */
  readonly perOwner: number
  /** Maximum number of open tasks in total. Default 10 000. */
  readonly total: number
  /** Maximum size of a task's input as JSON, in bytes. Default 1 MiB. */
  readonly inputBytes: number
  /** Maximum size of a single journal entry as JSON, in bytes. Default 1 MiB. */
  readonly entryBytes: number
  /** Maximum total size of a task's entries, in bytes. Default 16 MiB. */
  readonly journalBytes: number
  /** Maximum number of entries per task. Default 10 000. */
  readonly entries: number
  /** Minimum time to keep a task after it ends, in milliseconds. Default 10 minutes. */
  readonly keptAfterEnd: number
}

/** Limits to use if none are set. */
export const defaultLimits: StoreLimits = {
  perOwner: 64,
  total: 10_000,
  inputBytes: 1024 * 1024,
  entryBytes: 1024 * 1024,
  journalBytes: 16 * 1024 * 1024,
  entries: 10_000,
  keptAfterEnd: 10 * 60 * 1000
}

/**
 * Stores tasks. Every operation returns `None` if the ID is unknown, has expired or belongs to another owner, so that a caller can't tell
 * these cases apart.
 */
export class TaskStore extends Context.Service<
  TaskStore,
  {
    /** True if tasks outlive this process, and therefore their callers' connections. */
    readonly outlives: boolean
    /** Stores a task durably before returning, and leases it to `node`, which will run it. */
    readonly create: (
      task: NewTask,
      node: string
    ) => Effect.Effect<{ readonly task: Task; readonly lease: Lease }, LimitReached | StoreFull>
    readonly get: (id: string, owner: string) => Effect.Effect<Option.Option<Task>>
    /** Returns up to `size` of an owner's tasks. */
    readonly list: (owner: string, cursor: string | undefined, size: number) => Effect.Effect<TaskPage, UnknownCursor>
    /**
     * Records answers to open questions, and returns the accepted keys. Unknown keys and questions that were already answered are ignored.
     */
    readonly answer: (
      id: string,
      owner: string,
      answers: Answers
    ) => Effect.Effect<Option.Option<ReadonlyArray<string>>, LimitReached>
    /** Ends a task unless it has already ended, and returns its current state. Nothing more is recorded for it. */
    readonly cancel: (id: string, owner: string, message?: string) => Effect.Effect<Option.Option<Task>>
    /**
     * Emits the task now and after each change. A slow reader only receives the latest state. The stream ends after the outcome, or when
     * the task is forgotten.
     */
    readonly changes: (id: string, owner: string) => Stream.Stream<Task>
  }
>()("@effect-mcp/tasks/TaskStore") {}
