/** A task of the server as its client sees it, in both generations (spec 2025-11-25: basic/utilities/tasks; the extension of 2026-07-28). */

/** The id of the extension, which stands for tasks of both generations. */
export const id = "io.modelcontextprotocol/tasks"

export type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled"

/** A tool that reports a failure is `failed` in 2025-11-25, and `completed` from 2026-07-28 on. */
export interface TaskState {
  readonly id: string
  readonly status: TaskStatus
  /** What the task does at the moment, or why it ended; for people. Not verified. */
  readonly message: string | undefined
  /** ISO 8601, as the server wrote it. */
  readonly createdAt: string
  readonly lastUpdatedAt: string
  /** How long the server keeps the task, in milliseconds from its creation; null: without a limit. */
  readonly ttl: number | null
  /** How long the client should wait between two reads, in milliseconds. */
  readonly pollInterval: number | undefined
}

/** Whether the status stays as it is. */
export const isTerminal = ({ status }: Pick<TaskState, "status">): boolean =>
  status === "completed" || status === "failed" || status === "cancelled"
