/**
 * The laws of `TaskStore` and `Journal`: random histories of several nodes and callers against a model. A store must pass all of them.
 *
 * Times of the model come from the Clock. A store with its own clock needs a `lease` and `ttl` that no history reaches.
 */
import * as Arbitrary from "effect/Arbitrary"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { type TaskOutcome, stateOf, type Task } from "../../src/model/Task.ts"
import { type Entry, Journal, type Lease } from "../../src/store/Journal.ts"
import { TaskStore } from "../../src/store/TaskStore.ts"

// Some values are listed more often, so that most histories reach rare states.
const Owner = Schema.Literals(["ada", "ada", "ada", "bob"])
const Node = Schema.Literals(["a", "b"])
const Key = Schema.Literals(["x", "x", "y"])
/** Index of a task, modulo the number of tasks. */
const Index = Schema.Literals([0, 0, 0, 1, 2])
/** Which lease of the task, counted from the newest. */
const Age = Schema.Literals([0, 0, 0, 1])

const Ask = Schema.TaggedStruct("Ask", { task: Index, age: Age, key: Key })
const Answer = Schema.TaggedStruct("Answer", { task: Index, owner: Owner, key: Key, value: Schema.Int })
const Claim = Schema.TaggedStruct("Claim", { node: Node, max: Schema.Literals([1, 10]) })
const Command = Schema.Union([
  Schema.TaggedStruct("Create", { owner: Owner, node: Node }),
  Ask,
  Ask,
  Schema.TaggedStruct("Step", { task: Index, age: Age, key: Key, value: Schema.Int }),
  Answer,
  Answer,
  Schema.TaggedStruct("Cancel", { task: Index, owner: Owner }),
  Schema.TaggedStruct("Message", { task: Index, age: Age }),
  Schema.TaggedStruct("Park", {
    task: Index,
    age: Age,
    until: Schema.Literals(["now", "answer", "answers", "answers"])
  }),
  Schema.TaggedStruct("Settle", { task: Index, age: Age, fails: Schema.Boolean }),
  Claim,
  Claim,
  Schema.TaggedStruct("Take", { task: Index, node: Node }),
  Schema.TaggedStruct("List", { owner: Owner, size: Schema.Literals([1, 2, 10]) })
])
type Command = typeof Command.Type

/** Histories of up to 40 operations on a few tasks. */
export const histories: Arbitrary.Arbitrary<ReadonlyArray<Command>> = Arbitrary.array(Arbitrary.schema(Command), {
  maxLength: 40
})

/** The model's state of a task. */
interface Known {
  readonly id: string
  readonly owner: string
  readonly leases: Array<Lease>
  readonly entries: Map<string, unknown>
  readonly open: Set<string>
  /** All questions it ever asked. */
  readonly asked: Array<string>
  held: boolean
  due: boolean
  outcome: TaskOutcome | undefined
}

const check = (holds: boolean, law: string, known: unknown): Effect.Effect<void> =>
  holds ? Effect.void : Effect.die(new Error(`${law}: ${JSON.stringify(known)}`))

class Model {
  readonly tasks: Array<Known> = []

  at(index: number): Known | undefined {
    return this.tasks.length === 0 ? undefined : this.tasks[index % this.tasks.length]
  }

  /** True if a lease is the newest of a running task. */
  static holds({ held, leases, outcome }: Known, lease: Lease): boolean {
    return held && outcome === undefined && lease === leases.at(-1)
  }

  end(task: Known, outcome: TaskOutcome): void {
    task.outcome = outcome
    task.held = false
    task.open.clear()
  }
}

const leaseOf = (task: Known, age: number): Lease | undefined => task.leases.at(-1 - age)

const create = Effect.fnUntraced(function* (model: Model, { node, owner }: Extract<Command, { _tag: "Create" }>) {
  const store = yield* TaskStore
  const { lease, task } = yield* Effect.orDie(
    store.create({ owner, tool: "tool", input: {}, client: {}, ttl: 86_400_000, pollInterval: 1000 }, node)
  )
  yield* check(stateOf(task) === "working", "A new task works", task)
  yield* check(!model.tasks.some(({ id }) => id === task.id), "Ids are unique", task.id)
  model.tasks.push({
    id: task.id,
    owner,
    leases: [lease],
    entries: new Map(),
    open: new Set(),
    asked: [],
    held: true,
    due: false,
    outcome: undefined
  })
})

