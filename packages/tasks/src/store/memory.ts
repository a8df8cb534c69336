/**
 * Tasks in the memory of a single process, which are lost when it exits.
 *
 * Every operation is a single synchronous step, so none ever sees a half-changed task.
 */
import { BusyMap, Shares } from "@effect-mcp/core/internal/inFlight"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Stream from "effect/Stream"
import { type Answer, expiredAfter, type NewTask, type TaskOutcome, type Task } from "../model/Task.ts"
import { endedOf, EndedTasks, type EndedOptions, type EndedTask } from "./EndedTasks.ts"
import {
  bytesOf,
  callerOf,
  changeOf,
  changesOf,
  countsOf,
  ExpiredTasks,
  hasRoom,
  keep,
  leasedTo,
  lostOf,
  newId,
  newRow,
  newTask,
  type Row
} from "./Row.ts"
import { type Claimed, type Entry, Journal, JournalFull, type Lease, type Lost, type Wake } from "./Journal.ts"
import { type Answers, defaultLimits, LimitReached, type StoreLimits, TaskStore, UnknownCursor } from "./TaskStore.ts"

const noRoom = "The caller has too many finished tasks. Read their results, or wait until they expire"
/** Interval at which to look for due tasks, in milliseconds. */
const between = 1000

export interface Options extends Partial<StoreLimits>, EndedOptions {
  /** How long a lease stays valid without being renewed, in milliseconds. Default 10 seconds. */
  readonly lease?: number
}

const isEnded = (found: Row | EndedTask): found is EndedTask => found.task.outcome !== undefined

class Memory {
  private readonly limits: StoreLimits
  readonly leaseTime: number
  /** Unfinished tasks. */
  private readonly rows = new BusyMap<string, Row>()
  private readonly clock: Clock.Clock
  private created = 0
  /** Open from when a task becomes due until the next lookup. */
  private readonly woken = Latch.makeUnsafe(false)
  /** Counts unfinished tasks. */
  private readonly open: Shares
  private readonly ended: EndedTasks
  readonly expired = new ExpiredTasks()

  constructor(clock: Clock.Clock, { kept, keptBytes, lease = 10_000, ...limits }: Options) {
    this.clock = clock
    this.ended = new EndedTasks({ kept, keptBytes })
    this.leaseTime = lease
    this.limits = { ...defaultLimits, ...limits }
    this.open = new Shares({ total: this.limits.total, perCaller: this.limits.perOwner })
  }

  private get now(): number {
    return this.clock.currentTimeMillisUnsafe()
  }

  private isForgotten({ task: { createdAt, ttl, updatedAt } }: EndedTask): boolean {
    return this.now >= Math.max(createdAt + ttl, updatedAt + this.limits.keptAfterEnd)
  }

  private find(id: string, owner: string): Row | EndedTask | undefined {
    const row = this.rows.get(id)
    if (row !== undefined && !this.expire(row)) return row.input.owner === owner ? row : undefined
    const ended = this.ended.get(id)
    return ended === undefined || ended.owner !== owner || this.isForgotten(ended) ? undefined : ended
  }

  private change(row: Row, change: Partial<Task>): void {
    row.task = { ...row.task, ...change, updatedAt: this.now }
    this.wake(row)
  }

  /** Wakes everyone who is waiting for a change. */
  private wake(row: Row): void {
    const { changed } = row
    row.changed = undefined
    if (changed !== undefined) Deferred.doneUnsafe(changed, Effect.void)
  }

  private end(row: Row, outcome: TaskOutcome, message: string | undefined): EndedTask {
    const ended = endedOf(row, this.now, outcome, message)
    this.open.add(ended.caller, -1)
    this.rows.delete(ended.task.id)
    // Runs before the change, so that waiters read the end at once.
    this.ended.add(ended)
    this.wake(row)
    return ended
  }

  /** Ends an expired task unless it has already ended. Waiters run immediately, and may have ended the next row of a loop. */
  private expire(row: Row): boolean {
    const { createdAt, id, ttl } = row.task
    if (this.now < createdAt + ttl || this.rows.get(id) !== row) return false
    if (row.node === undefined) this.expired.add(row)
    this.end(row, expiredAfter(ttl), expiredAfter(ttl).message)
    return true
  }

  // ---- for requests

  create(input: NewTask, node: string): Effect.Effect<{ readonly task: Task; readonly lease: Lease }, LimitReached> {
    return Effect.suspend(() => {
      const { inputBytes, perOwner, total } = this.limits
      const caller = callerOf(input)
      const full = (limit: string) => Effect.fail(new LimitReached({ message: limit }))
      const exceeded = this.open.exceededBy(caller, 1)
      if (exceeded === "total") return full(`The server is already running its maximum of ${total} tasks`)
      if (exceeded === "perCaller") return full(`The caller already has its maximum of ${perOwner} unfinished tasks`)
      if (bytesOf(input.input) > inputBytes) return full(`The arguments are larger than ${inputBytes} bytes`)
      if (!this.ended.makeRoom(caller)) return full(noRoom)
      const { now } = this
      const task = newTask(newId(), input, now)
      const { id } = task
      this.open.add(caller, 1)
      this.rows.set(id, newRow(task, input, this.created++, { node, until: now + this.leaseTime }))
      return Effect.succeed({ task, lease: { task: id, epoch: 1 } })
    })
  }

