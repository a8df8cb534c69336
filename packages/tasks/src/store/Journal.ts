/**
 * Runs tasks and records their progress: leases, steps, questions and outcomes.
 *
 * A lease says which node runs a task. Its epoch increases with every claim, and writes with an older epoch are rejected. A node that was
 * frozen or cut off therefore can't change a task that another node has taken over.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { Answer, NewTask, TaskOutcome, Question, Task } from "../model/Task.ts"

/** The right to run a task until another node claims it. */
export interface Lease {
  readonly task: string
  readonly epoch: number
}

/** The lease is no longer valid, because the task was cancelled or expired, or because another node is running it. */
export class Lost extends Data.TaggedError("Lost")<{
  readonly task: string
  readonly reason: "cancelled" | "expired" | "ended" | "taken"
}> {}

/** The task's journal has no room for the entry. */
export class JournalFull extends Data.TaggedError("JournalFull")<{ readonly message: string }> {}

/** An entry that a task recorded under a key. Each key is only recorded once; later attempts are ignored. */
export type Entry =
  /** The value of a completed step. */
  | { readonly _tag: "Step"; readonly key: string; readonly value: unknown }
  /** When a sleep ends, in milliseconds since 1970. */
  | { readonly _tag: "Sleep"; readonly key: string; readonly until: number }
  /** A question, and its answer once it has one. */
  | { readonly _tag: "Question"; readonly key: string; readonly question: Question; readonly answer?: Answer }

/** A claimed task, with everything it has recorded. */
export interface Claimed {
  readonly lease: Lease
  readonly task: Task
  readonly input: NewTask
  readonly entries: ReadonlyArray<Entry>
  /** Number of claims, including this one, since the task last recorded something or released its lease. */
  readonly attempts: number
}

/**
 * Runs a step that returns the entry's value, and records it in the same transaction. If the key is already recorded, the step doesn't run.
 * If the record is rejected, the step's writes are rolled back.
 */
export type RecordInTransaction = <E, R>(
  lease: Lease,
  key: string,
  step: Effect.Effect<unknown, E, R>
) => Effect.Effect<Entry, E | Lost | JournalFull | SqlError, R>

/**
 * Runs a step that returns the entry's value, and records it. If the key is already recorded, the step doesn't run. Failed steps are not
 * recorded.
 */
export type RunAndRecord = <E, R>(
  lease: Lease,
  key: string,
  step: Effect.Effect<unknown, E, R>
) => Effect.Effect<Entry, E | Lost | JournalFull, R>

/** When a parked task becomes due again. */
export interface Wake {
  /** When it becomes due, in milliseconds since 1970, or `undefined` if only an answer makes it due. */
  readonly at: number | undefined
  /** Questions that it is waiting on. If any of them has already been answered, the task is due immediately. */
  readonly answers: ReadonlyArray<string>
}

/** A task that no node is running. */
export interface Parked {
  readonly task: Task
  readonly input: NewTask
  /** When it is due, in milliseconds since 1970, or `undefined` if it is waiting for an answer. */
  readonly due: number | undefined
}

/** A task that expired while no node was running it. */
export type ExpiredTask = Pick<Parked, "task" | "input">

/** Counts of parked tasks. */
export interface ParkedCounts {
  /** Tasks waiting for an answer from their client. */
  readonly asking: number
  readonly sleeping: number
  /** Due tasks that no node has claimed yet. */
  readonly pending: number
}

/** Functions that a server provides to an engine. */
export interface EngineServer {
  /** Leases a task to this node; see the journal's `take`. */
  readonly take: (task: string) => Effect.Effect<Option.Option<Claimed>>
  /** Returns the names of the server's tools. */
  readonly tools: () => ReadonlyArray<string>
  /** Runs a task until it ends, waits or loses its lease. Interrupting it has the same effect as a shutdown. */
  readonly run: (claimed: Claimed) => Effect.Effect<void>
}

