/** `TaskStore` on the tables. */
import type { Lease } from "../store/Journal.ts"
import { bytesOf, callerOf, newId } from "../store/Row.ts"
import type { NewTask, Task } from "../model/Task.ts"
import {
  type Answers,
  LimitReached,
  StoreFull,
  type TaskPage,
  type TaskStore,
  UnknownCursor
} from "../store/TaskStore.ts"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import * as Stream from "effect/Stream"
import type { Look } from "./Changes.ts"
import type { EntryRow, TaskRow } from "./Rows.ts"
import { isFull, jsonOf, type Tables } from "./Tables.ts"

const create = (tables: Tables, task: NewTask, node: string) => {
  const { lease, limits, statements } = tables
  const { client, input, message = null, owner, pollInterval, tool, ttl } = task
  const { inputBytes, perOwner, total } = limits
  if (bytesOf(input) > inputBytes) {
    return Effect.fail(new LimitReached({ message: `The arguments are larger than ${inputBytes} bytes` }))
  }
  const id = newId()
  const texts = [id, owner, tool, jsonOf(input), jsonOf(client)]
  const caller = callerOf(task)
  const run = [ttl, pollInterval, ttl, message, node, lease, tables.pin]
  const params = [...texts, ...run, task.caller ?? null, caller, perOwner, total]
  const made = Effect.gen(function* () {
    yield* tables.query(statements.create, params)
    const row = yield* tables.first<TaskRow>(statements.row, [id])
    if (row !== undefined) return { task: (yield* tables.tasks([row]))[0], lease: { task: id, epoch: 1 } }
    const open = yield* tables.first<{ readonly count: number }>(statements.openOf, [caller])
    const reached =
      Number(open?.count) >= perOwner
        ? `The caller already has its maximum of ${perOwner} unfinished tasks`
        : `The server is already running its maximum of ${total} tasks`
    return yield* new LimitReached({ message: reached })
  })
  // The caller waits, and may call again once there is room.
  const full = new StoreFull({ message: "The task store's disk is full. Try again later" })
  return tables.patient<{ readonly task: Task | undefined; readonly lease: Lease }, LimitReached | StoreFull>(
    Effect.mapError(made, (error) => (isSqlError(error) && isFull(error) ? full : error))
  )
}

const cursorOf = ({ created, id }: TaskRow): string => `${created}.${id}`

const list = (tables: Tables, owner: string, cursor: string | undefined, size: number) => {
  const after = cursor === undefined ? ["", "-1", ""] : /^(\d{1,16})\.([\w-]{1,64})$/.exec(cursor)
  if (after === null) return Effect.fail(new UnknownCursor())
  const created = Number(after[1])
  const params = [owner, tables.limits.keptAfterEnd, created, created, after[2], size + 1]
  const read = tables.query<TaskRow>(tables.statements.page, params)
  const page = Effect.gen(function* () {
    let rows = yield* read
    const late = rows.filter((row) => row.late === 1)
    for (const row of late) yield* tables.expire(row)
    if (late.length > 0) rows = yield* read
    const shown = rows.slice(0, size)
    const last = shown.at(-1)
    const next = rows.length > size && last !== undefined ? cursorOf(last) : undefined
    return { tasks: yield* tables.tasks(shown), next }
  })
  return tables.patient<TaskPage, UnknownCursor>(page)
}

/** Records answers to open questions. Locks the row, so that each question is answered once. */
const answered = Effect.fnUntraced(function* (
  tables: Tables,
  row: TaskRow,
  answers: Answers
): Effect.fn.Return<ReadonlyArray<string>, LimitReached | SqlError> {
  const { limits, statements } = tables
  // A key that the database would store differently does not name a question.
  const keys = Object.keys(answers).filter((key) => tables.dialect.kept(key) === key)
  const open = yield* tables.query<EntryRow>(statements.openAmong, [row.id, jsonOf(keys)])
  if (open.length === 0 || row.outcome !== null) return []
  const size = yield* tables.first<{ readonly bytes: number }>(statements.size, [row.id])
  let bytes = Number(size?.bytes)
  for (const { key } of open) {
    const more = bytesOf(answers[key])
    bytes += more
    if (more > limits.entryBytes || bytes > limits.journalBytes) {
      return yield* new LimitReached({ message: `The answer to ${key} is too large` })
    }
    yield* tables.query(statements.answer, [jsonOf(answers[key]), row.epoch, more, row.id, key])
  }
  yield* tables.query(statements.answered, [open.length, row.id])
  return open.map(({ key }) => key)
})

