/**
 * The tasks that requests read: create, look up, list, answer, cancel, follow.
 *
 * A task of another owner is unknown, as is one that has expired. What runs a task is in `Journal`; one layer
 * provides both over the same storage.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type * as Stream from "effect/Stream"
import type { Answer, NewTask, Task } from "../model/Task.ts"
import type { Lease } from "./Journal.ts"

/** A bound of `Limits` is reached; nothing was stored. */
export class LimitReached extends Data.TaggedError("LimitReached")<{ readonly message: string }> {}

/** The store has no room for a task, for example because its disk is full; nothing was stored. */
export class StoreFull extends Data.TaggedError("StoreFull")<{ readonly message: string }> {}

/** The cursor is of no page of this list. */
export class UnknownCursor extends Data.TaggedError("UnknownCursor")<{}> {}

/** A part of the tasks of an owner, oldest first. */
export interface TaskPage {
  readonly tasks: ReadonlyArray<Task>
  /** Undefined on the last page. */
  readonly next: string | undefined
}

/** Answers to questions by their keys, as the client wrote them. */
export type Answers = { readonly [key: string]: Answer }

/** Bounds of a store. */
export interface StoreLimits {
  /** Tasks of one owner that have not ended. Default 64. */
  readonly perOwner: number
  /** Tasks that have not ended, in all. Default 10 000. */
  readonly total: number
  /** Bytes of the input of a task, as JSON. Default 1 MiB. */
  readonly inputBytes: number
  /** Bytes of one entry of a journal, as JSON. Default 1 MiB. */
  readonly entryBytes: number
  /** Bytes of all entries of one task. Default 16 MiB. */
  readonly journalBytes: number
  /** Entries of one task. Default 10 000. */
  readonly entries: number
  /** How long a task that ended is kept at least, in milliseconds. Default 10 minutes. */
  readonly keptAfterEnd: number
}

/** The limits of a store that is given none. */
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
 * The service. An id that is unknown, expired or of another owner is `None` in each of them: a caller cannot tell them apart.
 */
export class TaskStore extends Context.Service<
  TaskStore,
  {
    /** Whether tasks outlive this process, and with it the connections of its callers. */
    readonly outlives: boolean
    /** Stores a task for good before it returns, and leases it to `node`, which is to run it. */
    readonly create: (
      task: NewTask,
      node: string
    ) => Effect.Effect<{ readonly task: Task; readonly lease: Lease }, LimitReached | StoreFull>
    readonly get: (id: string, owner: string) => Effect.Effect<Option.Option<Task>>
    /** The tasks of an owner, at most `size` of them. */
    readonly list: (owner: string, cursor: string | undefined, size: number) => Effect.Effect<TaskPage, UnknownCursor>
    /** Records answers to open questions; gives the keys that it took. Unknown and answered keys are ignored. */
    readonly answer: (
      id: string,
      owner: string,
      answers: Answers
    ) => Effect.Effect<Option.Option<ReadonlyArray<string>>, LimitReached>
    /** Ends a task that has not ended, and gives it as it is then. From then on nothing is recorded for it. */
    readonly cancel: (id: string, owner: string, message?: string) => Effect.Effect<Option.Option<Task>>
    /** The task now and after each change, the latest only for a slow reader; ends after the outcome, or when the task is forgotten. */
    readonly changes: (id: string, owner: string) => Stream.Stream<Task>
  }
>()("@effect-mcp/tasks/TaskStore") {}
