/** `Journal` on the tables. */
import { bytesOf } from "../store/Row.ts"
import {
  type Claimed,
  type Entry,
  type Journal,
  JournalFull,
  type Lease,
  Lost,
  type Parked,
  type ParkedCounts,
  type RecordInTransaction,
  type Wake
} from "../store/Journal.ts"
import type { Answer, TaskOutcome } from "../model/Task.ts"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { SqlError } from "effect/sql/SqlError"
import { answerOf, type EntryRow, entryOf, inputOf, lostOf, type TaskRow, taskOf, valueOf } from "./Rows.ts"
import { jsonOf, type Tables } from "./Tables.ts"

/** Interval in milliseconds at which a node looks for due tasks. */
const between = 500
/** Maximum number of tasks that one sweep ends, and that it forgets. */
const maxSwept = 500
/** Maximum number of tasks whose journal size is cached. */
const maxSizes = 1024

interface Size {
  count: number
  bytes: number
}

/** State of a leased task, read by one statement. */
interface Watch {
  readonly version: number
  readonly held: number
  readonly answer: string | null
}

class SqlJournal {
  private readonly tables: Tables
  /** Sizes of the journals that this process writes. No other process adds steps to them. */
  private readonly sizes = new Map<string, Size>()

  constructor(tables: Tables) {
    this.tables = tables
  }

  /** Returns the error for a lease that is not valid. Ends the task if it has expired. */
  private lostError(lease: Lease): Effect.Effect<Lost, SqlError> {
    const { statements } = this.tables
    const { task } = lease
    return Effect.flatMap(this.tables.first<TaskRow>(statements.row, [task]), (row) =>
      row?.late === 1 ? Effect.as(this.tables.expire(row, lease), lostOf(task, row)) : Effect.succeed(lostOf(task, row))
    )
  }

  private refuse(lease: Lease): Effect.Effect<never, Lost | SqlError> {
    return Effect.flatMap(this.lostError(lease), (lost) => Effect.fail(lost))
  }

  claim(node: string, tools: ReadonlyArray<string>, max: number): Effect.Effect<ReadonlyArray<Claimed>, SqlError> {
    const { dialect, lease, statements } = this.tables
    return Effect.gen({ self: this }, function* () {
      const { due, gone } = yield* dialect.sight
      if (!due && gone.length === 0) return []
      const params = [node, lease, jsonOf(gone), jsonOf(tools), this.tables.deployment, max]
      return yield* this.leased(yield* this.tables.query<TaskRow>(statements.claim, params))
    })
  }

  take(node: string, id: string): Effect.Effect<Option.Option<Claimed>, SqlError> {
    const { lease, statements } = this.tables
    const taken = this.tables.query<TaskRow>(statements.take, [node, lease, id])
    return Effect.map(
      Effect.flatMap(taken, (rows) => this.leased(rows)),
      ([claimed]) => Option.fromUndefinedOr(claimed)
    )
  }

  unstarted(tools: ReadonlyArray<string>, max: number): Effect.Effect<ReadonlyArray<string>, SqlError> {
    const { dialect, statements } = this.tables
    return Effect.gen({ self: this }, function* () {
      const { due, gone } = yield* dialect.sight
      if (!due && gone.length === 0) return []
      const params = [jsonOf(gone), jsonOf(tools), max]
      const rows = yield* this.tables.query<{ readonly id: string }>(statements.unstarted, params)
      return rows.map(({ id }) => id)
    })
  }

  /** Returns newly leased tasks with their recorded entries. */
  private leased(rows: ReadonlyArray<TaskRow>): Effect.Effect<ReadonlyArray<Claimed>, SqlError> {
    if (rows.length === 0) return Effect.succeed([])
    const { changes, statements } = this.tables
    const read = this.tables.query<EntryRow>(statements.all, [jsonOf(rows.map(({ id }) => id))])
    return Effect.flatMap(read, (entries) => {
      const byTask = Map.groupBy(entries, ({ task }) => task)
      return this.tables.decoded(rows, (row) => {
        const own = byTask.get(row.id) ?? []
        changes.changed(row.id)
        this.sizes.delete(row.id)
        const questions = own.filter(({ answer, kind }) => kind === "Question" && answer === null)
        const progress = Math.max(row.base, ...own.map(({ epoch }) => epoch))
        return {
          lease: { task: row.id, epoch: row.epoch },
          task: taskOf(row, questions),
          input: inputOf(row),
          entries: own.map(entryOf),
          attempts: row.epoch - progress
        }
      })
    })
  }

