/** Sends a task's question to a client and records the answer. */
import type { AskError } from "@effect-mcp/core/ClientInput"
import * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Answer } from "../model/Task.ts"
import type { TaskStore } from "../store/TaskStore.ts"

/** How long the client and its user may take to answer a task's question. */
export const askTimeout: Duration.Input = "7 days"

/** Returns the answer to a question, or `undefined` if its destination is gone. */
export const answerOf = (exit: Exit.Exit<unknown, AskError | McpError.McpError>): Answer | undefined => {
  if (Exit.isSuccess(exit)) return { _tag: "Result", result: isJsonObject(exit.value) ? exit.value : {} }
  const error = exit.cause.reasons.find((reason) => reason._tag === "Fail")?.error
  if (error === undefined || error._tag === "Closed" || error._tag === "CapabilityMissing") return undefined
  if (error._tag === "Declined") return { _tag: "Error", code: McpError.UserRejected, message: error.message }
  // This project's client answers like this if it closes while the question is open.
  if (error._tag === "McpError" && error.code === McpError.Interrupted) return undefined
  if (error._tag === "Timeout") return { _tag: "Error", code: McpError.Interrupted, message: error.message }
  const { code, data, message } = error
  return { _tag: "Error", code, message, ...(data === undefined ? undefined : { data }) }
}

/** Records the answer to a question. If the task has no room for it, the question fails. */
export const recordAnswer = (
  store: TaskStore["Service"],
  { id, key, owner }: { readonly id: string; readonly owner: string; readonly key: string },
  answer: Answer
): Effect.Effect<void> => {
  const record = (answer: Answer) => store.answer(id, owner, { [key]: answer })
  const tooLong = ({ message }: { readonly message: string }) =>
    Effect.ignore(record({ _tag: "Error", code: McpError.LimitExceeded, message }))
  return Effect.asVoid(Effect.catch(record(answer), tooLong))
}
