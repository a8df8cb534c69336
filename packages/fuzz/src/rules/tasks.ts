/** Rules about tasks in 2025-11-25. */
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import { at } from "../model/json.ts"
import type { Model } from "../model/Model.ts"
import type { Exchange } from "../model/Observation.ts"
import type { Rule, RuleHandlers, Verdict } from "../model/Rule.ts"
import { taskOfCall } from "../model/TaskBook.ts"
import { structured, toolOf } from "./features.ts"
import { answered, refused, refusedUnknown, result, show, violated, wrongParams, wrongResult } from "./judge.ts"

const page = "basic/utilities/tasks"
const [since, until] = ["2025-11-25", "2025-11-25"] as const

/** The possible statuses of a task. */
export const statuses: ReadonlySet<unknown> = new Set(["working", "input_required", "completed", "failed", "cancelled"])

const declared = ({ capabilities }: Model, ...path: ReadonlyArray<string>): boolean =>
  at(capabilities, "tasks", ...path) !== undefined

const support = (exchange: Exchange, model: Model): string | undefined => {
  const tool = toolOf(exchange, model)
  return tool && (tool.execution?.taskSupport ?? "forbidden")
}

/** Judges every task in a result: of a call that became a task, or of a request about a task. */
const told = (check: (task: unknown, exchange: Exchange) => string | undefined): RuleHandlers => ({
  Answered: ({ answer, exchange }) => {
    if (answer._tag === "Error" || !exchange.wellFormed || !exchange.open) return undefined
    const { method } = exchange
    const task =
      method === "tasks/get" || method === "tasks/cancel" ? answer.result : taskOfCall(exchange, answer.result)
    if (task === undefined) return undefined
    const wrong = check(task, exchange)
    return wrong === undefined ? "pass" : violated(`${method} describes the task ${show(task)}: ${wrong}`, method)
  }
})

const isTime = (value: unknown): boolean =>
  typeof value === "string" && /^\d{4}-\d\d-\d\dT/.test(value) && !Number.isNaN(Date.parse(value))

const time = (field: string) =>
  told((task) => (isTime(at(task, field)) ? undefined : `its ${field} is not an ISO 8601 time`))

/** Judges tool calls, if the server accepts calls as tasks. */
const calls = (check: (kind: string | undefined, asTask: boolean, exchange: Exchange) => number | undefined) =>
  answered("tools/call", (exchange, answer, model) => {
    if (!declared(model, "requests", "tools", "call") || wrongParams(exchange, model) !== undefined) return undefined
    const code = check(support(exchange, model), isJsonObject(at(exchange.params, "task")), exchange)
    return code === undefined
      ? undefined
      : refused(answer, code, `A call of ${show(at(exchange.params, "name"))} with ${show(exchange.params)}`)
  })

/** True if the server issued the id to this client or to a second one. */
export const isGiven = (id: string, { foreign, tasks }: Model): boolean =>
  tasks.get(id) !== undefined || foreign?.tasks.get(id) !== undefined

const unknown: RuleHandlers = {
  Answered: ({ answer, exchange }, model): Verdict => {
    const [, verb] = /^tasks\/(get|result|cancel)$/.exec(exchange.method) ?? []
    const id = at(exchange.params, "taskId")
    if (verb === undefined || typeof id !== "string" || model.observed || isGiven(id, model)) return undefined
    if (!exchange.wellFormed || !exchange.open || !declared(model)) return undefined
    if (verb === "cancel" && !declared(model, "cancel")) return undefined
    return refusedUnknown(answer, exchange, id)
  }
}

const created = result("tools/call", (value, exchange, model) => {
  const kind = support(exchange, model)
  if (!declared(model, "requests", "tools", "call") || (kind !== "optional" && kind !== "required")) return undefined
  if (!isJsonObject(at(exchange.params, "task")) || at(value, "isError") === true) return undefined
  return isJsonObject(at(value, "task")) ? "pass" : violated(`A call as a task is answered with ${show(value)}`)
})

const final = result("tasks/result", (value, { params }, model) => {
  const wrong = wrongResult("tools/call", value, model)
  if (wrong !== undefined) return violated(`tasks/result is answered with ${show(value)}: ${wrong}`)
  const tool = model.tools.get(model.tasks.get(at(params, "taskId"))?.tool ?? "")
  return (tool && structured(value, tool, model)) ?? "pass"
})

const rule = (
  name: string,
  requirement: string,
  section: string,
  text: string,
  on: RuleHandlers,
  level: "MUST" | "SHOULD" = "MUST"
): Rule => ({ name, level, requirement, section: `${page}#${section}`, text, since, until, on })

