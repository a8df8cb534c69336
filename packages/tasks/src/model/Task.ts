/**
 * A task: a request that is answered later (spec 2025-11-25: basic/utilities/tasks; the extension `io.modelcontextprotocol/tasks`).
 *
 * The canonical form of both generations. Stored is the outcome; the status on the wire is a projection of it (`Wire2025`, `Wire2026`).
 */
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"

/** A question that the task waits for: a request of the server to its client, as the client's revision writes it. */
export interface Question {
  readonly method: string
  readonly params: JsonObject
  /** The id of the extension that its client has to declare; undefined for a question of MCP, and for one that is relayed. */
  readonly extension?: string | undefined
}

/** The answer to a request: a result, or a JSON-RPC error. */
export type Answer =
  | { readonly _tag: "Result"; readonly result: JsonObject }
  | { readonly _tag: "Error"; readonly code: number; readonly message: string; readonly data?: unknown }

/**
 * How a task ended: what the original request would have been answered with, or its cancellation. It never changes. A result is in its
 * canonical form; a tool's failure (`isError`) is one.
 */
export type TaskOutcome = Answer | { readonly _tag: "Cancelled" }

/** The code of the error of a task that did not end within its ttl. Own code, after HTTP's 504. */
export const Expired = -31504

/** The outcome of a task that did not end within its ttl. */
export const expiredAfter = (ttl: number) =>
  ({ _tag: "Error", code: Expired, message: `The task did not end within ${ttl} ms` }) satisfies TaskOutcome

/** A task as its owner sees it. Times are in milliseconds since the epoch. */
export interface Task {
  readonly id: string
  readonly createdAt: number
  /** When its state or message last changed. Reading a task does not change it. */
  readonly updatedAt: number
  /** How long it is kept, in milliseconds from its creation. */
  readonly ttl: number
  /** How long a client should wait between two reads, in milliseconds. */
  readonly pollInterval: number
  /** What it does at the moment, or why it ended; for people. */
  readonly message: string | undefined
  /** The open questions by key. A key is used once in the life of a task. */
  readonly questions: ReadonlyMap<string, Question>
  /** Undefined while it runs or waits. */
  readonly outcome: TaskOutcome | undefined
}

/** What a task is made of. */
export interface NewTask {
  /** The caller: its principal, or its connection. Only an equal owner sees the task. */
  readonly owner: string
  /** The caller that the task counts for: an address for anonymous callers that share one owner. Default: the owner. */
  readonly caller?: string | undefined
  /** The name of the tool. */
  readonly tool: string
  /** The params of the call, in canonical form. */
  readonly input: JsonObject
  /** What must be known of the client when the task runs again elsewhere: revision, capabilities, caller; no token. */
  readonly client: JsonObject
  /** How long it is kept, in milliseconds. */
  readonly ttl: number
  /** How long a client should wait between two reads, in milliseconds. */
  readonly pollInterval: number
  readonly message?: string | undefined
}

export type TaskPhase = "working" | "input_required" | "done"

/** The state of a task: it follows from its outcome and its open questions. */
export const stateOf = ({ outcome, questions }: Task): TaskPhase =>
  outcome !== undefined ? "done" : questions.size > 0 ? "input_required" : "working"

/** Whether a tool reported a failure of its own: a result with `isError`. */
export const isToolFailure = (outcome: TaskOutcome): boolean =>
  outcome._tag === "Result" && outcome.result["isError"] === true

/** The first text of a tool's result, for the message of a failed task. */
export const textOf = ({ content }: JsonObject): string | undefined => {
  const [first]: ReadonlyArray<unknown> = Array.isArray(content) ? content : []
  return typeof first === "object" && first !== null && "text" in first && typeof first.text === "string"
    ? first.text
    : undefined
}