  get(id: string, owner: string): Effect.Effect<Option.Option<Task>> {
    return Effect.suspend(() => {
      const row = this.find(id, owner)
      if (row !== undefined && isEnded(row)) this.ended.read(row)
      return row === undefined ? Effect.succeedNone : Effect.succeedSome(row.task)
    })
  }

  list(owner: string, cursor: string | undefined, size: number) {
    return Effect.suspend(() => {
      const after = cursor === undefined ? -1 : /^\d{1,15}$/.test(cursor) ? Number(cursor) : undefined
      if (after === undefined) return Effect.fail(new UnknownCursor())
      for (const row of this.rows.values()) if (row.input.owner === owner) this.expire(row)
      const open = this.rows.values().filter((row) => row.input.owner === owner && row.order > after)
      const ended = [...this.ended.all].filter(
        (row) => row.owner === owner && row.order > after && !this.isForgotten(row)
      )
      const rows = [...open, ...ended].toSorted((a, b) => a.order - b.order)
      const page = rows.slice(0, size)
      const next = rows.length > size ? page.at(-1)?.order.toString() : undefined
      return Effect.succeed({ tasks: page.map(({ task }) => task), next })
    })
  }

  answer(id: string, owner: string, answers: Answers) {
    return Effect.suspend(() => {
      const row = this.find(id, owner)
      if (row === undefined) return Effect.succeedNone
      if (isEnded(row)) return Effect.succeedSome([])
      const open = Object.entries(answers).filter(([key]) => row.task.questions.has(key))
      const tooLong = open.find(([, answer]) => !hasRoom(this.limits, row, answer))
      if (tooLong !== undefined) {
        return Effect.fail(new LimitReached({ message: `The answer to ${tooLong[0]} is too large` }))
      }
      const questions = new Map(row.task.questions)
      for (const [key, answer] of open) {
        const entry = row.entries?.get(key)
        if (entry?._tag !== "Question") continue
        keep(row, { ...entry, answer })
        row.bytes += bytesOf(answer)
        questions.delete(key)
      }
      if (open.length > 0) {
        if (row.node === undefined) this.wakeUp(row, this.now)
        this.change(row, { questions })
      }
      return Effect.succeedSome(open.map(([key]) => key))
    })
  }

  cancel(id: string, owner: string, message = "Cancelled by the client") {
    return Effect.suspend(() => {
      const row = this.find(id, owner)
      if (row === undefined) return Effect.succeedNone
      const ended = isEnded(row) ? row : this.end(row, { _tag: "Cancelled" }, message)
      return Effect.succeedSome(ended.task)
    })
  }

  changes(id: string, owner: string): Stream.Stream<Task> {
    return changesOf(() => this.find(id, owner))
  }

  // ---- for what runs tasks

  private held({ epoch, task }: Lease): Row | undefined {
    const row = this.rows.get(task)
    if (row === undefined || this.expire(row)) return undefined
    return row.epoch === epoch && row.node !== undefined ? row : undefined
  }

  private lostNow(lease: Lease): Lost {
    return lostOf(lease, this.rows.get(lease.task) ?? this.ended.get(lease.task))
  }

  private under<A, E>(lease: Lease, use: (row: Row) => Effect.Effect<A, E>): Effect.Effect<A, E | Lost> {
    return Effect.suspend((): Effect.Effect<A, E | Lost> => {
      const row = this.held(lease)
      return row === undefined ? Effect.fail(this.lostNow(lease)) : use(row)
    })
  }

  claim(node: string, tools: ReadonlyArray<string>, max: number) {
    return Effect.sync(() => {
      const { now } = this
      for (const row of this.rows.values()) this.expire(row)
      const due = this.rows
        .values()
        .filter((row) => tools.includes(row.input.tool))
        .filter((row) => (row.node === undefined ? row.wakeAt <= now : row.leaseUntil <= now))
        .slice(0, max)
      return this.leased(due, node)
    })
  }

  /** Leases all of them before any waiter wakes, because a waiter runs immediately and may claim or take them. */
  private leased(rows: ReadonlyArray<Row>, node: string): ReadonlyArray<Claimed> {
    const claimed = rows.map((row) => leasedTo(row, node, this.now + this.leaseTime))
    for (const row of rows) this.wake(row)
    return claimed
  }

  take(node: string, id: string): Effect.Effect<Option.Option<Claimed>> {
    return Effect.sync(() => {
      const row = this.rows.get(id)
      const [taken] = row === undefined || this.expire(row) ? [] : this.leased([row], node)
      return Option.fromUndefinedOr(taken)
    })
  }

  renew(node: string, leases: ReadonlyArray<Lease>) {
    return Effect.sync(() =>
      leases.filter((lease) => {
        const row = this.held(lease)
        if (row?.node !== node) return true
        row.leaseUntil = this.now + this.leaseTime
        return false
      })
    )
  }

