/** Requirements on tasks of revision 2025-11-25 (`receiver` runs a task, `requestor` asked for it; both may be either side). */
import { at, both, client, only, requirements, server } from "../Requirement.ts"

const revisions = only("2025-11-25")
const page = "basic/utilities/tasks"

export const tasks = requirements(
  at(`${page}#capabilities`, revisions, {
    "tasks.capability.declared": both.must(
      "Who accepts tasks declares `tasks`, and the request types that may be tasks."
    )
  }),
  at(`${page}#capability-negotiation`, revisions, {
    "tasks.capability.requestor-respects": both.should(
      "A requestor makes a task only of a request type that was declared."
    ),
    "tasks.capability.undeclared-no-tasks": both.shouldNot("No task is created if `tasks` was not declared.")
  }),
  at(`${page}#tool-level-negotiation`, revisions, {
    "tasks.tool.server-capability": client.mustNot(
      "Without `tasks.requests.tools.call`, no tool is called as a task, regardless of its `taskSupport`."
    ),
    "tasks.tool.forbidden-not-called": client.mustNot(
      "A tool without `taskSupport`, or forbidding it, is not called as a task."
    ),
    "tasks.tool.forbidden-error": server.should("A call as a task of a tool that forbids it gets error -32601."),
    "tasks.tool.required-called": client.must("A tool that requires task support is called as a task."),
    "tasks.tool.required-error": server.must("A plain call of a tool that requires task support gets error -32601.")
  }),
  at(`${page}#getting-tasks`, revisions, {
    "tasks.http.transport-rules": both.must("Task requests over HTTP keep to all rules of Streamable HTTP."),
    "tasks.get.poll-interval": both.should("A requestor polls at most once per `pollInterval`."),
    "tasks.get.until-terminal": both.should("A requestor polls until the status is terminal or `input_required`."),
    "tasks.get.beside-result": both.should("A requestor continues polling as long as it has no waiting `tasks/result`.")
  }),
  at(`${page}#task-status-notification`, revisions, {
    "tasks.status.not-relied-on": both.mustNot("A requestor does not rely on status notifications."),
    "tasks.status.still-polls": both.should("A requestor polls although it gets status notifications.")
  }),
  at(`${page}#task-support-and-handling`, revisions, {
    "tasks.undeclared.ignored": both.must(
      "A receiver that did not declare tasks for a request type ignores the `task` field."
    )
  }),
  at(`${page}#task-id-requirements`, revisions, {
    "tasks.id.string": both.must("A task id is a string."),
    "tasks.id.by-receiver": both.must("The receiver makes the id of a task."),
    "tasks.id.unique": both.must("A task id is unique among all tasks of its receiver.")
  }),
  at(`${page}#task-status-lifecycle`, revisions, {
    "tasks.status.starts-working": both.must("A new task has the status `working`."),
    "tasks.status.transitions": both.must("A task moves only along the transitions that its status allows."),
    "tasks.status.terminal": both.mustNot("A task in a terminal status never changes its status again.")
  }),
  at(`${page}#input-required-status`, revisions, {
    "tasks.http.any-stream": client.should(
      "A client expects messages of a task on any stream, including the GET stream."
    ),
    "tasks.http.get-not-streamed": server.shouldNot("A `tasks/get` is answered without a stream if possible."),
    "tasks.input.status": both.should("A task that needs messages from its requestor moves to `input_required`."),
    "tasks.input.related-task": both.must("A request that a task makes carries the related-task metadata."),
    "tasks.input.requestor-calls-result": both.should("A requestor that meets `input_required` calls `tasks/result`."),
    "tasks.input.leaves": both.should("A task that got all its input leaves `input_required`.")
  }),
  at(`${page}#ttl-and-resource-management`, revisions, {
    "tasks.fields.created-at": both.must("Every answer about a task has the time of creation in ISO 8601."),
    "tasks.fields.last-updated-at": both.must("Every answer about a task has the time of its last update in ISO 8601."),
    "tasks.fields.ttl": both.must("The answer to `tasks/get` has the actual `ttl`, or null for unlimited.")
  }),
  at(`${page}#result-retrieval`, revisions, {
    "tasks.create.result": both.must("An accepted task is answered with a `CreateTaskResult`."),
    "tasks.create.at-once": both.should("An accepted task is answered as soon as possible."),
    "tasks.result.terminal": both.must(
      "`tasks/result` of a finished task returns the final result or error of the request."
    ),
    "tasks.result.blocks": both.must("`tasks/result` of an unfinished task waits until the status is terminal."),
    "tasks.result.exact": both.must(
      "`tasks/result` returns exactly the result that the request would have had without a task."
    )
  }),
  at(`${page}#associating-task-related-messages`, revisions, {
    "tasks.related.key": both.must(
      "Every message that belongs to a task carries the related-task metadata with its id."
    ),
    "tasks.related.same-id": both.must("What a task asks of its requestor carries the id of that task."),
    "tasks.related.param-is-truth": both.must(
      "If a request has a `taskId` parameter, only that parameter determines the task."
    ),
    "tasks.related.not-in-requests": both.shouldNot(
      "Requests that have a `taskId` parameter carry no related-task metadata."
    ),
    "tasks.related.ignored-in-requests": both.must(
      "Related-task metadata in a request that has a `taskId` parameter is ignored."
    ),
    "tasks.related.not-in-results": both.shouldNot(
      "Results that contain the task itself (get, list, cancel) carry no related-task metadata."
    ),
    "tasks.related.not-in-status": both.shouldNot("A status notification carries no related-task metadata."),
    "tasks.related.in-result": both.must("The result of `tasks/result` carries the related-task metadata.")
  }),
  at(`${page}#task-listing`, revisions, {
    "tasks.list.paginated": both.should("`tasks/list` is paginated."),
    "tasks.list.next-cursor": both.must("`tasks/list` has a `nextCursor` if more tasks are available."),
    "tasks.list.cursor-opaque": both.must("A requestor treats the cursor as opaque."),
    "tasks.list.complete": both.must("Every task that a requestor can get is in its list.")
  }),
  at(`${page}#task-cancellation`, revisions, {
    "tasks.cancel.terminal-rejected": both.must("Cancelling a task in a terminal status gets error -32602."),
    "tasks.cancel.stops": both.should("A cancelled task stops its work."),
    "tasks.cancel.status-first": both.must("A task is `cancelled` before `tasks/cancel` is answered."),
    "tasks.cancel.stays": both.must("A cancelled task stays cancelled even if its work completes or fails."),
    "tasks.cancel.not-retained": both.shouldNot("A requestor does not rely on a cancelled task being retained.")
  }),
  at("basic/utilities/cancellation#behavior-requirements", revisions, {
    "tasks.cancel.not-by-notification": both.must(
      "A task is cancelled with `tasks/cancel`, not `notifications/cancelled`."
    )
  }),
  at("basic/utilities/progress#behavior-requirements", revisions, {
    "tasks.progress.token-lives-on": both.must("The progress token of a task serves until the task ends."),
    "tasks.progress.stops": both.must("No progress is sent after a task reached a terminal status.")
  }),
  at(`${page}#protocol-errors`, revisions, {
    "tasks.error.unknown-id": both.must(
      "An unknown task id in `tasks/get`, `tasks/result`, `tasks/cancel` gets error -32602."
    ),
    "tasks.error.invalid-cursor": both.must("An invalid cursor in `tasks/list` gets error -32602."),
    "tasks.error.internal": both.must("A failure inside the receiver gets error -32603."),
    "tasks.error.informative": both.should("The message of an error explains what went wrong.")
  }),
  at(`${page}#task-execution-errors`, revisions, {
    "tasks.failed.status-message": both.should("`tasks/get` of a failed task has a `statusMessage` on the failure."),
    "tasks.failed.same-error": both.must("`tasks/result` returns the error of a request that ended in an error."),
    "tasks.result.same-response": both.must("`tasks/result` returns the response that the request received.")
  }),
  at(`${page}#task-isolation-and-access-control`, revisions, {
    "tasks.security.bound": both.must("A task is bound to the authorization context in which it was made."),
    "tasks.security.limitation-documented": both.should(
      "Where tasks cannot be bound to a context, that is documented.",
      {
        note: "Concerns documentation."
      }
    ),
    "tasks.security.id-entropy": both.must("Task ids cannot be guessed if tasks are not bound to a context."),
    "tasks.security.list-undeclared": both.shouldNot(
      "A receiver that cannot tell requestors apart does not declare `tasks.list`."
    ),
    "tasks.security.foreign-rejected": both.must("A task of another authorization context cannot be got or cancelled."),
    "tasks.security.list-own-only": both.must("`tasks/list` has only tasks of the requestor's authorization context."),
    "tasks.security.rate-limited": both.should("The rate of task operations is limited.")
  }),
  at(`${page}#resource-management`, revisions, {
    "tasks.limits.concurrent": both.should("The number of concurrent tasks of one requestor is limited."),
    "tasks.limits.ttl": both.should("The `ttl` of a task has a maximum."),
    "tasks.limits.expired-removed": both.should("Expired tasks are removed promptly."),
    "tasks.limits.documented": both.should("The maximum of `ttl` and of concurrent tasks is documented.", {
      note: "Concerns documentation."
    }),
    "tasks.limits.monitored": both.should("The use of resources by tasks is monitored.", {
      note: "Concerns operation."
    })
  }),
  at(`${page}#audit-and-logging`, revisions, {
    "tasks.audit.receiver": both.should("A receiver logs when tasks are created, completed and retrieved."),
    "tasks.audit.context": both.should("Logs about tasks include the authorization context if there is one."),
    "tasks.audit.suspicious": both.should("Suspicious patterns of task operations are noticed.", {
      note: "Concerns operation."
    }),
    "tasks.audit.requestor": both.should("A requestor logs the life of its tasks."),
    "tasks.audit.ids-tracked": both.should("A requestor tracks its task ids and the requests they belong to.")
  })
)