const ttl = (value: unknown): boolean => value === null || typeof value === "number"

export const tasks: ReadonlyArray<Rule> = [
  rule(
    "task-created",
    "tasks.create.result",
    "result-retrieval",
    "A call that runs as a task is answered with its task.",
    created
  ),
  rule(
    "task-id-string",
    "tasks.id.string",
    "task-id-requirements",
    "The id of a task is a string.",
    told((task) => (typeof at(task, "taskId") === "string" ? undefined : "its id is not a string"))
  ),
  rule(
    "task-starts-working",
    "tasks.status.starts-working",
    "task-status-lifecycle",
    "A new task is working.",
    told((task, { method }) =>
      method !== "tools/call" || at(task, "status") === "working" ? undefined : "it is new and not working"
    )
  ),
  rule(
    "task-status-known",
    "tasks.status.transitions",
    "task-status-lifecycle",
    "A task has one of the five statuses in the specification.",
    told((task) => (statuses.has(at(task, "status")) ? undefined : "its status does not exist"))
  ),
  rule(
    "task-ended-stays",
    "tasks.status.terminal",
    "task-status-lifecycle",
    "A task that has ended never changes its status again.",
    result("tasks/get", (value, { taskEnded }) =>
      taskEnded === undefined
        ? undefined
        : at(value, "status") === taskEnded
          ? "pass"
          : violated(`A task that was ${taskEnded} is ${show(at(value, "status"))} now`)
    )
  ),
  rule(
    "task-created-at",
    "tasks.fields.created-at",
    "ttl-and-resource-management",
    "Every answer about a task includes its creation time.",
    time("createdAt")
  ),
  rule(
    "task-last-updated-at",
    "tasks.fields.last-updated-at",
    "ttl-and-resource-management",
    "Every answer about a task includes the time of its last update.",
    time("lastUpdatedAt")
  ),
  rule(
    "task-ttl",
    "tasks.fields.ttl",
    "ttl-and-resource-management",
    "The answer to tasks/get includes the task's ttl, or null.",
    told((task, { method }) =>
      method !== "tasks/get" || ttl(at(task, "ttl")) ? undefined : "its ttl is neither a number nor null"
    )
  ),
  rule(
    "task-result-exact",
    "tasks.result.exact",
    "result-retrieval",
    "tasks/result returns the same result as the call without a task.",
    final
  ),
  rule(
    "task-result-related",
    "tasks.related.in-result",
    "associating-task-related-messages",
    "The result of tasks/result names its task in the related-task metadata.",
    result("tasks/result", (value, { params }) =>
      at(value, "_meta", Meta.relatedTask, "taskId") === at(params, "taskId")
        ? "pass"
        : violated(`tasks/result of ${show(at(params, "taskId"))} has the metadata ${show(at(value, "_meta"))}`)
    )
  ),
  rule(
    "task-cancel-ended",
    "tasks.cancel.terminal-rejected",
    "task-cancellation",
    "Cancelling a task that has ended gets error -32602.",
    answered("tasks/cancel", ({ taskEnded }, answer, model) =>
      taskEnded === undefined || !declared(model, "cancel")
        ? undefined
        : refused(answer, McpError.InvalidParams, `Cancelling a task that is ${taskEnded}`)
    )
  ),
  rule(
    "task-cancelled-first",
    "tasks.cancel.status-first",
    "task-cancellation",
    "A task is cancelled before tasks/cancel is answered.",
    result("tasks/cancel", (value) =>
      at(value, "status") === "cancelled" ? "pass" : violated(`tasks/cancel is answered with ${show(value)}`)
    )
  ),
  rule("task-unknown", "tasks.error.unknown-id", "protocol-errors", "An unknown task id gets error -32602.", unknown),
  rule(
    "task-required",
    "tasks.tool.required-error",
    "tool-level-negotiation",
    "A plain call to a tool that requires tasks gets error -32601.",
    calls((kind, asTask, { params }) =>
      kind === "required" && !asTask && at(params, "task") === undefined ? McpError.MethodNotFound : undefined
    )
  ),
  rule(
    "task-forbidden",
    "tasks.tool.forbidden-error",
    "tool-level-negotiation",
    "Calling a tool that forbids tasks as a task gets error -32601.",
    calls((kind, asTask) => (kind === "forbidden" && asTask ? McpError.MethodNotFound : undefined)),
    "SHOULD"
  )
]
