/** A server's task as its client sees it, in both generations (spec 2025-11-25: basic/utilities/tasks; the 2026-07-28 extension). */

/** The extension's ID, which is used for tasks in both generations. */
export const id = "io.modelcontextprotocol/tasks"

export type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled"

/** State of a task. If a tool reports a failure, its task is `failed` in 2025-11-25 and `completed` since 2026-07-28. */
export interface TaskState {
  readonly id: string
  readonly status: TaskStatus
  /** The task's current activity, or the reason it ended, in human-readable form. Not verified. */
  readonly message: string | undefined
  /** Creation time in ISO 8601 format, exactly as the server sent it. */
  readonly createdAt: string
  readonly lastUpdatedAt: string
  /** How long the server keeps the task after creating it, in milliseconds. `null` means no limit. */
  readonly ttl: number | null
  /** How long the client should wait between polls, in milliseconds. */
  readonly pollInterval: number | undefined
}

/** True if the status is final. */
export const isTerminal = ({ status }: Pick<TaskState, "status">): boolean =>
  status === "completed" || status === "failed" || status === "cancelled"