/** Checks that a write under a lease succeeds exactly if the lease holds. */
const writes = <A, E>(task: Known, lease: Lease, write: Effect.Effect<A, E>) =>
  Effect.flatMap(Effect.exit(write), (exit) =>
    Effect.as(
      check(Exit.isSuccess(exit) === Model.holds(task, lease), "A write needs the newest lease", [task, lease]),
      exit
    )
  )

const record = Effect.fnUntraced(function* (model: Model, command: Extract<Command, { _tag: "Ask" | "Step" }>) {
  const journal = yield* Journal
  const task = model.at(command.task)
  const lease = task && leaseOf(task, command.age)
  if (task === undefined || lease === undefined) return
  const { key } = command
  const entry =
    command._tag === "Step"
      ? { _tag: "Step" as const, key, value: command.value }
      : { _tag: "Question" as const, key, question: { method: "roots/list", params: {} } }
  const exit = yield* writes(task, lease, journal.record(lease, entry))
  if (Exit.isFailure(exit)) return
  if (!task.entries.has(key)) {
    task.entries.set(key, entry)
    if (entry._tag === "Question") {
      task.open.add(key)
      task.asked.push(key)
    }
  }
  const { _tag } = exit.value
  const first = task.entries.get(key)
  yield* check(
    typeof first === "object" && first !== null && "_tag" in first && first._tag === _tag,
    "The first record of a key wins",
    [task, exit.value]
  )
})

const answer = Effect.fnUntraced(function* (model: Model, command: Extract<Command, { _tag: "Answer" }>) {
  const store = yield* TaskStore
  const task = model.at(command.task)
  if (task === undefined) return
  const { key, owner, value } = command
  const taken = yield* Effect.orDie(store.answer(task.id, owner, { [key]: { _tag: "Result", result: { value } } }))
  if (owner !== task.owner) {
    yield* check(Option.isNone(taken), "A task of another owner is unknown", task)
    return
  }
  const expected = task.open.delete(key) ? [key] : []
  if (expected.length > 0 && !task.held) task.due = true
  const keys = Option.getOrUndefined(taken)
  yield* check(keys?.join() === expected.join(), "Only open questions are answered, each once", [task, keys])
})

const cancel = Effect.fnUntraced(function* (model: Model, command: Extract<Command, { _tag: "Cancel" }>) {
  const store = yield* TaskStore
  const task = model.at(command.task)
  if (task === undefined) return
  const found = yield* store.cancel(task.id, command.owner)
  if (command.owner !== task.owner) {
    yield* check(Option.isNone(found), "A foreign task is not cancelled", task)
    return
  }
  if (task.outcome === undefined) model.end(task, { _tag: "Cancelled" })
  const outcome = Option.getOrUndefined(found)?.outcome
  yield* check(outcome?._tag === task.outcome?._tag, "A cancel ends a task, and changes no task that has ended", [
    task,
    outcome
  ])
})

const under = Effect.fnUntraced(function* (
  model: Model,
  command: Extract<Command, { _tag: "Message" | "Park" | "Settle" }>
) {
  const journal = yield* Journal
  const task = model.at(command.task)
  const lease = task && leaseOf(task, command.age)
  if (task === undefined || lease === undefined) return
  if (command._tag === "Message") {
    yield* writes(task, lease, journal.message(lease, "busy"))
    return
  }
  if (command._tag === "Park") {
    // "answers": questions that the run considered open, although one may have its answer by now.
    const answers = command.until === "answers" ? task.asked : []
    const wake = command.until === "now" ? undefined : { at: undefined, answers }
    const exit = yield* writes(task, lease, journal.park(lease, wake))
    if (Exit.isFailure(exit)) return
    task.held = false
    task.due = wake === undefined || answers.some((key) => !task.open.has(key))
    return
  }
  const outcome: TaskOutcome = command.fails
    ? { _tag: "Error", code: -32603, message: "failed" }
    : { _tag: "Result", result: { content: [] } }
  const exit = yield* writes(task, lease, journal.settle(lease, outcome))
  if (Exit.isSuccess(exit)) model.end(task, outcome)
})