  record(lease: Lease, entry: Entry): Effect.Effect<Entry, Lost | JournalFull> {
    return this.under(lease, (row) => {
      const known = row.entries?.get(entry.key)
      if (known !== undefined) return Effect.succeed(known)
      if (!hasRoom(this.limits, row, entry)) {
        return Effect.fail(new JournalFull({ message: `The task's journal is full; ${entry.key} was not recorded` }))
      }
      keep(row, entry)
      row.bytes += bytesOf(entry)
      row.attempts = 0
      if (entry._tag === "Question" && entry.answer === undefined) {
        this.change(row, { questions: new Map([...row.task.questions, [entry.key, entry.question]]) })
      }
      return Effect.succeed(entry)
    })
  }

  answerOf(lease: Lease, key: string): Effect.Effect<Answer, Lost> {
    return this.under(lease, (row) => {
      const entry = row.entries?.get(key)
      if (entry?._tag === "Question" && entry.answer !== undefined) return Effect.succeed(entry.answer)
      return Effect.andThen(changeOf(row), this.answerOf(lease, key))
    })
  }

  message(lease: Lease, message: string): Effect.Effect<void, Lost> {
    return this.under(lease, (row) => Effect.sync(() => this.change(row, { message })))
  }

  park(lease: Lease, wake: Wake = { at: this.now, answers: [] }): Effect.Effect<void, Lost> {
    return this.under(lease, (row) =>
      Effect.sync(() => {
        row.node = undefined
        row.attempts = 0
        const { at = Infinity, answers } = wake
        this.wakeUp(row, answers.some((key) => !row.task.questions.has(key)) ? this.now : at)
        this.wake(row)
      })
    )
  }

  private wakeUp(row: Row, at: number): void {
    row.wakeAt = at
    if (at <= this.now) this.woken.openUnsafe()
  }

  get due(): Effect.Effect<void> {
    const { woken } = this
    return Effect.andThen(
      Effect.raceFirst(woken.await, Effect.sleep(between)),
      Effect.sync(() => woken.closeUnsafe())
    )
  }

  parked(max: number) {
    return Effect.sync(() => {
      for (const row of this.rows.values()) this.expire(row)
      const parked = this.rows.values().filter(({ node }) => node === undefined)
      return parked
        .slice(0, max)
        .map(({ input, task, wakeAt }) => ({ task, input, due: wakeAt === Infinity ? undefined : wakeAt }))
    })
  }

  settle(lease: Lease, outcome: TaskOutcome, message?: string): Effect.Effect<void, Lost> {
    return this.under(lease, (row) => {
      this.end(row, outcome, message)
      return Effect.void
    })
  }

  lost(lease: Lease): Effect.Effect<Lost> {
    return Effect.suspend(() => {
      const row = this.held(lease)
      return row === undefined ? Effect.succeed(this.lostNow(lease)) : Effect.andThen(changeOf(row), this.lost(lease))
    })
  }

  get sweep(): Effect.Effect<number> {
    return Effect.sync(() => {
      const expired = this.rows.values().filter((row) => this.expire(row))
      const forgotten = [...this.ended.all].filter((row) => this.isForgotten(row))
      for (const row of forgotten) this.ended.delete(row)
      return expired.length + forgotten.length
    })
  }
}

/** Provides both services in this process's memory. */
export const layer = (options: Options = {}): Layer.Layer<TaskStore | Journal> =>
  Layer.effectContext(
    Effect.map(Clock.Clock, (clock) => {
      const memory = new Memory(clock, options)
      return Context.make(TaskStore, {
        outlives: false,
        create: (task, node) => memory.create(task, node),
        get: (id, owner) => memory.get(id, owner),
        list: (owner, cursor, size) => memory.list(owner, cursor, size),
        answer: (id, owner, answers) => memory.answer(id, owner, answers),
        cancel: (id, owner, message) => memory.cancel(id, owner, message),
        changes: (id, owner) => memory.changes(id, owner)
      }).pipe(
        Context.add(Journal, {
          node: crypto.randomUUID(),
          engine: undefined,
          lease: memory.leaseTime,
          due: memory.due,
          claim: (node, tools, max) => memory.claim(node, tools, max),
          take: (node, id) => memory.take(node, id),
          unstarted: () => Effect.succeed([]),
          renew: (node, leases) => memory.renew(node, leases),
          record: (lease, entry) => memory.record(lease, entry),
          transaction: () => undefined,
          answer: (lease, key) => memory.answerOf(lease, key),
          message: (lease, message) => memory.message(lease, message),
          park: (lease, wake) => memory.park(lease, wake),
          settle: (lease, outcome, message) => memory.settle(lease, outcome, message),
          parked: (max) => memory.parked(max),
          parkedCounts: Effect.map(memory.parked(Infinity), (all) => countsOf(all, clock.currentTimeMillisUnsafe())),
          lost: (lease) => memory.lost(lease),
          expired: memory.expired.next,
          sweep: memory.sweep
        })
      )
    })
  )
