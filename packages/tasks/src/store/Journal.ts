/**
 * What runs tasks and records what they did: leases, steps, questions and outcomes.
 *
 * A lease says which node runs a task. Its epoch grows with every claim, and what an older epoch records is refused: a node that was
 * frozen or cut off cannot change a task that another one has taken over.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { Answer, NewTask, TaskOutcome, Question, Task } from "../model/Task.ts"

/** The right to run a task, until another claim. */
export interface Lease {
  readonly task: string
  readonly epoch: number
}

/** The lease is no longer valid: the task has ended, by a cancel or at its ttl, or another node runs it. */
export class Lost extends Data.TaggedError("Lost")<{
  readonly task: string
  readonly reason: "cancelled" | "expired" | "ended" | "taken"
}> {}

/** The journal of the task has no room for the entry. */
export class JournalFull extends Data.TaggedError("JournalFull")<{ readonly message: string }> {}

/** What a task has recorded under a key. A key is recorded once: a later record of it is not taken. */
export type Entry =
  /** The value of a step that ran. */
  | { readonly _tag: "Step"; readonly key: string; readonly value: unknown }
  /** When a sleep ends, in milliseconds since the epoch. */
  | { readonly _tag: "Sleep"; readonly key: string; readonly until: number }
  /** A question, and its answer once there is one. */
  | { readonly _tag: "Question"; readonly key: string; readonly question: Question; readonly answer?: Answer }

/** A task that a node has claimed, with all that it recorded so far. */
export interface Claimed {
  readonly lease: Lease
  readonly task: Task
  readonly input: NewTask
  readonly entries: ReadonlyArray<Entry>
  /** How often it was claimed since it last made a record or gave its lease up, this claim included. */
  readonly attempts: number
}

/**
 * Runs a step that gives the value of the entry, and records it, in one transaction. Where the key is recorded already the step does not run.
 * A refused record rolls back what the step wrote.
 */
export type RecordInTransaction = <E, R>(
  lease: Lease,
  key: string,
  step: Effect.Effect<unknown, E, R>
) => Effect.Effect<Entry, E | Lost | JournalFull | SqlError, R>

/**
 * Runs a step that gives the value of the entry, and records it. Where the key is recorded already the step does not run. A step that fails
 * is not recorded.
 */
export type RunAndRecord = <E, R>(
  lease: Lease,
  key: string,
  step: Effect.Effect<unknown, E, R>
) => Effect.Effect<Entry, E | Lost | JournalFull, R>

/** When a parked task is due again. */
export interface Wake {
  /** At this time, in milliseconds since the epoch; undefined: only by an answer. */
  readonly at: number | undefined
  /** The questions that it waits for: where one of them is answered already, the task is due at once. */
  readonly answers: ReadonlyArray<string>
}

/** A task that no node runs. */
export interface Parked {
  readonly task: Task
  readonly input: NewTask
  /** When it is due, in milliseconds since the epoch; undefined: once a question is answered. */
  readonly due: number | undefined
}

/** A task that expired while no node ran it. */
export type ExpiredTask = Pick<Parked, "task" | "input">

/** How many tasks are parked. */
export interface ParkedCounts {
  /** They wait for answers of their clients. */
  readonly asking: number
  readonly sleeping: number
  /** They are due, and no node has claimed them yet. */
  readonly pending: number
}

/** What a server gives an engine. */
export interface EngineServer {
  /** Leases a task to this node; see `take` of the journal. */
  readonly take: (task: string) => Effect.Effect<Option.Option<Claimed>>
  /** The names of its tools. */
  readonly tools: () => ReadonlyArray<string>
  /** Runs a task that was taken until it ends, waits or loses its lease; its interruption stops the run as a shutdown does. */
  readonly run: (claimed: Claimed) => Effect.Effect<void>
}

/**
 * An engine that says where and when tasks run, in place of claims, and records what they do. The store still has the tasks for their
 * callers: their owners, what they ask, how they ended.
 */
export interface Engine {
  /** Starts a task that was created, here or on another node. When it returns the engine has stored that it runs. */
  readonly start: (task: string) => Effect.Effect<void>
  /** Runs tasks of the engine by the tools of a server, as long as it is not interrupted. */
  readonly serve: (server: EngineServer) => Effect.Effect<never>
  readonly step: RunAndRecord
}

/** The service. Every write under a lease fails with `Lost`, and changes nothing, when the lease is not the newest or the task has ended. */
export class Journal extends Context.Service<
  Journal,
  {
    /** The name of this process among those that share the store. */
    readonly node: string
    /** Undefined: nodes claim tasks. */
    readonly engine: Engine | undefined
    /** How long a lease is valid without a renewal, in milliseconds. */
    readonly lease: number
    /** Waits until a task may be due: for a hint of the store, else for the time between two looks at it. */
    readonly due: Effect.Effect<void>
    /** At most `max` tasks that are due and leased to no node that lives, oldest first; each is leased to `node`. `tools` are those that it has. */
    readonly claim: (node: string, tools: ReadonlyArray<string>, max: number) => Effect.Effect<ReadonlyArray<Claimed>>
    /** Leases a task to `node`, from any node that has it; `None` where it has ended or is unknown. */
    readonly take: (node: string, task: string) => Effect.Effect<Option.Option<Claimed>>
    /** At most `max` tasks of the tools whose node is gone, and that no node has leased since they were created; none in memory. */
    readonly unstarted: (tools: ReadonlyArray<string>, max: number) => Effect.Effect<ReadonlyArray<string>>
    /** Extends all leases of a node; gives those that it has lost. */
    readonly renew: (node: string, leases: ReadonlyArray<Lease>) => Effect.Effect<ReadonlyArray<Lease>>
    /** Records an entry; gives the one that is there, where its key is recorded already. */
    readonly record: (lease: Lease, entry: Entry) => Effect.Effect<Entry, Lost | JournalFull>
    /** Undefined where the journal is not in the database of the client. */
    readonly transaction: (sql: SqlClient) => RecordInTransaction | undefined
    /** The answer to a question, once there is one. */
    readonly answer: (lease: Lease, key: string) => Effect.Effect<Answer, Lost>
    /** Replaces the message of the task. */
    readonly message: (lease: Lease, message: string) => Effect.Effect<void, Lost>
    /** Gives the lease up. Without `wake` the task is due at once; an answer to any of its questions makes it due. */
    readonly park: (lease: Lease, wake?: Wake) => Effect.Effect<void, Lost>
    /** Ends the task. `message` replaces its last progress message, even if it is `undefined`. */
    readonly settle: (lease: Lease, outcome: TaskOutcome, message?: string) => Effect.Effect<void, Lost>
    /** At most `max` tasks that have not ended and are leased to no node, oldest first; for views. */
    readonly parked: (max: number) => Effect.Effect<ReadonlyArray<Parked>>
    /** How many of them there are, all of the store; for gauges. */
    readonly parkedCounts: Effect.Effect<ParkedCounts>
    /** Waits until the lease is lost. */
    readonly lost: (lease: Lease) => Effect.Effect<Lost>
    /**
     * Waits for a task that expired while no node had a valid lease on it, and that this process has ended: of all processes of a store one is
     * given it, once.
     * The latest thousand are kept until they are asked for.
     */
    readonly expired: Effect.Effect<ExpiredTask>
    /** Ends tasks that are past their ttl, forgets those that ended long ago; gives how many of both. */
    readonly sweep: Effect.Effect<number>
  }
>()("@effect-mcp/tasks/Journal") {}