/**
 * An engine that decides where and when tasks run, in place of claims, and records their steps. The store still holds what callers see:
 * owners, questions and outcomes.
 */
export interface Engine {
  /** Starts a task that was created on this node or another. When it returns, the engine has durably stored that the task is running. */
  readonly start: (task: string) => Effect.Effect<void>
  /** Runs the engine's tasks with a server's tools until interrupted. */
  readonly serve: (server: EngineServer) => Effect.Effect<never>
  readonly step: RunAndRecord
}

/**
 * Runs tasks and records their progress. Every write under a lease fails with `Lost` and changes nothing if a newer lease exists or the task
 * has ended.
 */
export class Journal extends Context.Service<
  Journal,
  {
    /** This process's name among those that share the store. */
    readonly node: string
    /** The engine, or `undefined` if nodes claim tasks. */
    readonly engine: Engine | undefined
    /** How long a lease stays valid without being renewed, in milliseconds. */
    readonly lease: number
    /** Waits until a task may be due: until the store sends a notification, or the polling interval has passed. */
    readonly due: Effect.Effect<void>
    /** Leases up to `max` due tasks to `node`, oldest first, if they are not leased to a live node. `tools` lists the node's tools. */
    readonly claim: (node: string, tools: ReadonlyArray<string>, max: number) => Effect.Effect<ReadonlyArray<Claimed>>
    /** Leases a task to `node`, even if another node has it. Returns `None` if the task has ended or is unknown. */
    readonly take: (node: string, task: string) => Effect.Effect<Option.Option<Claimed>>
    /** Returns up to `max` tasks for these tools whose node is gone and that have not been leased since. Always empty in memory. */
    readonly unstarted: (tools: ReadonlyArray<string>, max: number) => Effect.Effect<ReadonlyArray<string>>
    /** Renews all of a node's leases. Returns the leases it has lost. */
    readonly renew: (node: string, leases: ReadonlyArray<Lease>) => Effect.Effect<ReadonlyArray<Lease>>
    /** Records an entry. If the key is already recorded, returns the existing entry. */
    readonly record: (lease: Lease, entry: Entry) => Effect.Effect<Entry, Lost | JournalFull>
    /** Returns a function that records steps in a transaction, or `undefined` if the journal is not in the client's database. */
    readonly transaction: (sql: SqlClient) => RecordInTransaction | undefined
    /** Waits for a question's answer and returns it. */
    readonly answer: (lease: Lease, key: string) => Effect.Effect<Answer, Lost>
    /** Replaces the task's message. */
    readonly message: (lease: Lease, message: string) => Effect.Effect<void, Lost>
    /** Releases the lease. Without `wake`, the task is due immediately, and an answer to any of its questions makes it due. */
    readonly park: (lease: Lease, wake?: Wake) => Effect.Effect<void, Lost>
    /** Ends the task. `message` replaces its last progress message, even if `undefined`. */
    readonly settle: (lease: Lease, outcome: TaskOutcome, message?: string) => Effect.Effect<void, Lost>
    /** Returns up to `max` unfinished tasks without a lease, oldest first. For views. */
    readonly parked: (max: number) => Effect.Effect<ReadonlyArray<Parked>>
    /** Counts all unfinished tasks without a lease. For gauges. */
    readonly parkedCounts: Effect.Effect<ParkedCounts>
    /** Waits until the lease has been lost. */
    readonly lost: (lease: Lease) => Effect.Effect<Lost>
    /**
     * Waits for a task that expired without a valid lease and that this process ended. Only one of the processes that share a store
     * receives it, and only once. The latest thousand are kept until they are requested.
     */
    readonly expired: Effect.Effect<ExpiredTask>
    /** Ends expired tasks, and forgets tasks that ended long ago. Returns how many tasks it ended or forgot. */
    readonly sweep: Effect.Effect<number>
  }
>()("@effect-mcp/tasks/Journal") {}
