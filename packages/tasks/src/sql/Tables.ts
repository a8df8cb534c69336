/**
 * State shared by a store's two services: its statements, its waiters, and retries of failed statements.
 *
 * A temporary failure (a busy file, a cut connection, a starting database) is retried for a while, and then becomes a defect. All writes
 * can be retried: repeating a write whose answer was lost changes nothing.
 */
import { ExpiredTasks } from "../store/Row.ts"
import type { Lease } from "../store/Journal.ts"
import { expiredAfter, type TaskOutcome, type Task } from "../model/Task.ts"
import { defaultLimits, type StoreLimits } from "../store/TaskStore.ts"
import * as Arr from "effect/Array"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { type Changes, someTask } from "./Changes.ts"
import type { Dialect } from "./Dialect.ts"
import { type EntryRow, inputOf, type TaskRow, taskOf } from "./Rows.ts"
import * as Statements from "./Statements.ts"

export interface Options extends Partial<StoreLimits> {
  /** How long a lease is valid without a renewal, in milliseconds. Default 10 seconds. */
  readonly lease?: number | undefined
  /**
   * Maximum number of ended tasks to keep. Beyond it, tasks are forgotten early, within a minute: the oldest of the caller that has the
   * most. Default 10 000.
   */
  readonly kept?: number | undefined
  /** Maximum total size of the ended tasks' results to keep, in bytes. Default 1 GiB. */
  readonly keptBytes?: number | undefined
  /** ID of the running version of the program. Default: none. */
  readonly deployment?: string | undefined
  /** Whether to let only nodes with the same `deployment` claim tasks created here, until one releases them at shutdown. */
  readonly pin?: boolean | undefined
}

/**
 * Minimum time for which a failed statement is retried, in milliseconds. Longer than a lease, so that a run loses its lease before it
 * fails.
 */
const patience = 20_000
/** First and longest wait before a retry, in milliseconds. It doubles each time. */
const pauses = [10, 500] as const

const codeOf = ({ reason: { cause } }: SqlError): number | string => {
  const code = typeof cause === "object" && cause !== null && "code" in cause ? cause.code : undefined
  return typeof code === "number" ? code & 0xff : String(code)
}

/** True if the disk of the database is full. */
export const isFull = (error: SqlError): boolean => [13, "53100"].includes(codeOf(error))

/**
 * Failures that Effect does not classify: Postgres is shutting down, crashed or starting (57P), or lacks space, memory or connections (53);
 * the disk of SQLite is full (13) or fails (10).
 */
const isPoor = (error: SqlError): boolean => {
  const code = codeOf(error)
  return typeof code === "number" ? [10, 13].includes(code) : /^(?:57P|53)/.test(code)
}

const mayPass = (error: unknown): boolean => isSqlError(error) && (error.isRetryable || isPoor(error))

const again = (duration: number) =>
  Schedule.min([Schedule.exponential(pauses[0]), Schedule.spaced(pauses[1])]).pipe(Schedule.upTo({ duration }))

/** Maximum number of broken rows to remember, so that each is logged once. */
const maxBroken = 1000

export const jsonOf = (value: unknown): string => JSON.stringify(value)

export class Tables {
  readonly dialect: Dialect
  readonly changes: Changes
  readonly statements: Statements.Statements
  readonly expired = new ExpiredTasks()
  /** Tasks whose rows were logged as broken. */
  private readonly broken = new Set<string>()
  readonly limits: StoreLimits
  readonly lease: number
  readonly kept: number
  readonly keptBytes: number
  readonly deployment: string | null
  /** Deployment that new tasks are pinned to. */
  readonly pin: string | null

  constructor(
    dialect: Dialect,
    changes: Changes,
    { deployment, kept = 10_000, keptBytes = 1024 ** 3, lease = 10_000, pin = false, ...limits }: Options
  ) {
    this.dialect = dialect
    this.changes = changes
    this.statements = Statements.make(dialect)
    this.limits = { ...defaultLimits, ...limits }
    this.lease = lease
    this.kept = Math.max(1, kept)
    this.keptBytes = keptBytes
    this.deployment = deployment ?? null
    this.pin = pin ? this.deployment : null
  }

  query<A extends object>(
    statement: string,
    params: ReadonlyArray<unknown>
  ): Effect.Effect<ReadonlyArray<A>, SqlError> {
    const { kept, sql } = this.dialect
    return sql.unsafe<A>(
      statement,
      params.map((value) => (typeof value === "string" ? kept(value) : value))
    )
  }

  first<A extends object>(statement: string, params: ReadonlyArray<unknown>): Effect.Effect<A | undefined, SqlError> {
    return Effect.map(this.query<A>(statement, params), ([row]) => row)
  }

