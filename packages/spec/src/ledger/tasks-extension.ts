/** Requirements of the extension `io.modelcontextprotocol/tasks` (2026-07-28 on). */
import { at, both, client, host, only, requirements, server } from "../Requirement.ts"

const revisions = only("2026-07-28")
const page = "extensions/tasks"

export const tasksExtension = requirements(
  at(`${page}#capability-negotiation`, revisions, {
    "tasks-extension.declared.per-request": server.mustNot(
      "A request that does not declare the extension is never answered by a task, whatever was declared before."
    ),
    "tasks-extension.declared.both-shapes": client.must(
      "A client that declares the extension accepts a result or a task as the answer to a supported request."
    ),
    "tasks-extension.declared.unsupported-request": client.must(
      "A task as the answer to a request that does not support tasks is an invalid answer."
    ),
    "tasks-extension.declared.required": server.must(
      "A call that can only be a task is answered with error -32021 and the extension if it was not declared."
    )
  }),
  at(`${page}#supported-methods`, revisions, {
    "tasks-extension.methods.open": both.should("The code allows for tasks of further request types.", {
      note: "A statement about the design: the registry of tasks names the method of its request"
    })
  }),
  at(`${page}#polymorphic-results`, revisions, {
    "tasks-extension.result-type.task": server.must("A result that is a task has the `resultType` `task`."),
    "tasks-extension.result-type.others": server.mustNot("No other result has the `resultType` `task`.")
  }),
  at(`${page}#task-status`, revisions, {
    "tasks-extension.status.failed": server.mustNot("A task that did not end by a JSON-RPC error is not `failed`.")
  }),
  at(`${page}#task-creation`, revisions, {
    "tasks-extension.creation.durable": server.mustNot(
      "A task is not given to a client before `tasks/get` of its id would find it."
    ),
    "tasks-extension.creation.consistent": server.must(
      "If storage is eventually consistent, the server waits for it before it returns the task."
    ),
    "tasks-extension.creation.after-rounds": server.should(
      "Questions in rounds are all answered before the call becomes a task."
    )
  }),
  at(`${page}#task-polling`, revisions, {
    "tasks-extension.polling.interval": client.should("A client polls at most once per `pollIntervalMs`."),
    "tasks-extension.polling.until-terminal": client.should(
      "A client polls until the status is terminal or until it cancels the task."
    ),
    "tasks-extension.polling.persists-id": host.should("The ids of tasks are stored so that they survive a crash.")
  }),
  at(`${page}#task-polling`, revisions, {
    "tasks-extension.get.status": server.must("`tasks/get` looks the status up and answers by it."),
    "tasks-extension.get.working": server.must("A task that runs is answered with the status `working`."),
    "tasks-extension.get.input-required": server.must(
      "A task that waits is answered with the status `input_required` and its questions."
    ),
    "tasks-extension.get.all-questions": server.must("`inputRequests` has all questions that are open."),
    "tasks-extension.get.completed": server.must("A completed task is answered with its result."),
    "tasks-extension.get.cancelled": server.must("A cancelled task is answered with the status `cancelled`."),
    "tasks-extension.get.failed": server.must("A failed task is answered with its error."),
    "tasks-extension.get.result-type": server.must("The answer to `tasks/get` has the `resultType` `complete`.")
  }),
  at(`${page}#task-update-requests`, revisions, {
    "tasks-extension.update.answers": client.should("A client answers the questions of a task by `tasks/update`."),
    "tasks-extension.update.observes-on": client.should(
      "After an update a client follows the task until its status is terminal."
    ),
    "tasks-extension.update.same-trust": client.must(
      "A question of a task is treated as the same question outside a task."
    ),
    "tasks-extension.update.deduplicates": client.should("A question that several polls show is asked once."),
    "tasks-extension.update.unique-keys": server.must("A key of a question is unique in the life of its task."),
    "tasks-extension.update.key-after-answer": server.mustNot("A key is not used again after its answer has arrived."),
    "tasks-extension.update.key-of-one": server.mustNot("A key never names two different questions of a task."),
    "tasks-extension.update.outstanding-keys": client.must("An update has keys of open questions only."),
    "tasks-extension.update.acknowledged": server.must("A successful `tasks/update` is answered by an empty result."),
    "tasks-extension.update.unknown-task": server.should("`tasks/update` of an unknown task gets an error."),
    "tasks-extension.update.once": client.should("A client remembers the keys that it has answered."),
    "tasks-extension.update.unknown-keys": server.should("Answers to keys that are not open are ignored."),
    "tasks-extension.update.result-type": server.must("The answer to `tasks/update` has the `resultType` `complete`.")
  }),
  at(`${page}#task-cancellation`, revisions, {
    "tasks-extension.cancel.by-request": client.mustNot("A task is not cancelled by `notifications/cancelled`."),
    "tasks-extension.cancel.acknowledged": server.must("A successful `tasks/cancel` is answered by an empty result."),
    "tasks-extension.cancel.unknown-task": server.should("`tasks/cancel` of an unknown task gets an error."),
    "tasks-extension.cancel.result-type": server.must("The answer to `tasks/cancel` has the `resultType` `complete`.")
  }),
  at(`${page}#task-status-notifications`, revisions, {
    "tasks-extension.listen.undeclared": server.must(
      "A subscription to tasks is answered with an error if the client did not declare the extension."
    ),
    "tasks-extension.listen.no-progress": server.mustNot(
      "No progress and no log message is sent on a subscription for a task."
    )
  }),
  at(`${page}#streamable-http-routing-headers`, revisions, {
    "tasks-extension.http.name": client.must("Requests about a task name its id in the header `Mcp-Name`.")
  }),
  at(`${page}#protocol-errors`, revisions, {
    "tasks-extension.errors.standard": server.must("Errors of the protocol are JSON-RPC errors with their own code."),
    "tasks-extension.errors.unknown-get": server.must("`tasks/get` of an unknown id gets error -32602."),
    "tasks-extension.errors.unknown-others": server.should(
      "`tasks/update` and `tasks/cancel` of an unknown id get error -32602."
    ),
    "tasks-extension.errors.listen-undeclared": server.must(
      "A subscription to tasks without the declaration gets error -32021."
    ),
    "tasks-extension.errors.undeclared": server.must(
      "A request about a task without the declaration gets error -32021."
    ),
    "tasks-extension.errors.informative": server.should("The message of an error explains the problem.")
  }),
  at(`${page}#task-execution-errors`, revisions, {
    "tasks-extension.execution.message": server.should("A failed task has a message about its failure."),
    "tasks-extension.execution.error": server.must("A failed task has the JSON-RPC error."),
    "tasks-extension.execution.tool-error": server.must(
      "A result that reports a tool's failure is the result of a `completed` task."
    ),
    "tasks-extension.execution.same-error": server.must("A task has the same error as the original request."),
    "tasks-extension.execution.same-result": server.must("A task has the same result as the original request.")
  }),
  at(`${page}#security-considerations`, revisions, {
    "tasks-extension.security.unguessable": server.must("Ids of tasks cannot be guessed or enumerated."),
    "tasks-extension.security.authorized": server.must("Each request about a task is checked for its caller."),
    "tasks-extension.security.input-trust": host.must(
      "Questions of a task are shown under the same rules as questions outside a task."
    )
  })
)
