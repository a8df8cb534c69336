/**
 * What the two services of a store share: its statements, its waiters, and how a statement that failed is tried again.
 *
 * A failure that may pass (a busy file, a connection that was cut, a database that starts) is tried again for a while; what fails then is a
 * defect. Every write may be tried again: one that took effect though its answer was lost changes nothing the second time.
 */
import { ExpiredTasks } from "../store/Row.ts"
import type { Lease } from "../store/Journal.ts"
import { expiredAfter, type TaskOutcome, type Task } from "../model/Task.ts"
import { defaultLimits, type StoreLimits } from "../store/TaskStore.ts"
import * as Arr from "effect/Array"
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
   * Tasks that have ended and are kept, in all. Beyond it they are forgotten before their time to live is over, within a minute: the oldest of
   * the caller that has the most. Default 10 000.
   */
  readonly kept?: number | undefined
  /** Bytes of the results of tasks that have ended and are kept, in all. Default 1 GiB. */
  readonly keptBytes?: number | undefined
  /** The id of the version of the program that runs here. Default: none. */
  readonly deployment?: string | undefined
  /** Whether tasks that are made here are claimed only by nodes of the same `deployment`, until one gives them up at its shutdown. */
  readonly pin?: boolean | undefined
}

/** How long a failed statement is tried again at least, in milliseconds: as long as a lease, so that a run is cut off before it fails. */
const patience = 20_000
/** The wait before it is tried again, in milliseconds; doubled each time up to the second. */
const pauses = [10, 500] as const

const codeOf = ({ reason: { cause } }: SqlError): number | string => {
  const code = typeof cause === "object" && cause !== null && "code" in cause ? cause.code : undefined
  return typeof code === "number" ? code & 0xff : String(code)
}

/** True if the disk of the database is full. */
export const isFull = (error: SqlError): boolean => [13, "53100"].includes(codeOf(error))

/**
 * What Effect has no reason of its own for: Postgres that shuts down, crashed or starts (57P), or lacks room, memory or connections (53); SQLite
 * whose disk is full (13) or fails (10).
 */
const isPoor = (error: SqlError): boolean => {
  const code = codeOf(error)
  return typeof code === "number" ? [10, 13].includes(code) : /^(?:57P|53)/.test(code)
}

const mayPass = (error: unknown): boolean => isSqlError(error) && (error.isRetryable || isPoor(error))

const again = (duration: number) =>
  Schedule.min([Schedule.exponential(pauses[0]), Schedule.spaced(pauses[1])]).pipe(Schedule.upTo({ duration }))

/** How many broken rows are remembered, so that each is logged once. */
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
  /** The deployment that new tasks are kept to. */
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

  /** Tries again what may pass; any other failure of the database is a defect. */
  readonly patient = <A, E = never>(effect: Effect.Effect<A, E | SqlError>): Effect.Effect<A, E> =>
    this.dialect.left(
      Effect.catch(this.retried(effect), (error) => (isSqlError(error) ? Effect.die(error) : Effect.fail(error)))
    )

  /** In one transaction. The defect of a connection that was cut, and cannot be told to roll back, is the failure that it is. */
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
      return Effect.ignoreCause(Effect.logError(`The row of the task ${id} is broken and is left out`, cause))
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

  /** Ends a task that has not ended; true where this did it. */
  end(id: string, outcome: TaskOutcome, message: string | undefined): Effect.Effect<boolean, SqlError> {
    return Effect.map(
      this.query<{ readonly id: string }>(this.statements.end, [jsonOf(outcome), message ?? null, id]),
      (ended) => {
        if (ended.length > 0) this.changed(id)
        return ended.length > 0
      }
    )
  }

  /** Ends a task that is past its ttl. `by`: the lease whose holder learns of the end from its caller. */
  expire(row: TaskRow, by?: Lease): Effect.Effect<void, SqlError> {
    const outcome = expiredAfter(row.ttl)
    return Effect.flatMap(this.end(row.id, outcome, outcome.message), (ended) => {
      // The node that runs a task learns of its end by its lease. One whose lease has run out may have died.
      const isHeld = row.node !== null && (row.free === 0 || row.epoch === by?.epoch)
      const tell = (row: TaskRow): void => {
        if (ended && !isHeld) this.expired.add({ task: taskOf(row, []), input: inputOf(row) })
      }
      return Effect.asVoid(this.decoded([row], tell))
    })
  }

  /** The task of an owner; one that is past its ttl has ended. */
  own(id: string, owner: string): Effect.Effect<TaskRow | undefined, SqlError> {
    const read = this.first<TaskRow>(this.statements.own, [id, owner, this.limits.keptAfterEnd])
    return Effect.flatMap(read, (row) =>
      row?.late === 1 ? Effect.andThen(this.expire(row), read) : Effect.succeed(row)
    )
  }

  /** A task has changed in a way that its run or its readers see: those of other processes, too. */
  changed(id: string): void {
    this.changes.changed(id)
    this.dialect.tell(id)
  }

  /** A task has become due that this process does not continue itself. */
  handedOver(): void {
    this.changes.woken()
    this.dialect.tell(someTask)
  }
}