  readonly retried = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.retry(effect, { while: mayPass, schedule: again(Math.max(patience, this.lease)) })

  /** Retries temporary failures. Other failures of the database are defects. */
  readonly patient = <A, E = never>(effect: Effect.Effect<A, E | SqlError>): Effect.Effect<A, E> =>
    this.dialect.left(
      Effect.catch(this.retried(effect), (error) => (isSqlError(error) ? Effect.die(error) : Effect.fail(error)))
    )

  /** Runs in one transaction. Turns the defect of a cut connection, which cannot roll back, into a failure. */
  readonly together = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError, R> =>
    Effect.catchDefect(this.dialect.sql.withTransaction(effect), (defect) =>
      isSqlError(defect) ? Effect.fail(defect) : Effect.die(defect)
    )

  /** Decodes rows. Leaves out rows that cannot be decoded, and logs each task of them once. */
  decoded<A>(rows: ReadonlyArray<TaskRow>, decode: (row: TaskRow) => A): Effect.Effect<ReadonlyArray<A>> {
    return Effect.map(
      Effect.forEach(rows, (row) =>
        Effect.catchDefect(
          Effect.sync(() => Option.some(decode(row))),
          (cause) => Effect.as(this.reported(row.id, cause), Option.none<A>())
        )
      ),
      Arr.getSomes
    )
  }

  private reported(id: string, cause: unknown): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.broken.has(id)) return Effect.void
      if (this.broken.size >= maxBroken) this.broken.clear()
      this.broken.add(id)
      return Effect.ignoreCause(Effect.logError(`Skipped task ${id}: its row in the database cannot be read`, cause))
    })
  }

  /** Decodes rows with their open questions. Leaves out broken rows. */
  asked<A>(
    rows: ReadonlyArray<TaskRow>,
    decode: (row: TaskRow, questions: ReadonlyArray<EntryRow>) => A
  ): Effect.Effect<ReadonlyArray<A>, SqlError> {
    const asking = rows.flatMap(({ id, open }) => (open > 0 ? [id] : []))
    if (asking.length === 0) return this.decoded(rows, (row) => decode(row, []))
    return Effect.flatMap(this.query<EntryRow>(this.statements.questions, [jsonOf(asking)]), (questions) =>
      this.decoded(rows, (row) =>
        decode(
          row,
          questions.filter(({ task }) => task === row.id)
        )
      )
    )
  }

  /** Decodes rows as tasks with their open questions. Leaves out broken rows. */
  tasks(rows: ReadonlyArray<TaskRow>): Effect.Effect<ReadonlyArray<Task>, SqlError> {
    return this.asked(rows, taskOf)
  }

  /** Ends a task that has not ended. Returns true if this call did it. */
  end(id: string, outcome: TaskOutcome, message: string | undefined): Effect.Effect<boolean, SqlError> {
    return Effect.map(
      this.query<{ readonly id: string }>(this.statements.end, [jsonOf(outcome), message ?? null, id]),
      (ended) => {
        if (ended.length > 0) this.changed(id)
        return ended.length > 0
      }
    )
  }

  /** Ends a task that has expired. `by` is the lease whose holder learns about it from its caller. */
  expire(row: TaskRow, by?: Lease): Effect.Effect<void, SqlError> {
    const outcome = expiredAfter(row.ttl)
    return Effect.flatMap(this.end(row.id, outcome, outcome.message), (ended) => {
      // The node that runs a task learns about its end through the lease. If the lease has expired, the node may be dead.
      const isHeld = row.node !== null && (row.free === 0 || row.epoch === by?.epoch)
      const tell = (row: TaskRow): void => {
        if (ended && !isHeld) this.expired.add({ task: taskOf(row, []), input: inputOf(row) })
      }
      return Effect.asVoid(this.decoded([row], tell))
    })
  }

  /** Returns a task of this owner, and ends it if it has expired. */
  own(id: string, owner: string): Effect.Effect<TaskRow | undefined, SqlError> {
    const read = this.first<TaskRow>(this.statements.own, [id, owner, this.limits.keptAfterEnd])
    return Effect.flatMap(read, (row) =>
      row?.late === 1 ? Effect.andThen(this.expire(row), read) : Effect.succeed(row)
    )
  }

  /** Reports a change that matters to the task's run or its readers, including those in other processes. */
  changed(id: string): void {
    this.changes.changed(id)
    this.dialect.tell(id)
  }

  /** Reports that a task has become due that this process will not continue itself. */
  handedOver(): void {
    this.changes.woken()
    this.dialect.tell(someTask)
  }
}

/** The tables of a task store in a database, for other layers that use them. */
export class TaskTables extends Context.Service<TaskTables, Tables>()("@effect-mcp/tasks/TaskTables") {}
