/** Faults of the client with tasks, each with the test that detects it. */
import type { Fault } from "@effect-mcp/spec/Fault"

const src = "packages/client/src"
const test = "packages/client/test/tasks"
const callsTest = "packages/client/test/features/TaskCalls.test.ts"
const following = `${src}/tasks/Following.ts`
const parts = `${src}/tasks/ExtensionTasks.ts`
const handling = `${src}/tasks/TaskHandling.ts`

export const tasks: ReadonlyArray<Fault> = [
  {
    name: "a task is read more often than the server says",
    file: following,
    from: "Math.max(least, this.pollInterval, this.refused)",
    to: "Math.max(least, this.refused)",
    test: callsTest,
    ids: ["tasks.get.poll-interval", "tasks-extension.polling.interval"]
  },
  {
    name: "the state of another task is mistaken for the task of the call",
    file: `${src}/tasks/Generation.ts`,
    from: "seen.state.id === taskId",
    to: "taskId.length > 0",
    test: callsTest
  },
  {
    name: "a task is read once",
    file: following,
    from: "    Effect.forever\n  )",
    to: "    Effect.andThen(Effect.never)\n  )",
    test: callsTest,
    ids: ["tasks.get.until-terminal", "tasks-extension.polling.until-terminal", "tasks.get.beside-result"]
  },
  {
    name: "the task of an interrupted call continues",
    file: following,
    from: "handling.keeps?.() === true",
    to: "handling.keeps?.() !== true",
    test: callsTest,
    ids: ["tasks.cancel.not-by-notification", "tasks-extension.cancel.by-request"]
  },
  {
    name: "the answer to a question of a task is not sent",
    file: `${src}/tasks/ExtensionTask.ts`,
    from: "Effect.as(update(answers), undefined)",
    to: "Effect.void",
    test: `${test}/Questions.test.ts`,
    ids: ["tasks-extension.update.answers"]
  },
  {
    name: "a call ends with the first answer to its task",
    file: following,
    from: "(end === undefined ? Effect.void : Deferred.succeed(this.ended, end))",
    to: "Deferred.succeed(this.ended, end ?? { final: { content: [] } })",
    test: `${test}/Questions.test.ts`,
    ids: ["tasks-extension.update.observes-on"]
  },
  {
    name: "a question is asked as often as a task shows it",
    file: following,
    from: ".filter(({ key }) => !this.met.has(key))",
    to: "",
    test: `${test}/Questions.test.ts`,
    ids: [
      "tasks-extension.update.deduplicates",
      "tasks-extension.update.once",
      "tasks-extension.update.outstanding-keys"
    ]
  },
  {
    name: "a question that a task may not ask is skipped",
    file: following,
    from: "Cause.hasInterruptsOnly(cause) ? Effect.void : Deferred.failCause(this.ended, cause)",
    to: "Effect.void",
    test: `${test}/Questions.test.ts`,
    ids: ["tasks-extension.update.same-trust"]
  },
  {
    name: "a result of the type task is unknown",
    file: parts,
    from: 'resultType: "task",\n      follow: uninterruptible(Tasks.followExtension)',
    to: 'resultType: "tasks",\n      follow: uninterruptible(Tasks.followExtension)',
    test: `${test}/Declared.test.ts`,
    ids: ["tasks-extension.declared.both-shapes"]
  },
  {
    name: "any request may be answered by a task",
    file: `${src}/tasks/Tasks.ts`,
    from: 'exchange.method !== "tools/call"',
    to: "exchange.method === undefined",
    test: `${test}/Declared.test.ts`,
    ids: ["tasks-extension.declared.unsupported-request"]
  },
  {
    name: "the result of a task that asks is not fetched",
    file: `${src}/tasks/CoreTask.ts`,
    from: 'state.status === "input_required" ? [{',
    to: 'state.status === "failed" ? [{',
    test: `${test}/Questions.test.ts`,
    ids: ["tasks.input.requestor-calls-result"]
  },
  {
    name: "a request about a task names it in its metadata, too",
    file: `${src}/tasks/CoreTask.ts`,
    from: "{ taskId },\n        //",
    to: '{ taskId, _meta: { "io.modelcontextprotocol/related-task": { taskId } } },\n        // Questions',
    test: `${test}/Questions.test.ts`,
    ids: ["tasks.related.not-in-requests"]
  },
  {
    name: "a question that belongs to no request is not answered",
    file: `${src}/connection/Connection.ts`,
    from: 'revision.era === "stateless"\n            ? Effect.never',
    to: "relatedTo === undefined\n            ? Effect.never",
    test: `${test}/Questions.test.ts`,
    ids: ["tasks.http.any-stream"]
  },
  {
    name: "a task that may be announced is not read",
    file: following,
    from: "Effect.andThen(this.fork(this.listen), this.fork(this.read))",
    to: "this.fork(this.listen)",
    test: `${test}/Announced.test.ts`,
    ids: ["tasks.status.not-relied-on", "tasks.status.still-polls"]
  },
  {
    name: "a tool that only runs as a task is called without one",
    file: handling,
    from: 'const asks = support === "required" || ',
    to: "const asks = ",
    test: `${test}/Declared.test.ts`,
    ids: ["tasks.tool.required-called"]
  },
  {
    name: "every listed tool is called as a task",
    file: handling,
    from: 'const asks = support === "required" || ',
    to: "const asks = support !== undefined || ",
    test: `${test}/Declared.test.ts`,
    ids: ["tasks.tool.forbidden-not-called"]
  },
  {
    name: "a task is asked for that the server did not declare",
    file: `${src}/tasks/ExtensionTasks.ts`,
    from: "serverCapabilities.tasks?.requests?.tools?.call !== undefined",
    to: "serverCapabilities !== undefined",
    test: `${test}/Declared.test.ts`,
    ids: ["tasks.tool.server-capability", "tasks.capability.requestor-respects", "tasks.capability.undeclared-no-tasks"]
  },
  {
    name: "a client logs nothing of the tasks of its calls",
    file: following,
    from: "yield* Effect.logDebug(`Following the task",
    to: "yield* Effect.void; void (`Following the task",
    test: `${test}/Handles.test.ts`,
    ids: ["tasks.audit.requestor"]
  },
  {
    name: "a call in the background does not know the id of its task",
    file: `${src}/features/TaskCalls.ts`,
    from: "id: task?.id",
    to: "id: undefined",
    test: `${test}/Handles.test.ts`,
    ids: ["tasks.audit.ids-tracked"]
  },
  {
    name: "the progress of a call ends with its answer, though that is a task",
    file: "packages/core/src/peer/Outbound.ts",
    from: "if (outlives(response.result, end))",
    to: "if (!outlives(response.result, end))",
    test: callsTest,
    ids: ["tasks.progress.token-lives-on"]
  },
  {
    name: "a cancelled task is read once more",
    file: following,
    from: "seen === undefined ? Effect.void : Effect.asVoid(Queue.offer(this.news, seen))",
    to: "Effect.asVoid(Effect.succeed(seen))",
    test: `${test}/Handles.test.ts`,
    ids: ["tasks.cancel.not-retained"]
  },
  {
    name: "the cursor of the list of tasks is trimmed",
    file: `${src}/tasks/Tasks.ts`,
    from: "cursor === undefined ? {} : { cursor }",
    to: "cursor === undefined ? {} : { cursor: cursor.trim() }",
    test: `${test}/Handles.test.ts`,
    ids: ["tasks.list.cursor-opaque"]
  }
]
