/** Faults in the answers of a server with tasks. */
import type { Fault } from "@effect-mcp/spec/Fault"

const creation = "packages/tasks/test/server/Creation.test.ts"
const handleTools = "packages/tasks/test/server/HandleTools.test.ts"
const methods = "packages/tasks/test/server/Methods.test.ts"
const ofTask = "packages/tasks/src/server/TaskRoutes.ts"
const sessions = "packages/tasks/test/server/Routes.test.ts"

export const serverFaults: ReadonlyArray<Fault> = [
  {
    name: "A question of a task is asked by an open request of any session",
    file: ofTask,
    from: "findLast((route) => route.isRead && can(route))",
    to: "findLast((route) => route.isRead)",
    test: sessions,
    ids: ["lifecycle.operation.capabilities-respected"]
  },
  ...(["Task created", "Task ended", "Task read"] as const).map((line) => ({
    name: `The audit log of tasks lacks: ${line}`,
    file: "packages/tasks/src/run/Audit.ts",
    from: `"${line}"`,
    to: '"Nothing"',
    test: "packages/tasks/test/server/AuditLog.test.ts",
    ids: ["tasks.audit.receiver" as const]
  })),
  {
    name: "The audit log of tasks does not name the caller",
    file: "packages/tasks/src/run/Audit.ts",
    from: '"mcp.task.owner": nameOf(owner)',
    to: '"mcp.task.owner": "caller"',
    test: "packages/tasks/test/server/AuditLog.test.ts",
    ids: ["tasks.audit.context"]
  },
  {
    name: "Requests about tasks are not limited in 2025-11-25",
    file: "packages/tasks/src/server/CoreMethods.ts",
    from: "    rateLimit: service.rateLimit,\n",
    to: "",
    test: "packages/tasks/test/server/Rate.test.ts",
    ids: ["tasks.security.rate-limited"]
  },
  {
    name: "Requests about tasks are not limited in 2026-07-28",
    file: "packages/tasks/src/server/Methods.ts",
    from: "    rateLimit: service.rateLimit,\n",
    to: "",
    test: "packages/tasks/test/server/Rate.test.ts"
  },
  {
    name: "A client gets a task before the store has it for good",
    file: "packages/tasks/src/server/Creation.ts",
    from: "store.create(row, supervisor.node), refusalOf",
    to: "Effect.raceFirst(store.create(row, supervisor.node), Effect.succeed({ lease: { task: 'x', epoch: 1 }, task: { ...row, id: 'x', createdAt: 0, updatedAt: 0, message: undefined, questions: new Map(), outcome: undefined } })), refusalOf",
    test: creation,
    ids: ["tasks-extension.creation.consistent"]
  },
  {
    name: "A task as an answer has another type of result",
    file: "packages/tasks/src/extension/TasksExtension.ts",
    from: 'export const resultType = "task"',
    to: 'export const resultType = "tasks"',
    test: creation,
    ids: ["tasks-extension.result-type.task"]
  },
  {
    name: "The answer to tasks/get has the type of a task",
    file: "packages/tasks/src/server/Methods.ts",
    from: 'EncodedResult.core("complete", yield*',
    to: 'EncodedResult.core("task" as "complete", yield*',
    test: creation,
    ids: ["tasks-extension.result-type.others", "tasks-extension.get.result-type"]
  },
  {
    name: "An acknowledgement has the type of a task",
    file: "packages/core/src/features/Extensions.ts",
    from: 'EncodedResult.core("complete", wire)',
    to: 'EncodedResult.core("task" as "complete", wire)',
    test: methods,
    ids: ["tasks-extension.update.result-type", "tasks-extension.cancel.result-type"]
  },
  {
    name: "A client gets the id of a task that is not stored",
    file: "packages/tasks/src/server/Creation.ts",
    from: "Wire2026.created(task)",
    to: "Wire2026.created({ ...task, id: crypto.randomUUID() })",
    test: creation,
    ids: ["tasks-extension.creation.durable"]
  },
  {
    name: "A completed task has another result than the call",
    file: "packages/tasks/src/server/Service.ts",
    from: "Wire2026.write(task, result))",
    to: "Wire2026.write(task, {}))",
    test: creation,
    ids: ["tasks-extension.get.completed", "tasks-extension.execution.same-result"]
  },
  {
    name: "The id of a task has 64 random bits",
    file: "packages/tasks/src/store/Row.ts",
    from: "new Uint8Array(32)",
    to: "new Uint8Array(8)",
    test: creation,
    ids: ["tasks-extension.security.unguessable"]
  },
  {
    name: "A call becomes a task wherever the revision has tasks",
    file: "packages/tasks/src/server/Decision.ts",
    from: "Extension.settingsIn(TasksExtension, revision, clientCapabilities) === undefined",
    to: "!Extension.isIn(TasksExtension, revision) && clientCapabilities !== undefined",
    test: creation,
    ids: ["tasks-extension.declared.per-request"]
  },
  {
    name: "The error for a tool that only runs as a task names the capability of 2025-11-25",
    file: "packages/tasks/src/server/Decision.ts",
    from: "Extension.declarationOf(TasksExtension, revision, {})",
    to: "{ tasks: {} }",
    test: creation,
    ids: ["tasks-extension.declared.required"]
  },
  {
    name: "A task repeats a question that its request was already answered",
    file: "packages/tasks/src/server/CallMiddleware.ts",
    from: ": created(service, { ...call, before }",
    to: ": created(service, call",
    test: creation,
    ids: ["tasks-extension.creation.after-rounds"]
  },
  {
    name: "A tool that is hidden from the caller becomes a task",
    file: "packages/server/src/features/ToolRegistry.ts",
    from: "return entry !== undefined && sees(entry, principal) ? entry : undefined",
    to: "return entry",
    test: creation
  },
  {
    name: "A running task is completed",
    file: "packages/tasks/src/model/Wire2026.ts",
    from: ': { ...base(task), status: "working" }',
    to: ': { ...base(task), status: "completed", result: {} }',
    test: methods,
    ids: ["tasks-extension.get.working", "tasks-extension.get.status"]
  },
  {
    name: "A failed task is cancelled",
    file: "packages/tasks/src/model/Wire2026.ts",
    from: '    status: "failed",\n',
    to: '    status: "cancelled",\n',
    test: methods,
    ids: ["tasks-extension.get.failed"]
  },
  {
    name: "The error of a task differs from the call's error",
    file: "packages/tasks/src/model/Wire2026.ts",
    from: "error: { code, message,",
    to: "error: { code: -32603, message,",
    test: methods,
    ids: ["tasks-extension.execution.error", "tasks-extension.execution.same-error"]
  },
  {
    name: "A failed task has no message",
    file: "packages/tasks/src/model/Wire2026.ts",
    from: "statusMessage: task.message ?? message,",
    to: 'statusMessage: task.message ?? "",',
    test: methods,
    ids: ["tasks-extension.execution.message"]
  },
  {
    name: "A tool's failure makes a task failed",
    file: "packages/tasks/src/model/Wire2026.ts",
    from: 'if (outcome._tag === "Result") return',
    to: 'if (outcome._tag === "Result" && outcome.result["isError"] !== true) return',
    test: methods,
    ids: ["tasks-extension.status.failed", "tasks-extension.execution.tool-error"]
  },
  {
    name: "A task that waits is shown as running",
    file: "packages/tasks/src/model/Wire2026.ts",
    from: 'stateOf(task) === "input_required"',
    to: 'stateOf(task) === "done"',
    test: methods,
    ids: ["tasks-extension.get.input-required"]
  },
  {
    name: "A task shows only the first of its questions",
    file: "packages/tasks/src/model/Wire2026.ts",
    from: "Array.from(questions, ([",
    to: "Array.from([...questions].slice(0, 1), ([",
    test: methods,
    ids: ["tasks-extension.get.all-questions"]
  },
  {
    name: "An update that was accepted gets an error",
    file: "packages/tasks/src/server/Methods.ts",
    from: "Effect.as(answered, {})",
    to: "Effect.andThen(answered, Effect.fail(unknownTask))",
    test: methods,
    ids: ["tasks-extension.update.acknowledged"]
  },
  {
    name: "An update with an unknown key is rejected",
    file: "packages/tasks/src/server/Methods.ts",
    from: "Effect.as(answered, {})",
    to: "Effect.flatMap(answered, (keys) => (keys.length < answers.length ? Effect.fail(unknownTask) : Effect.succeed({})))",
    test: methods,
    ids: ["tasks-extension.update.unknown-keys"]
  },
  {
    name: "A question that is asked again has the key of the first",
    file: "packages/tasks/src/run/TaskInput.ts",
    from: "return count === 1 ? name : `${name}#${count}`",
    to: "return name",
    test: methods,
    ids: [
      "tasks-extension.update.unique-keys",
      "tasks-extension.update.key-after-answer",
      "tasks-extension.update.key-of-one"
    ]
  },
  {
    name: "A cancellation leaves the task unchanged",
    file: "packages/tasks/src/server/Methods.ts",
    from: "service.store.cancel(taskId, owner)",
    to: "service.store.get(taskId, owner)",
    test: methods,
    ids: ["tasks-extension.get.cancelled"]
  },
  {
    name: "A cancellation of a task that has ended is an error",
    file: "packages/tasks/src/server/Methods.ts",
    from: "service.store.cancel(taskId, owner)",
    to: "Effect.map(service.store.cancel(taskId, owner), Option.filter(({ outcome }) => outcome === undefined))",
    test: methods,
    ids: ["tasks-extension.cancel.acknowledged"]
  },
  {
    name: "Requests about tasks are served to clients that did not declare the extension",
    file: "packages/tasks/src/extension/TasksExtension.ts",
    from: '  revisions: ["2026-07-28"],\n',
    to: '  revisions: ["2026-07-28"],\n  undeclared: "served",\n',
    test: methods,
    ids: [
      "tasks-extension.errors.undeclared",
      "tasks-extension.listen.undeclared",
      "tasks-extension.errors.listen-undeclared"
    ]
  },
  {
    name: "An unknown task is an internal error",
    file: "packages/tasks/src/server/Service.ts",
    from: 'McpError.invalidParams("Unknown task")',
    to: 'McpError.internalError("Unknown task")',
    test: methods,
    ids: [
      "tasks-extension.errors.unknown-get",
      "tasks-extension.errors.unknown-others",
      "tasks-extension.errors.standard"
    ]
  },
  {
    name: "Updates and cancels of unknown tasks are acknowledged",
    file: "packages/tasks/src/server/Service.ts",
    from: ": Effect.fail(unknownTask)",
    to: ": Effect.succeed({} as never)",
    test: methods,
    ids: ["tasks-extension.update.unknown-task", "tasks-extension.cancel.unknown-task"]
  },
  {
    name: "All principals own the same tasks",
    file: "packages/tasks/src/server/Owner.ts",
    from: "return `principal ${caller}`",
    to: 'return "principal"',
    test: methods,
    ids: ["tasks-extension.security.authorized"]
  },
  {
    name: "A task sends a log message",
    file: "packages/tasks/src/server/Creation.ts",
    from: "const session = sessionOf(request)\n",
    to: 'const session = sessionOf(request)\n      request.outbound.connection?.notify("notifications/message", { level: "error", data: "lost" })\n',
    test: methods,
    ids: ["tasks-extension.listen.no-progress"]
  },
  {
    name: "The error for an undeclared extension does not name it",
    file: "packages/server/src/dispatch/ExtensionMethods.ts",
    from: "is only available to clients that support the extension ${extension.id}",
    to: "requires a client that declares an extension",
    test: methods,
    ids: ["tasks-extension.errors.informative"]
  },
  {
    name: "A subscription is granted for tasks of others",
    file: "packages/tasks/src/server/Methods.ts",
    from: ".slice(0, maxFollowed), isOwn)",
    to: ".slice(0, maxFollowed), () => Effect.succeed(true))",
    test: methods
  },
  {
    name: "A client with tasks may call the tools for clients without tasks",
    file: "packages/tasks/src/server/HandleTools.ts",
    from: "Decision.followsTasks(request) || ",
    to: "",
    test: handleTools
  },
  {
    name: "A client with tasks sees the tools for clients without tasks",
    file: "packages/tasks/src/server/ListedTools.ts",
    from: "isTask.size > 0 && !followsTasks(request)",
    to: "isTask.size > 0",
    test: handleTools
  },
  {
    name: "A model answers for a user whom the client could ask",
    file: "packages/tasks/src/server/HandledCall.ts",
    from: "  clientCapabilities.elicitation === undefined",
    to: "  true",
    test: handleTools
  },
  {
    name: "A model answers for its user although the server did not allow that",
    file: "packages/tasks/src/server/HandledCall.ts",
    from: "  askModel &&\n",
    to: "",
    test: "packages/tasks/test/server/HandledCall.test.ts"
  },
  {
    name: "A call returns a handle to a client that follows tasks",
    file: "packages/tasks/src/server/Decision.ts",
    from: 'support === "forbidden" || followsTasks(request) ? undefined',
    to: 'support === "forbidden" ? undefined',
    test: "packages/tasks/test/server/HandledCall.test.ts"
  },
  {
    name: "A form is answered with content that does not match its schema",
    file: "packages/tasks/src/server/FormAnswer.ts",
    from: "compiled.success(content)",
    to: "[]",
    test: handleTools
  }
]
