/**
 * A task: a request that receives its result later (spec 2025-11-25: basic/utilities/tasks; the `io.modelcontextprotocol/tasks` extension).
 *
 * This is the canonical form for both generations. The outcome is stored, and the status that clients see is derived from it (`Wire2025`,
 * `Wire2026`).
 */
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"

/** A question that the task is waiting on: a request from the server to its client, in the client's revision. */
export interface Question {
  readonly method: string
  readonly params: JsonObject
  /** ID of the extension that the client must declare, or `undefined` for MCP's own questions and for relayed questions. */
  readonly extension?: string | undefined
}

/** A response to a request: a result or a JSON-RPC error. */
export type Answer =
  | { readonly _tag: "Result"; readonly result: JsonObject }
  | { readonly _tag: "Error"; readonly code: number; readonly message: string; readonly data?: unknown }

/**
 * How a task ended: the response to the original request, or cancellation. It never changes. Results are in canonical form, and include
 * failures that a tool reported (`isError`).
 */
export type TaskOutcome = Answer | { readonly _tag: "Cancelled" }

/** Error code for a task that did not finish within its TTL. This project defined it, modeled on HTTP 504. */
export const Expired = -31504

/** Returns the outcome for a task that did not finish within its TTL. */
export const expiredAfter = (ttl: number) =>
  ({ _tag: "Error", code: Expired, message: `The task did not finish within ${ttl} ms` }) satisfies TaskOutcome

/** A task as its owner sees it. All times are in milliseconds since 1970. */
export interface Task {
  readonly id: string
  readonly createdAt: number
  /** When its state or message last changed. Reading a task does not update it. */
  readonly updatedAt: number
  /** How long to keep it, in milliseconds since its creation. */
  readonly ttl: number
  /** How long a client should wait between reads, in milliseconds. */
  readonly pollInterval: number
  /** Human-readable description of the current activity, or the reason why the task ended. */
  readonly message: string | undefined
  /** Open questions by key. A key is never reused during the task's lifetime. */
  readonly questions: ReadonlyMap<string, Question>
  /** How it ended, or `undefined` while it is running or waiting. */
  readonly outcome: TaskOutcome | undefined
}

/** Data for creating a task. */
export interface NewTask {
  /** The caller's principal or connection. Only the owner can see the task. */
  readonly owner: string
  /** The caller that the task counts against: the address, for anonymous callers who share an owner. Defaults to the owner. */
  readonly caller?: string | undefined
  /** Tool name. */
  readonly tool: string
  /** Call params, in canonical form. */
  readonly input: JsonObject
  /** Facts about the client that are needed to run the task again elsewhere: revision, capabilities and caller, but no token. */
  readonly client: JsonObject
  /** How long to keep it, in milliseconds. */
  readonly ttl: number
  /** How long a client should wait between reads, in milliseconds. */
  readonly pollInterval: number
  readonly message?: string | undefined
}

export type TaskPhase = "working" | "input_required" | "done"

/** Returns a task's state, derived from its outcome and open questions. */
export const stateOf = ({ outcome, questions }: Task): TaskPhase =>
  outcome !== undefined ? "done" : questions.size > 0 ? "input_required" : "working"

/** True if the result is a failure reported by the tool (`isError`). */
export const isToolFailure = (outcome: TaskOutcome): boolean =>
  outcome._tag === "Result" && outcome.result["isError"] === true

/** Returns the first text in a tool's result, to use as a failed task's message. */
export const textOf = ({ content }: JsonObject): string | undefined => {
  const [first]: ReadonlyArray<unknown> = Array.isArray(content) ? content : []
  return typeof first === "object" && first !== null && "text" in first && typeof first.text === "string"
    ? first.text
    : undefined
}