const claim = Effect.fnUntraced(function* (model: Model, { max, node }: Extract<Command, { _tag: "Claim" }>) {
  const journal = yield* Journal
  const due = model.tasks.filter((task) => task.outcome === undefined && !task.held && task.due)
  const claimed = yield* journal.claim(node, ["tool"], max)
  yield* check(claimed.length === Math.min(max, due.length), "A claim gives the tasks that are due", [due, claimed])
  for (const { entries, lease } of claimed) {
    const task = due.find(({ id }) => id === lease.task)
    yield* check(task !== undefined, "A claim gives no task that is leased or has ended", lease)
    if (task === undefined) return
    yield* leased(task, lease, entries)
  }
})

const leased = Effect.fnUntraced(function* (task: Known, lease: Lease, entries: ReadonlyArray<Entry>) {
  const last = task.leases.at(-1)
  yield* check(last !== undefined && lease.epoch > last.epoch, "The epoch grows with each claim", [task, lease])
  yield* check(entries.length === task.entries.size, "A claim gives all entries", [task, entries])
  task.leases.push(lease)
  task.held = true
  task.due = false
})

const take = Effect.fnUntraced(function* (model: Model, command: Extract<Command, { _tag: "Take" }>) {
  const journal = yield* Journal
  const task = model.at(command.task)
  if (task === undefined) return
  const taken = Option.getOrUndefined(yield* journal.take(command.node, task.id))
  yield* check((taken !== undefined) === (task.outcome === undefined), "A task is taken unless it has ended", task)
  if (taken === undefined) return
  yield* check(taken.lease.task === task.id, "The task that is taken is the one that was named", taken)
  yield* leased(task, taken.lease, taken.entries)
})

const list = Effect.fnUntraced(function* (model: Model, { owner, size }: Extract<Command, { _tag: "List" }>) {
  const store = yield* TaskStore
  const ids: Array<string> = []
  let cursor: string | undefined
  do {
    const page = yield* Effect.orDie(store.list(owner, cursor, size))
    yield* check(page.tasks.length <= size, "A page is no longer than its size", page)
    ids.push(...page.tasks.map(({ id }) => id))
    cursor = page.next
  } while (cursor !== undefined)
  const expected = model.tasks.flatMap((task) => (task.owner === owner ? [task.id] : []))
  yield* check(ids.toSorted().join() === expected.toSorted().join(), "A list has all tasks of its owner, once", ids)
  const journal = yield* Journal
  const parked = (yield* journal.parked(100)).map(({ task }) => task.id)
  const waiting = model.tasks.flatMap(({ held, id, outcome }) => (held || outcome !== undefined ? [] : [id]))
  yield* check(parked.toSorted().join() === waiting.toSorted().join(), "Parked are the tasks that no node runs", parked)
  const { asking, pending, sleeping } = yield* journal.parkedCounts
  yield* check(asking + pending + sleeping === parked.length, "The counts of parked tasks are those of their list", {
    asking,
    pending,
    sleeping
  })
})

const agrees = (task: Known, seen: Task): boolean =>
  seen.outcome?._tag === task.outcome?._tag &&
  [...seen.questions.keys()].toSorted().join() === [...task.open].toSorted().join()

const step = (model: Model, command: Command): Effect.Effect<void, never, TaskStore | Journal> => {
  switch (command._tag) {
    case "Create":
      return create(model, command)
    case "Ask":
    case "Step":
      return record(model, command)
    case "Answer":
      return answer(model, command)
    case "Cancel":
      return cancel(model, command)
    case "Claim":
      return claim(model, command)
    case "List":
      return list(model, command)
    case "Take":
      return take(model, command)
    default:
      return under(model, command)
  }
}

/** Runs a history; dies with the law that is broken. */
export const run = Effect.fnUntraced(function* (
  history: ReadonlyArray<Command>
): Effect.fn.Return<void, never, TaskStore | Journal> {
  const model = new Model()
  const store = yield* TaskStore
  const began = yield* Clock.currentTimeMillis
  for (const command of history) {
    yield* step(model, command)
    for (const task of model.tasks) {
      const seen = Option.getOrUndefined(yield* store.get(task.id, task.owner))
      yield* check(seen !== undefined && agrees(task, seen), "A task is as its history says", [task, seen])
      if (seen === undefined) return
      yield* check(seen.createdAt >= began && seen.updatedAt >= seen.createdAt, "Times do not go back", seen)
      yield* check(Option.isNone(yield* store.get(task.id, "eve")), "A task of another owner is unknown", task)
    }
  }
})

