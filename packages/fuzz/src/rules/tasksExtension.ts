/** Rules of the extension `io.modelcontextprotocol/tasks` (2026-07-28). */
import * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import { at } from "../model/json.ts"
import type { Model } from "../model/Model.ts"
import type { Answer, Exchange } from "../model/Observation.ts"
import type { Rule, RuleHandlers, Verdict } from "../model/Rule.ts"
import { extension } from "../model/TaskBook.ts"
import { answered, refused, refusedUnknown, result, show, violated } from "./judge.ts"
import { isGiven, statuses } from "./tasks.ts"

const page = "extensions/tasks"
const since = "2026-07-28"

const declares = ({ declares }: Exchange): boolean => at(declares, "extensions", extension) !== undefined
const offers = ({ capabilities }: Model): boolean => at(capabilities, "extensions", extension) !== undefined

/** Judges requests about tasks, if the server declares the extension. */
const about = (
  methods: RegExp,
  check: (exchange: Exchange, answer: Answer, model: Model) => Verdict
): RuleHandlers => ({
  Answered: ({ answer, exchange }, model) =>
    methods.test(exchange.method) && exchange.wellFormed && offers(model) ? check(exchange, answer, model) : undefined
})

const unknown = (methods: RegExp): RuleHandlers =>
  about(methods, (exchange, answer, model) => {
    const id = at(exchange.params, "taskId")
    if (typeof id !== "string" || !declares(exchange) || model.observed || isGiven(id, model)) return undefined
    if (exchange.method === "tasks/update" && !isJsonObject(at(exchange.params, "inputResponses"))) return undefined
    return refusedUnknown(answer, exchange, id)
  })

/** Requires a field in the answer of `tasks/get` for a task of this status. */
const holds = (status: string, field: string): RuleHandlers =>
  result("tasks/get", (value) => {
    if (at(value, "status") !== status) return undefined
    return isJsonObject(at(value, field)) ? "pass" : violated(`A task is ${status} without ${field}: ${show(value)}`)
  })

const acknowledged = (method: string): RuleHandlers =>
  result(method, (value) => {
    const [field] = Object.keys(Object(value)).filter((key) => key !== "resultType" && key !== "_meta")
    return field === undefined ? "pass" : violated(`${method} is answered with ${show(value)}`)
  })

const completes = (method: string): RuleHandlers =>
  result(method, (value) =>
    at(value, "resultType") === "complete" ? "pass" : violated(`${method} is answered with ${show(value)}`)
  )

const rule = (
  name: string,
  requirement: string,
  section: string,
  text: string,
  on: RuleHandlers,
  level: "MUST" | "SHOULD" = "MUST"
): Rule => ({
  name,
  level,
  requirement: `tasks-extension.${requirement}`,
  section: `${page}#${section}`,
  text,
  since,
  on
})

const cited: ReadonlyArray<Rule> = [
  rule(
    "task-undeclared",
    "declared.per-request",
    "capability-negotiation",
    "A request that does not declare the extension is never answered with a task.",
    result("tools/call", (value, exchange) =>
      declares(exchange)
        ? undefined
        : at(value, "resultType") === "task"
          ? violated(`A call without the extension is answered with ${show(value)}`)
          : "pass"
    )
  ),
  rule(
    "task-get-status",
    "get.status",
    "task-polling",
    "tasks/get answers with a status of the specification.",
    result("tasks/get", (value) =>
      statuses.has(at(value, "status")) ? "pass" : violated(`tasks/get is answered with ${show(value)}`)
    )
  ),
  rule(
    "task-completed-result",
    "get.completed",
    "task-polling",
    "A completed task is answered with its result.",
    holds("completed", "result")
  ),
  rule("task-failed-error", "get.failed", "task-polling", "A failed task has its error.", holds("failed", "error")),
  rule(
    "task-input-questions",
    "get.input-required",
    "task-polling",
    "A task that is waiting for input is answered with its questions.",
    holds("input_required", "inputRequests")
  ),
  rule(
    "task-get-type",
    "get.result-type",
    "task-polling",
    "The answer to tasks/get is complete.",
    completes("tasks/get")
  ),
  rule(
    "task-update-type",
    "update.result-type",
    "task-update-requests",
    "The answer to tasks/update is complete.",
    completes("tasks/update")
  ),
  rule(
    "task-cancel-type",
    "cancel.result-type",
    "task-cancellation",
    "The answer to tasks/cancel is complete.",
    completes("tasks/cancel")
  ),
  rule(
    "task-update-empty",
    "update.acknowledged",
    "task-update-requests",
    "A successful tasks/update is answered with an empty result.",
    acknowledged("tasks/update")
  ),
  rule(
    "task-cancel-empty",
    "cancel.acknowledged",
    "task-cancellation",
    "A successful tasks/cancel is answered with an empty result.",
    acknowledged("tasks/cancel")
  ),
  rule(
    "task-unknown-get",
    "errors.unknown-get",
    "protocol-errors",
    "tasks/get of an unknown id gets error -32602.",
    unknown(/^tasks\/get$/)
  ),
  rule(
    "task-unknown-others",
    "errors.unknown-others",
    "protocol-errors",
    "tasks/update and tasks/cancel of an unknown id get error -32602.",
    unknown(/^tasks\/(update|cancel)$/),
    "SHOULD"
  ),
  rule(
    "task-needs-extension",
    "errors.undeclared",
    "protocol-errors",
    "A request about a task that does not declare the extension gets error -32021.",
    about(/^tasks\/(get|update|cancel)$/, (exchange, answer) =>
      declares(exchange) || typeof at(exchange.params, "taskId") !== "string"
        ? undefined
        : refused(answer, McpError.MissingClientCapability, `${exchange.method} without the extension`, exchange.method)
    )
  )
]

const required = ["taskId", "status", "createdAt", "lastUpdatedAt"]

export const tasksExtension: ReadonlyArray<Rule> = [
  ...cited,
  {
    name: "task-has-fields",
    level: "robustness",
    text: "A task has an id, a status and the times of its creation and last update.",
    since,
    on: answered("tools/call", (_, answer) => {
      if (answer._tag === "Error" || at(answer.result, "resultType") !== "task") return undefined
      const missing = required.find((field) => typeof at(answer.result, field) !== "string")
      return missing === undefined ? "pass" : violated(`A task has no ${missing}: ${show(answer.result)}`)
    })
  },
  {
    name: "task-stays-ended",
    level: "robustness",
    text: "A task that has ended does not change its status again.",
    since,
    on: result("tasks/get", (value, { taskEnded }) =>
      taskEnded === undefined
        ? undefined
        : at(value, "status") === taskEnded
          ? "pass"
          : violated(`A task that was ${taskEnded} is ${show(at(value, "status"))} now`)
    )
  }
]