const answer = (tables: Tables, id: string, owner: string, answers: Answers) => {
  const taken = Effect.gen(function* () {
    yield* tables.query(tables.statements.lock, [id, owner])
    const row = yield* tables.own(id, owner)
    return row && { row, keys: yield* answered(tables, row, answers) }
  })
  type Taken = { readonly row: TaskRow; readonly keys: ReadonlyArray<string> } | undefined
  return Effect.flatMap(tables.patient<Taken, LimitReached>(tables.together(taken)), (taken) => {
    if (taken === undefined) return Effect.succeedNone
    const { keys, row } = taken
    if (keys.length > 0) tables.changed(row.id)
    if (keys.length > 0 && row.node === null) tables.changes.woken()
    return Effect.succeedSome(keys)
  })
}

const cancel = (tables: Tables, id: string, owner: string, message = "Cancelled by the client") =>
  tables.patient<Option.Option<Task>, never>(
    Effect.gen(function* () {
      const row = yield* tables.own(id, owner)
      if (row === undefined) return Option.none()
      if (row.outcome === null) yield* tables.end(id, { _tag: "Cancelled" }, message)
      return yield* got(tables, id, owner)
    })
  )

const got = (tables: Tables, id: string, owner: string): Effect.Effect<Option.Option<Task>, SqlError> =>
  Effect.flatMap(tables.own(id, owner), (row) =>
    row === undefined ? Effect.succeedNone : Effect.map(tables.tasks([row]), ([task]) => Option.fromUndefinedOr(task))
  )

/** Identifies a task's state for readers of its changes. */
const seen = ({ message, outcome, questions, updatedAt }: Task): string =>
  jsonOf([message, outcome, [...questions.keys()], updatedAt])

type Last = { readonly version: number | undefined } | undefined
type Step = readonly [Task, Last]

const changes = (tables: Tables, id: string, owner: string): Stream.Stream<Task> => {
  const next = (version: number | undefined) =>
    tables.changes.until(
      id,
      tables.patient<Look<Step | undefined>, never>(
        Effect.gen(function* () {
          const row = yield* tables.own(id, owner)
          if (row === undefined) return { version: undefined, found: Option.some(undefined) }
          if (row.version === version) return { version, found: Option.none() }
          const [task] = yield* tables.tasks([row])
          const last: Last = row.outcome === null ? { version: row.version } : undefined
          const step: Step | undefined = task && [task, last]
          return { version: row.version, found: Option.some(step) }
        })
      )
    )
  const states = Stream.unfold<Last, Task, never, never>({ version: undefined }, (last) =>
    last === undefined ? Effect.undefined : next(last.version)
  )
  return Stream.changesWith(states, (a, b) => seen(a) === seen(b))
}

export const make = (tables: Tables): TaskStore["Service"] => ({
  outlives: true,
  create: (task, node) =>
    Effect.flatMap(
      Effect.suspend(() => create(tables, task, node)),
      ({ lease, task }) =>
        task === undefined
          ? Effect.die(new Error("The task store did not return the task it just created"))
          : Effect.succeed({ lease, task })
    ),
  get: (id, owner) => tables.patient<Option.Option<Task>, never>(got(tables, id, owner)),
  list: (owner, cursor, size) => list(tables, owner, cursor, size),
  answer: (id, owner, answers) => answer(tables, id, owner, answers),
  cancel: (id, owner, message) => cancel(tables, id, owner, message),
  changes: (id, owner) => changes(tables, id, owner)
})