/** The services of one process. */
interface StoreProcess {
  readonly store: TaskStore["Service"]
  readonly journal: Journal["Service"]
}

/** Expired tasks that a journal reports without waiting. */
const expiredNow = Effect.fnUntraced(function* (journal: Journal["Service"]) {
  const ids: Array<string> = []
  for (;;) {
    const next = yield* Effect.forkChild(journal.expired, { startImmediately: true })
    const exit = next.pollUnsafe()
    if (exit === undefined || Exit.isFailure(exit)) return yield* Effect.as(Fiber.interrupt(next), ids)
    ids.push(exit.value.task.id)
    yield* check(exit.value.input.tool === "tool", "A task that expired is given as it was made", exit.value)
  }
})

/**
 * The bound of tasks per caller, in a store that allows one of each (`perOwner`). Callers that share an owner count separately, and each
 * finds the tasks of all. Dies with the law that is broken.
 */
export const callers = Effect.fnUntraced(function* (store: TaskStore["Service"], node: string) {
  const anonymous = { owner: "anonymous", tool: "tool", input: {}, client: {}, ttl: 60_000, pollInterval: 1000 }
  const create = (caller: string) => store.create({ ...anonymous, caller }, node)
  const { task } = yield* Effect.orDie(create("one"))
  const second = yield* Effect.exit(create("one"))
  yield* check(Exit.isFailure(second), "A caller has no more tasks than it may", second)
  const other = yield* Effect.exit(create("two"))
  yield* check(Exit.isSuccess(other), "A caller has its own room beside another of the same owner", other)
  yield* check(Option.isSome(yield* store.get(task.id, "anonymous")), "The owner finds the task by its id", task)
  const { tasks } = yield* Effect.orDie(store.list("anonymous", undefined, 10))
  yield* check(tasks.length === 2, "The tasks of an owner are those of all its callers", tasks)
  yield* store.cancel(task.id, "anonymous")
  const next = yield* Effect.exit(create("one"))
  yield* check(Exit.isSuccess(next), "A task that has ended makes room for its caller", next)
})

/**
 * Tasks that expire. Parked tasks are reported once, by one of the processes. So is a task whose node died, if the store outlives a node. A
 * task whose node learns of it by its lease is not reported. `pass` lets more than a minute pass, in which the leases of the nodes "dead"
 * and "slow" run out. Dies with the law that is broken.
 */
export const expiry = Effect.fnUntraced(function* (
  nodes: readonly [StoreProcess, ...Array<StoreProcess>],
  pass: Effect.Effect<void>
) {
  const [{ journal, store }] = nodes
  const task = { owner: "ada", tool: "tool", input: { a: 1 }, client: {}, ttl: 60_000, pollInterval: 1000 }
  const made = yield* Effect.orDie(Effect.replicateEffect(store.create(task, "a"), 4))
  const [running, ...parked] = made.map(({ lease }) => lease)
  const { lease: dead } = yield* Effect.orDie(store.create(task, "dead"))
  const { lease: slow } = yield* Effect.orDie(store.create(task, "slow"))
  for (const lease of parked) yield* Effect.orDie(journal.park(lease, { at: undefined, answers: [] }))
  yield* check((yield* expiredNow(journal)).length === 0, "No task has expired before its time", made)
  yield* pass
  const { reason } = yield* Effect.orDie(Effect.flip(journal.settle(slow, { _tag: "Cancelled" })))
  yield* check(reason === "expired", "A node learns by its lease that its task has expired", reason)
  // A read ends a task, too.
  yield* Effect.forEach(nodes, ({ store }) => store.get(parked[0]?.task ?? "", "ada"), { concurrency: "unbounded" })
  yield* Effect.forEach(nodes, ({ journal }) => journal.sweep, { concurrency: "unbounded" })
  const given = (yield* Effect.forEach(nodes, ({ journal }) => expiredNow(journal))).flat()
  const expected = (store.outlives ? [dead, ...parked] : parked).map(({ task }) => task).toSorted()
  yield* check(given.toSorted().join() === expected.join(), "A task that expires and that no node runs is given once", [
    given,
    running
  ])
})
