/** Small faults of this package, each with the test that fails with it: `npm run requirements -- --prove`. */
import type { Fault } from "@effect-mcp/spec/Fault"
import { coreFaults } from "./faults/core.ts"
import { serverFaults } from "./faults/server.ts"

const file = "packages/tasks/src/store/memory.ts"
const test = "packages/tasks/test/store/memory.test.ts"
const resuming = "packages/tasks/test/run/Resuming.test.ts"

const askedTask = "packages/core/src/request/AskedTask.ts"
const askedTest = "packages/tasks/test/client/AskedTask.test.ts"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "A memory gives the tasks that expire while they run, and not those that are parked",
    file,
    from: "if (row.node === undefined) this.expired",
    to: "if (row.node !== undefined) this.expired",
    test
  },
  {
    name: "The audit log has no end of a task that expires while it is parked",
    file: "packages/tasks/src/run/Audit.ts",
    from: 'endedAs(task.id, input.owner, "expired")',
    to: "Effect.void",
    test: "packages/tasks/test/server/AuditLog.test.ts"
  },
  {
    name: "The expired tasks of a store are never asked for",
    file: "packages/tasks/src/run/TaskSupervisor.ts",
    from: "Effect.forever(told)",
    to: "Effect.never",
    test: "packages/tasks/test/server/AuditLog.test.ts"
  },
  {
    name: "Parked tasks expire untold after an observer threw",
    file: "packages/tasks/src/run/TaskSupervisor.ts",
    from: "Effect.forever(told)",
    to: "Effect.forever(journal.expired)",
    test: "packages/tasks/test/server/AuditLog.test.ts"
  },
  {
    name: "A logger that throws ends the sweeps of tasks",
    file: "packages/tasks/src/run/TaskSupervisor.ts",
    from: "Effect.ignoreCause(Effect.logWarning(message, cause))",
    to: "Effect.logWarning(message, cause)",
    test: "packages/tasks/test/server/AuditLog.test.ts"
  },
  {
    name: "the end of a server waits for tasks of a tool whose layer was made after that of tasks",
    file: "packages/server/src/features/Features.ts",
    from: "  // Before the layers of the features.\n  yield* workEnds\n",
    to: "",
    test: "packages/tasks/test/server/Closing.test.ts"
  },
  {
    name: "The time of a lease counts from the answer of its renewal",
    file: "packages/tasks/src/run/TaskSupervisor.ts",
    from: "Effect.forever(Effect.all([Effect.sleep(third), ifAny], { concurrency: 2, discard: true }))",
    to: "Effect.forever(Effect.andThen(Effect.sleep(third), ifAny))",
    test: "packages/tasks/test/run/Resuming.test.ts"
  },
  {
    name: "A shutdown waits for steps as long as ever",
    file: "packages/tasks/src/run/TaskSupervisor.ts",
    from: "raceFirst(Fiber.await(fiber), waits.quiet)), drainTime)",
    to: "raceFirst(Fiber.await(fiber), waits.quiet)), Math.max(drainTime, 10_000))",
    test: "packages/durable/test/continued.test.ts"
  },
  {
    name: "a server reads a task of its client more often than the client says",
    file: askedTask,
    from: "Math.max(shortest, wanted)",
    to: "shortest",
    test: askedTest,
    ids: ["tasks.get.poll-interval"]
  },
  {
    name: "a server reads a task of its client once",
    file: askedTask,
    from: "Effect.andThen(Effect.sleep(task.pollInterval), get), ended)",
    to: "Effect.andThen(Effect.sleep(task.pollInterval), get), () => Effect.never)",
    test: askedTest,
    ids: ["tasks.get.until-terminal"]
  },
  {
    name: "a request of a server about its client's task names it in its metadata, too",
    file: askedTask,
    from: 'peer.request("tasks/get", { taskId },',
    to: 'peer.request("tasks/get", { taskId, _meta: { "io.modelcontextprotocol/related-task": { taskId } } },',
    test: askedTest,
    ids: ["tasks.related.not-in-requests"]
  },
  {
    name: "a task of the client is not cancelled with its question",
    file: askedTask,
    from: "isOver || capabilities.tasks?.cancel === undefined",
    to: "isOver || capabilities.tasks?.cancel !== undefined",
    test: askedTest,
    ids: ["tasks.cancel.not-by-notification"]
  },
  {
    name: "a question that is interrupted before its task is known is cancelled by a notification",
    file: askedTask,
    from: "Effect.forkDetach(Effect.uninterruptibleMask(asking)",
    to: "Effect.forkDetach(asking((effect) => effect).pipe(Effect.interruptible)",
    test: askedTest,
    ids: ["tasks.cancel.not-by-notification"]
  },
  {
    name: "tasks that have ended are kept in memory, however many there are",
    file: "packages/tasks/src/store/Kept.ts",
    from: "const share = 1 / 2",
    to: "const share = 100",
    test
  },
  {
    name: "an ended task that is collected late keeps those that ended after it",
    file: "packages/tasks/src/store/InOrder.ts",
    from: "    value.after = undefined\n",
    to: "",
    test: "packages/tasks/test/store/InOrder.test.ts"
  },
  {
    name: "a list of ended tasks loses those after one that is forgotten",
    file: "packages/tasks/src/store/InOrder.ts",
    from: "else before.after = after",
    to: "else before.after = undefined",
    test: "packages/tasks/test/store/InOrder.test.ts"
  },
  {
    name: "a caller that keeps many tasks loses some whose end it has not read",
    file: "packages/tasks/src/store/Kept.ts",
    from: 'own?.read.first ?? "full"',
    to: 'own?.read.first ?? own?.unread.first ?? "full"',
    test
  },
  {
    name: "a task whose end its caller has read is kept like any",
    file: "packages/tasks/src/store/memory.ts",
    from: "if (row instanceof EndedRow) this.kept.read(row)",
    to: "",
    test
  },
  {
    name: "a full memory forgets tasks of a caller that keeps few",
    file: "packages/tasks/src/store/Kept.ts",
    from: "this.load(holding) > this.load(largest)",
    to: "this.load(holding) < this.load(largest)",
    test
  },
  {
    name: "the length of outcomes does not fill the memory",
    file: "packages/tasks/src/store/Kept.ts",
    from: "bytes / this.max.bytes",
    to: "0",
    test
  },
  {
    name: "tasks that run at once end with more bytes than are kept",
    file: "packages/tasks/src/store/Kept.ts",
    from: "while (this.all.bytes > this.max.bytes)",
    to: "while (this.all.bytes < 0)",
    test
  },
  {
    name: "a task keeps the message of an error of any length",
    file: "packages/tasks/src/server/Attempts.ts",
    from: "bytesOf(message) <= most ?",
    to: "bytesOf(message) > 0 ?",
    test: "packages/tasks/test/server/Methods.test.ts"
  },
  {
    name: "a call is refused whose task was forgotten after its end",
    file: "packages/tasks/src/server/Shortcut.ts",
    from: "Option.orElse(read, () => last)",
    to: "Option.filter(read, () => Option.isOption(last))",
    test: "packages/tasks/test/server/Shortcut.test.ts"
  },
  {
    name: "a task keeps a result of any length",
    file: "packages/tasks/src/server/Attempts.ts",
    from: "if (fits(result, most)) return",
    to: "if (fits(result, Infinity)) return",
    test: "packages/tasks/test/server/Methods.test.ts"
  },
  {
    name: "the end of a task that a subscription told is not read",
    file: "packages/tasks/src/server/Methods.ts",
    from: "outcome === undefined ? Effect.void : store.get(id, caller)",
    to: "outcome === undefined ? store.get(id, caller) : Effect.void",
    test: "packages/tasks/test/server/Methods.test.ts"
  },
  {
    name: "the end of a waiting tasks/result is not read",
    file: "packages/tasks/src/server/CoreMethods.ts",
    from: "found(Effect.map(store.get(id, owner), Option.filter(isEnded)))",
    to: "found(Stream.runHead(Stream.filter(store.changes(id, owner), isEnded)))",
    test: "packages/tasks/test/server/CoreMethods.test.ts"
  },
  {
    name: "a question stays with a session that no client reads",
    file: "packages/tasks/src/server/TaskRoutes.ts",
    from: "(!outlet.isRead() || isUseful(session, task))",
    to: "(session.isRead || outlet.isRead())",
    test: "packages/tasks/test/server/Routes.test.ts"
  },
  {
    name: "a task that joins a session after its end stays with it",
    file: "packages/tasks/src/server/Routes.ts",
    from: "this.bySession.delete(connection)",
    to: "tasks.delete(connection as never)",
    test: "packages/tasks/test/server/RoutesLeaks.test.ts"
  },
  {
    name: "a task loses the issuer of its principal where other claims are kept",
    file: "packages/tasks/src/run/ClientFacts.ts",
    from: 'name === "iss" || claims',
    to: "claims",
    test: "packages/tasks/test/run/ClientFacts.test.ts"
  },
  {
    name: "a question is asked as a task of a client that does not run such tasks",
    file: "packages/core/src/request/RemoteInput.ts",
    from: "!revision.rules.tasks || !MethodInfo.runsAsTask(method, capabilities.tasks)",
    to: "!revision.rules.tasks",
    test: askedTest,
    ids: ["tasks.capability.requestor-respects", "tasks.capability.undeclared-no-tasks"]
  },
  {
    name: "a question is asked as a task in a revision without tasks",
    file: "packages/core/src/request/RemoteInput.ts",
    from: "!revision.rules.tasks || !MethodInfo.runsAsTask(method, capabilities.tasks)",
    to: "!MethodInfo.runsAsTask(method, capabilities.tasks)",
    test: askedTest
  },
  {
    name: "a client does not name the task in a header",
    file: "packages/client/src/tasks/Wire.ts",
    from: 'const nameParam = "taskId"',
    to: 'const nameParam = "none"',
    test: "packages/tasks/test/client/Calls.test.ts",
    ids: ["tasks-extension.http.name"]
  },
  ...coreFaults,
  ...serverFaults,
  {
    name: "A task is shown to another caller",
    file,
    from: "row.input.owner === owner ? row : undefined",
    to: "row",
    test
  },
  {
    name: "A write under an older epoch is taken",
    file,
    from: "return row.epoch === epoch && row.node !== undefined ? row : undefined",
    to: "return row.node !== undefined && epoch > 0 ? row : undefined",
    test
  },
  {
    name: "A second record of a key replaces the first",
    file,
    from: "if (known !== undefined) return Effect.succeed(known)",
    to: "if (known !== undefined && known._tag === entry._tag) return Effect.succeed(known)",
    test
  },
  {
    name: "A question is answered twice",
    file,
    from: "        questions.delete(key)\n",
    to: "",
    test
  },
  {
    name: "A slow reader of changes waits for a change that came before",
    file: "packages/tasks/src/store/Row.ts",
    from: "isOld ? Effect.void : changeOf(last.row)",
    to: "changeOf(last.row)",
    test
  },
  {
    name: "An outcome that is not among the last is that of another task",
    file: "packages/tasks/src/store/EndedRow.ts",
    from: "known?.number === number ?",
    to: "known !== undefined ?",
    test: "packages/tasks/test/store/EndedRow.test.ts"
  },
  {
    name: "An outcome that was read last keeps the tasks of its store",
    file: "packages/tasks/src/store/EndedRow.ts",
    from: "= { number, outcome }",
    to: "= Object.assign({ number, outcome }, { row: this })",
    test: "packages/tasks/test/store/EndedRow.test.ts"
  },
  {
    name: "An outcome is that of the handler, which may change it",
    file: "packages/tasks/src/store/EndedRow.ts",
    from: "const copy = copyOf(outcome)",
    to: "const copy: TaskOutcome | undefined = outcome",
    test: "packages/tasks/test/store/EndedRow.test.ts"
  },
  {
    name: "An outcome whose text has to be read is that of the handler",
    file: "packages/tasks/src/store/EndedRow.ts",
    from: "(copy ?? parse(text))",
    to: "outcome",
    test: "packages/tasks/test/store/EndedRow.test.ts"
  },
  {
    name: "An object with a form of its own that is no field is copied as it is",
    file: "packages/tasks/src/store/JsonCopy.ts",
    from: '  if ("toJSON" in value) return false\n',
    to: "",
    test: "packages/tasks/test/store/JsonCopy.test.ts"
  },
  {
    name: "A value with a form of its own is copied as it is",
    file: "packages/tasks/src/store/JsonCopy.ts",
    from: '  if ("toJSON" in value) return none\n',
    to: "",
    test: "packages/tasks/test/store/JsonCopy.test.ts"
  },
  {
    name: "A task that has ended expires in the loop that its end came between",
    file,
    from: " || this.rows.get(id) !== row",
    to: "",
    test
  },
  {
    name: "A task whose end its store says at once is read by that",
    file,
    from: "return row instanceof EndedRow ? row.task : undefined",
    to: "if (row instanceof EndedRow) this.kept.read(row)\n    return row instanceof EndedRow ? row.task : undefined",
    test
  },
  {
    name: "A handler that is called at once ends its task with a result that is too long",
    file: "packages/tasks/src/server/Attempts.ts",
    from: "(result) => stored(result, resultBytes)\n    )\n  // A value",
    to: "(result) => stored(result, Infinity)\n    )\n  // A value",
    test: "packages/tasks/test/server/AtOnce.test.ts"
  },
  {
    name: "A handler is called at once inside of middleware around its execution",
    file: "packages/server/src/features/MiddlewareRegistry.ts",
    from: "(request) => handle(request, false)",
    to: "(request) => handle(request, true)",
    test: "packages/tasks/test/server/AtOnce.test.ts"
  },
  {
    name: "The client of a task that ended before its answer is not told its end",
    file: "packages/tasks/src/server/TaskRoutes.ts",
    from: "const told = this.tell(last)",
    to: "const told: Effect.Effect<void> = last.outcome === undefined ? this.tell(last) : Effect.void",
    test: "packages/tasks/test/server/AtOnce.test.ts"
  },
  {
    name: "A cancel replaces the outcome of a task that has ended",
    file,
    from: "return Effect.succeedSome(ended.task)",
    to: 'return Effect.succeedSome<Task>({ ...ended.task, outcome: { _tag: "Cancelled" } })',
    test
  },
  {
    name: "A claim takes a task that is leased",
    file,
    from: "(row.node === undefined ? row.wakeAt <= now : row.leaseUntil <= now)",
    to: "(row.node === undefined ? row.wakeAt <= now : row.leaseUntil <= now + 5000)",
    test
  },
  {
    name: "A parked task is not due once it is answered",
    file,
    from: "if (row.node === undefined) this.wakeUp(row, this.now)",
    to: "if (row.node === undefined) this.wakeUp(row, Infinity)",
    test
  },
  {
    name: "A task that is parked while its answer comes in is not due",
    file,
    from: "answers.some((key) => !row.task.questions.has(key)) ? this.now : at",
    to: "answers.length > this.rows.size ? this.now : at",
    test
  },
  {
    name: "A task that has ended counts as open",
    file,
    from: "    this.open.add(ended.caller, -1)\n",
    to: "",
    test
  },
  {
    name: "A claim wakes waiters before it has leased all of its tasks",
    file,
    from: "rows.map((row) => leasedTo(row, node, this.now + this.leaseTime))",
    to: "rows.map((row) => {\n      const one = leasedTo(row, node, this.now + this.leaseTime)\n      this.wake(row)\n      return one\n    })",
    test
  },
  {
    name: "A logger that throws at the death of a handler leaves the task open",
    file: "packages/tasks/src/run/TaskSupervisor.ts",
    from: "Defects.log(`The handler",
    to: "Effect.logError(`The handler",
    test: "packages/tasks/test/run/TaskSupervisor.test.ts"
  },
  {
    name: "An observer of runs that throws fails the task",
    file: "packages/tasks/src/run/observed.ts",
    from: "Effect.catchDefect(told, Defects.logged)",
    to: "told",
    test: "packages/tasks/test/run/TaskSupervisor.test.ts"
  },
  {
    name: "An observer that throws at the creation of a task leaves one that no client knows",
    file: "packages/tasks/src/run/observedStore.ts",
    from: "failed(defect)",
    to: "throw defect",
    test: "packages/tasks/test/server/AuditLog.test.ts"
  },
  {
    name: "A logger that throws at the creation of a task leaves one that no client knows",
    file: "packages/tasks/src/run/Audit.ts",
    from: "failed(defect)",
    to: "throw defect",
    test: "packages/tasks/test/server/AuditLog.test.ts"
  },
  {
    name: "A logger that throws at a record which its handler does not come to fails the task",
    file: "packages/tasks/src/server/Attempts.ts",
    from: "Effect.ignoreCause(",
    to: "Effect.asVoid(",
    test: "packages/tasks/test/server/Attempts.test.ts"
  },
  {
    name: "A list leaves out the last task of a page",
    file,
    from: "const page = rows.slice(0, size)",
    to: "const page = rows.slice(0, size - (rows.length > size ? 1 : 0))",
    test
  },
  {
    name: "A task is parked whose sleep ends soon",
    file: "packages/tasks/src/run/Waits.ts",
    from: "at - now < look * looks",
    to: "at - now < 0",
    test: resuming
  },
  {
    name: "A task is parked beside a fiber that works",
    file: "packages/tasks/src/run/Waits.ts",
    from: "this.isActive || this.steps > 0",
    to: "this.steps > 0",
    test: resuming
  },
  {
    name: "A step begins while the node shuts down",
    file: "packages/tasks/src/run/Waits.ts",
    from: "if (this.isDraining) return Effect.never",
    to: "if (this.steps < 0) return Effect.never",
    test: resuming
  },
  {
    name: "A node that cannot renew goes on with its tasks",
    file: "packages/tasks/src/run/TaskSupervisor.ts",
    from: "onNone: () => [...runs.values()],",
    to: "onNone: () => [],",
    test: resuming
  },
  {
    name: "A task that kills its node is tried for ever",
    file: "packages/tasks/src/run/TaskSupervisor.ts",
    from: "claimed.attempts > maxAttempts",
    to: "claimed.attempts > maxAttempts * 10",
    test: resuming
  },
  {
    name: "All claims of a principal are stored",
    file: "packages/tasks/src/run/ClientFacts.ts",
    from: 'if (name === "iss" || claims.includes(name)) own',
    to: "if (name !== claims[-1]) own",
    test: resuming
  }
]
