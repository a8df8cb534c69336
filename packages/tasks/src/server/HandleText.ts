/** Describes a running task to a model: in text, and as structured content. */
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import type { Question, Task } from "../model/Task.ts"
import * as Wire2025 from "../model/Wire2025.ts"
import type { HandleToolNames } from "./Handles.ts"

/** True if the question is a form, which a model can answer. */
const isForm = ({ method, params }: Question): boolean =>
  method === "elicitation/create" && (params["mode"] ?? "form") === "form"

/** Returns the questions that the model may answer, by key. */
export const formsOf = ({ questions }: Task): ReadonlyArray<readonly [key: string, Question]> =>
  [...questions].filter(([, question]) => isForm(question))

/** A tool to call next, and its arguments. */
interface Next {
  readonly tool: string
  readonly arguments: JsonObject
}

const called = ({ arguments: args, tool }: Next): string => `${tool} with ${JSON.stringify(args)}`

const formOf = ([key, { params }]: readonly [string, Question]): JsonObject => ({
  question: key,
  message: params["message"],
  schema: params["requestedSchema"]
})

export interface Options {
  /** Questions that the model may answer, by key. */
  readonly forms: ReadonlyArray<readonly [key: string, question: Question]>
  /** True if the client can be asked one of the other questions. */
  readonly mayAsk: boolean
  /** Start of the text. */
  readonly first?: string | undefined
}

/** Describes the task's state and the call that continues it. */
const described = (
  task: Task,
  names: HandleToolNames,
  forms: ReadonlyArray<JsonObject>,
  mayAsk: boolean
): { readonly text: string; readonly next?: Next } => {
  const { id, outcome, questions } = task
  const { status, statusMessage } = Wire2025.write(task)
  const args = { taskId: id }
  if (outcome?._tag === "Cancelled") return { text: `The task ${id} was cancelled.` }
  if (outcome !== undefined) {
    const next = { tool: names.result, arguments: args }
    return { next, text: `The task ${id} is ${status}. To read its result, call ${called(next)}.` }
  }
  const [form] = forms
  if (form !== undefined) {
    const next = { tool: names.answer, arguments: { ...args, question: form["question"] } }
    const asked = forms.map(({ message, schema }) => `${String(message)}\nAnswer: ${JSON.stringify(schema)}`)
    return {
      next,
      text: `The task ${id} needs an answer from the user. Ask the user; do not make up an answer. Then call ${called(next)} and the answer as \`content\`.\n${asked.join("\n")}`
    }
  }
  const next = { tool: names.status, arguments: args }
  if (mayAsk) return { next, text: `The task ${id} has a question for the user. To ask it, call ${called(next)}.` }
  if (questions.size > 0) {
    const methods = [...new Set(Array.from(questions.values(), ({ method }) => method))].join(", ")
    return { next, text: `The task ${id} is waiting for input that this client does not support (${methods}).` }
  }
  const message = statusMessage === undefined ? "" : ` Latest status: ${statusMessage}.`
  return { next, text: `The task ${id} is still running.${message} To wait for it, call ${called(next)}.` }
}

/** Returns the state of a task as a tool's result. */
export const stateResult = (
  task: Task,
  names: HandleToolNames,
  { first = "", forms, mayAsk }: Options
): CallToolResult => {
  const questions = forms.map(formOf)
  const { next, text } = described(task, names, questions, mayAsk)
  const { createdAt, lastUpdatedAt, status, statusMessage, taskId, ttl } = Wire2025.write(task)
  return {
    content: [{ type: "text", text: first + text }],
    structuredContent: {
      taskId,
      status,
      ...(statusMessage === undefined ? undefined : { statusMessage }),
      createdAt,
      lastUpdatedAt,
      ttlMs: ttl,
      ...(questions.length === 0 ? undefined : { questions }),
      ...(next === undefined ? undefined : { next })
    }
  }
}