  renew(node: string, leases: ReadonlyArray<Lease>): Effect.Effect<ReadonlyArray<Lease>, SqlError> {
    const { lease: time, statements } = this.tables
    const params = [time, node, jsonOf(leases.map(({ task }) => task))]
    return Effect.map(
      this.tables.query<{ readonly id: string; readonly epoch: number }>(statements.renew, params),
      (rows) => {
        const epochs = new Map(rows.map(({ epoch, id }) => [id, epoch]))
        return leases.filter(({ epoch, task }) => epochs.get(task) !== epoch)
      }
    )
  }

  record(lease: Lease, entry: Entry): Effect.Effect<Entry, Lost | JournalFull | SqlError> {
    return Effect.gen({ self: this }, function* () {
      const size = yield* this.sizeOf(lease.task)
      const bytes = bytesOf(entry)
      const { entries, entryBytes, journalBytes } = this.tables.limits
      if (bytes > entryBytes || size.bytes + bytes > journalBytes || size.count >= entries) {
        return (yield* this.known(lease, entry)) ?? (yield* this.full(lease, entry))
      }
      const isQuestion = entry._tag === "Question" && entry.answer === undefined
      const recorded = yield* isQuestion ? this.ask(lease, entry, bytes) : this.insert(lease, entry, bytes)
      if (!recorded) return (yield* this.known(lease, entry)) ?? (yield* this.refuse(lease))
      size.count++
      size.bytes += bytes
      return entry
    })
  }

  /** Runs the step and records it in one transaction. Repeats all of it if a failure may be temporary. */
  readonly transaction: RecordInTransaction = (lease, key, step) => {
    const { dialect, lease: time, retried, together } = this.tables
    const whole = Effect.gen({ self: this }, function* () {
      yield* dialect.bounded(time)
      // The answer to a commit may be lost, so recorded work is not repeated.
      const known = yield* this.known(lease, { key })
      return known ?? (yield* this.record(lease, { _tag: "Step", key, value: yield* step }))
    })
    // Uncounts what was rolled back.
    return Effect.onError(retried(together(whole)), () => Effect.sync(() => this.sizes.delete(lease.task)))
  }

  private insert({ epoch, task }: Lease, entry: Entry, bytes: number): Effect.Effect<boolean, SqlError> {
    const answer = entry._tag === "Question" && entry.answer !== undefined ? jsonOf(entry.answer) : null
    const params = [task, entry.key, entry._tag, valueOf(entry), answer, bytes, task, epoch]
    return Effect.map(this.tables.query(this.tables.statements.record, params), (rows) => rows.length > 0)
  }

  private ask(lease: Lease, entry: Entry, bytes: number): Effect.Effect<boolean, SqlError> {
    const { statements, together } = this.tables
    const asked = Effect.gen({ self: this }, function* () {
      yield* this.tables.query(statements.lockHeld, [lease.task, lease.epoch])
      const recorded = yield* this.insert(lease, entry, bytes)
      if (recorded) yield* this.tables.query(statements.asked, [lease.task])
      return recorded
    })
    return Effect.tap(together(asked), () => Effect.sync(() => this.tables.changed(lease.task)))
  }

  /** Returns the key's existing record, or `undefined` if there is none or the lease is not valid. */
  private known({ epoch, task }: Lease, { key }: Pick<Entry, "key">): Effect.Effect<Entry | undefined, SqlError> {
    const { statements } = this.tables
    return Effect.flatMap(this.tables.first<Watch>(statements.watch, [epoch, key, task]), (watch) =>
      watch?.held === 1
        ? Effect.map(this.tables.first<EntryRow>(statements.one, [task, key]), (row) => row && entryOf(row))
        : Effect.undefined
    )
  }

