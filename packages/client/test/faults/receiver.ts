/** Faults of the client that runs tasks for its server, each with the test that detects it. */
import type { Fault } from "@effect-mcp/spec/Fault"

const src = "packages/client/src"
const receiver = `${src}/tasks/TaskReceiver.ts`
const receiverTest = "packages/client/test/tasks/TaskReceiver.test.ts"

export const taskReceiver: ReadonlyArray<Fault> = [
  {
    name: "a client does not declare that it runs tasks",
    file: `${src}/connection/makeHost.ts`,
    from: "tasks: TaskRequests.capabilities(receiver, services)",
    to: "tasks: TaskRequests.capabilities(undefined, services)",
    test: receiverTest,
    ids: ["tasks.capability.declared"]
  },
  {
    name: "the answer to a question that became a task is the task alone",
    file: receiver,
    from: "return { task: created }",
    to: "return created",
    test: receiverTest,
    ids: ["tasks.create.result"]
  },
  {
    name: "a question that becomes a task is answered when it has ended",
    file: receiver,
    from: "yield* Effect.forkIn(this.run(entry, answer), this.scope, { startImmediately: true })",
    to: "yield* this.run(entry, answer)",
    test: receiverTest,
    ids: ["tasks.create.at-once"]
  },
  {
    name: "ids of a client's tasks can be guessed",
    file: receiver,
    from: "new Uint8Array(32)",
    to: "new Uint8Array(4)",
    test: receiverTest,
    ids: ["tasks.security.id-entropy"]
  },
  {
    name: "all tasks of a client have one id",
    file: receiver,
    from: "id: randomId(),",
    to: 'id: "0".repeat(43),',
    test: receiverTest,
    ids: ["tasks.id.unique"]
  },
  {
    name: "the id of a client's task is not a string",
    file: receiver,
    from: "taskId: id,\n      status,",
    to: "taskId: { id },\n      status,",
    test: receiverTest,
    ids: ["tasks.id.string", "tasks.id.by-receiver"]
  },
  {
    name: "a client's task starts with another status",
    file: receiver,
    from: 'status: "working",',
    to: 'status: "input_required",',
    test: receiverTest,
    ids: ["tasks.status.starts-working"]
  },
  {
    name: "the creation time of a client's task is a number",
    file: receiver,
    from: "createdAt: time(createdAt),",
    to: "createdAt,",
    test: receiverTest,
    ids: ["tasks.fields.created-at"]
  },
  {
    name: "a client's task never updates its time",
    file: receiver,
    from: "lastUpdatedAt: time(updatedAt),",
    to: "lastUpdatedAt: time(createdAt),",
    test: receiverTest,
    ids: ["tasks.fields.last-updated-at"]
  },
  {
    name: "a client's task does not say how long it is kept",
    file: receiver,
    from: "      ttl,\n      pollInterval",
    to: "      pollInterval",
    test: receiverTest,
    ids: ["tasks.fields.ttl"]
  },
  {
    name: "the result of a client's task does not wait for its end",
    file: receiver,
    from: "Effect.tap(Deferred.await(outcome),",
    to: "Effect.tap(Effect.succeed({}),",
    test: receiverTest,
    ids: ["tasks.result.blocks", "tasks.result.terminal", "tasks.result.exact", "tasks.result.same-response"]
  },
  {
    name: "the metadata says which task of a client is meant",
    file: receiver,
    from: 'const id = params?.["taskId"]',
    to: 'const id = (params?._meta as any)?.["io.modelcontextprotocol/related-task"]?.taskId ?? params?.["taskId"]',
    test: receiverTest,
    ids: ["tasks.related.param-is-truth", "tasks.related.ignored-in-requests"]
  },
  {
    name: "a client's task names itself in its metadata, too",
    file: receiver,
    from: "taskId: id,\n      status,",
    to: "taskId: id,\n      _meta: { [Meta.relatedTask]: { taskId: id } },\n      status,",
    test: receiverTest,
    ids: ["tasks.related.not-in-results"]
  },
  {
    name: "a client's task that failed does not say why",
    file: receiver,
    from: "entry.message = outcome.cause",
    to: "const _ = outcome.cause",
    test: receiverTest,
    ids: ["tasks.failed.status-message"]
  },
  {
    name: "a client's task fails with an error that differs from the question's",
    file: receiver,
    from: "Exit.fail(failure ?? McpError.internalError())",
    to: "Exit.fail(McpError.internalError())",
    test: receiverTest,
    ids: ["tasks.failed.same-error"]
  },
  {
    name: "a client's task is cancelled after its end",
    file: receiver,
    from: "if (isTerminal(entry)) return Effect.fail(McpError",
    to: "if (entry.ttl < 0) return Effect.fail(McpError",
    test: receiverTest,
    ids: ["tasks.cancel.terminal-rejected"]
  },
  {
    name: "a question continues although its task is cancelled",
    file: receiver,
    from: "Effect.raceFirst(Effect.exit(answer), ended)",
    to: "Effect.exit(answer)",
    test: receiverTest,
    ids: ["tasks.cancel.stops"]
  },
  {
    name: "the answer to a cancellation of a client's task shows the state before",
    file: receiver,
    from: 'Effect.map(this.settle(entry, "cancelled", cancelled), () => this.write(entry))',
    to: 'Effect.flatMap(Effect.succeed(this.write(entry)), (before) => Effect.as(this.settle(entry, "cancelled", cancelled), before))',
    test: receiverTest,
    ids: ["tasks.cancel.status-first"]
  },
  {
    name: "a client's task that has ended ends again",
    file: receiver,
    from: "      if (isTerminal(entry)) return\n",
    to: "",
    test: receiverTest,
    ids: ["tasks.cancel.stays", "tasks.status.terminal"]
  },
  {
    name: "a client lists all of its tasks at once",
    file: receiver,
    from: "const pageSize = 50",
    to: "const pageSize = 5000",
    test: receiverTest,
    ids: ["tasks.list.paginated"]
  },
  {
    name: "a page of a client's tasks has no cursor",
    file: receiver,
    from: "{ nextCursor: last.id }",
    to: "{}",
    test: receiverTest,
    ids: ["tasks.list.next-cursor"]
  },
  {
    name: "each page of a client's tasks omits one",
    file: receiver,
    from: "all.slice(before + 1,",
    to: "all.slice(before + 2,",
    test: receiverTest,
    ids: ["tasks.list.complete"]
  },
  {
    name: "an unknown id of a client's task is an internal error",
    file: receiver,
    from: 'const unknown = McpError.invalidParams("Unknown task")',
    to: 'const unknown = McpError.internalError("Unknown task")',
    test: receiverTest,
    ids: ["tasks.error.unknown-id"]
  },
  {
    name: "an unknown cursor of a client's list is the first",
    file: receiver,
    from: "if (cursor !== undefined && before === -1) return",
    to: "if (cursor === null) return",
    test: receiverTest,
    ids: ["tasks.error.invalid-cursor"]
  },
  {
    name: "a client keeps a task as long as its server likes",
    file: receiver,
    from: "Math.min(millis(maxTtl), ",
    to: "Math.min(Infinity, ",
    test: receiverTest,
    ids: ["tasks.limits.ttl"]
  },
  {
    name: "a client runs as many tasks as its server likes",
    file: receiver,
    from: "open >= maxOpen",
    to: "open < 0",
    test: receiverTest,
    ids: ["tasks.limits.concurrent"]
  },
  {
    name: "a client keeps tasks for ever",
    file: receiver,
    from: "this.entries.delete(entry.id)",
    to: "this.entries.get(entry.id)",
    test: receiverTest,
    ids: ["tasks.limits.expired-removed"]
  }
]