  private full(lease: Lease, { key }: Entry): Effect.Effect<never, Lost | JournalFull | SqlError> {
    const { statements } = this.tables
    const watch = this.tables.first<Watch>(statements.watch, [lease.epoch, key, lease.task])
    return Effect.flatMap(watch, (watch): Effect.Effect<never, Lost | JournalFull | SqlError> =>
      watch?.held === 1
        ? Effect.fail(new JournalFull({ message: `The task's journal is full; ${key} was not recorded` }))
        : this.refuse(lease)
    )
  }

  private sizeOf(task: string): Effect.Effect<Size, SqlError> {
    const known = this.sizes.get(task)
    if (known !== undefined) return Effect.succeed(known)
    return Effect.map(this.tables.first<Size>(this.tables.statements.size, [task]), (row) => {
      if (this.sizes.size >= maxSizes) this.sizes.clear()
      const size = { count: Number(row?.count), bytes: Number(row?.bytes) }
      this.sizes.set(task, size)
      return size
    })
  }

  answer(lease: Lease, key: string): Effect.Effect<Answer, Lost> {
    type Found = Answer | Lost
    const look = (watch: Watch | undefined): Effect.Effect<Option.Option<Found>, SqlError> => {
      if (watch?.held !== 1) return Effect.asSome(this.lostError(lease))
      return Effect.succeed(watch.answer === null ? Option.none() : Option.some(answerOf(watch.answer)))
    }
    return Effect.flatMap(this.watched<Found>(lease, key, look), (found) =>
      found instanceof Lost ? Effect.fail(found) : Effect.succeed(found)
    )
  }

  lost(lease: Lease): Effect.Effect<Lost> {
    return this.watched<Lost>(lease, "", (watch) =>
      watch?.held === 1 ? Effect.succeedNone : Effect.asSome(this.lostError(lease))
    )
  }

  private watched<A>(
    { epoch, task }: Lease,
    key: string,
    look: (watch: Watch | undefined) => Effect.Effect<Option.Option<A>, SqlError>
  ): Effect.Effect<A> {
    const { changes, patient, statements } = this.tables
    const seen = Effect.flatMap(this.tables.first<Watch>(statements.watch, [epoch, key, task]), (watch) =>
      Effect.map(look(watch), (found) => ({ version: watch?.version, found }))
    )
    return changes.until(task, patient<Effect.Success<typeof seen>, never>(seen))
  }

  message({ epoch, task }: Lease, message: string): Effect.Effect<void, Lost | SqlError> {
    return this.written({ epoch, task }, this.tables.statements.message, [message, task, epoch])
  }

  settle(lease: Lease, outcome: TaskOutcome, message: string | undefined): Effect.Effect<void, Lost | SqlError> {
    this.sizes.delete(lease.task)
    const { epoch, task } = lease
    return this.written(lease, this.tables.statements.settle, [jsonOf(outcome), message ?? null, task, epoch])
  }

  private written(
    lease: Lease,
    statement: string,
    params: ReadonlyArray<unknown>
  ): Effect.Effect<void, Lost | SqlError> {
    return Effect.flatMap(this.tables.query(statement, params), (rows) => {
      if (rows.length === 0) return this.refuse(lease)
      return Effect.sync(() => this.tables.changed(lease.task))
    })
  }

  park(lease: Lease, wake: Wake | undefined): Effect.Effect<void, Lost> {
    const { changes, dialect, patient, statements, together } = this.tables
    const { epoch, task } = lease
    const parked = Effect.gen({ self: this }, function* () {
      const held = yield* this.tables.query(statements.lockHeld, [task, epoch])
      if (held.length === 0) return yield* this.refuse(lease)
      // Without a wake the node is stopping, and any other node continues the task.
      if (wake === undefined) {
        yield* this.tables.query(statements.handOver, [task])
        return true
      }
      const { answers, at } = wake
      const keys = jsonOf(answers.map((key) => dialect.kept(key)))
      const open = answers.length === 0 ? [] : yield* this.tables.query(statements.openAmong, [task, keys])
      const isDue = open.length < answers.length
      yield* this.tables.query(isDue ? statements.parkDue : statements.park, isDue ? [task] : [at ?? null, task])
      return isDue
    })
    return Effect.map(patient<boolean, Lost>(together(parked)), (isDue) => {
      this.sizes.delete(task)
      changes.changed(task)
      if (wake === undefined) this.tables.handedOver()
      else if (isDue) changes.woken()
    })
  }

  parked(max: number): Effect.Effect<ReadonlyArray<Parked>, SqlError> {
    const { statements } = this.tables
    return Effect.flatMap(this.tables.query<TaskRow>(statements.parked, [max]), (rows) =>
      this.tables.asked(rows, (row, questions) => ({
        task: taskOf(row, questions),
        input: inputOf(row),
        due: row.due ?? undefined
      }))
    )
  }

  get parkedCounts(): Effect.Effect<ParkedCounts, SqlError> {
    type Row = { readonly state: keyof ParkedCounts; readonly count: number }
    return Effect.map(this.tables.query<Row>(this.tables.statements.parkedCounts, []), (rows) => ({
      asking: 0,
      sleeping: 0,
      pending: 0,
      ...Object.fromEntries(rows.map(({ count, state }) => [state, count]))
    }))
  }

  /** Ends expired tasks and forgets old or excess ones, in batches, so that no statement takes long. */
  get sweep(): Effect.Effect<number, SqlError> {
    const { kept, keptBytes, limits, statements } = this.tables
    return Effect.gen({ self: this }, function* () {
      const late = yield* this.tables.query<TaskRow>(statements.late, [maxSwept])
      for (const row of late) yield* this.tables.expire(row)
      const old = yield* this.forget(statements.forget, [limits.keptAfterEnd, maxSwept])
      const excess = yield* this.forget(statements.forgetExcess, [kept, keptBytes, maxSwept])
      yield* this.tables.query(statements.forgetEnded, [])
      const swept = late.length + old + excess
      return Math.max(late.length, old, excess) < maxSwept ? swept : swept + (yield* this.sweep)
    })
  }

  /** Deletes tasks with their entries. Returns how many. */
  private forget(statement: string, params: ReadonlyArray<unknown>): Effect.Effect<number, SqlError> {
    const { changes, statements, together } = this.tables
    const gone = Effect.gen({ self: this }, function* () {
      const gone = yield* this.tables.query<{ readonly id: string }>(statement, params)
      if (gone.length > 0) yield* this.tables.query(statements.forgetEntries, [jsonOf(gone.map(({ id }) => id))])
      return gone
    })
    return Effect.map(together(gone), (gone) => {
      for (const { id } of gone) changes.changed(id)
      return gone.length
    })
  }
}

export const make = (tables: Tables): Journal["Service"] => {
  const journal = new SqlJournal(tables)
  const { changes, dialect, lease, patient } = tables
  return {
    node: dialect.node,
    engine: undefined,
    lease,
    due: changes.dueWithin(between),
    // Not retried: a claim whose answer was lost has leased tasks that no fiber runs until the lease expires.
    claim: (node, tools, max) => Effect.orDie(journal.claim(node, tools, max)),
    // Taking it twice results in the same lease with another epoch.
    take: (node, id) => patient<Option.Option<Claimed>, never>(journal.take(node, id)),
    unstarted: (tools, max) => Effect.orDie(journal.unstarted(tools, max)),
    renew: (node, leases) => dialect.left(Effect.orDie(journal.renew(node, leases))),
    record: (lease, entry) => patient<Entry, Lost | JournalFull>(journal.record(lease, entry)),
    transaction: ({ transactionService }) =>
      transactionService === dialect.sql.transactionService ? journal.transaction : undefined,
    answer: (lease, key) => journal.answer(lease, key),
    message: (lease, message) => patient<void, Lost>(journal.message(lease, message)),
    park: (lease, wake) => journal.park(lease, wake),
    settle: (lease, outcome, message) => patient<void, Lost>(journal.settle(lease, outcome, message)),
    // A view will be read again.
    parked: (max) => Effect.orDie(journal.parked(max)),
    parkedCounts: Effect.orDie(journal.parkedCounts),
    lost: (lease) => journal.lost(lease),
    expired: tables.expired.next,
    sweep: Effect.orDie(journal.sweep)
  }
}
