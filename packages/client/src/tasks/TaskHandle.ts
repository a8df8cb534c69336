/** The client's members for tasks: calls followed in the background, and tasks created by earlier calls. */
import type { Tool } from "@effect-mcp/core/Tool"
import type { ToolFailure } from "@effect-mcp/core/Tools"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { CallOptions } from "../CallOptions.ts"
import type { ClientError } from "../ClientError.ts"
import type { TaskState } from "./TaskState.ts"

/**
 * A tool call that runs in the background, in its client's scope. The client follows it and answers its questions even if you don't wait
 * for the result. Closing the client stops following the call but leaves the task running on the server.
 */
export interface TaskHandle<A, E = ClientError> {
  /** ID that lets another client find the task (`Client.task`), or `undefined` if the server responded without creating a task. */
  readonly id: string | undefined
  /** The current state and every later change, until following stops. A slow reader misses the oldest states. */
  readonly states: Stream.Stream<TaskState>
  /** The call's result. Interrupting this effect does not affect the task. */
  readonly result: Effect.Effect<A, E>
  /** Asks the server to cancel the task, unless it has already ended. After the server cancels it, `result` fails with `TaskCancelled`. */
  readonly cancel: Effect.Effect<void, ClientError>
  /** Stops following the task and leaves it running on the server. `result` then fails with `Closed`. */
  readonly detach: Effect.Effect<void>
}

export interface StartOptions extends CallOptions {
  /** How long the server should keep the task (2025-11-25). Default: decided by the server. */
  readonly ttl?: Duration.Input | undefined
  /**
   * Whether to follow the task and answer its questions. If false, the client stops following once the task exists, and `result` fails with
   * `Closed`. Another client can pick the task up by its ID. Default true.
   */
  readonly follow?: boolean | undefined
}

export interface TaskMembers {
  /**
   * Calls a tool and returns once the server has created a task or sent a result. In 2025-11-25, the client asks for a task if the tool
   * allows it; in later revisions, the server decides. If the server rejects the call, fails with the same error as the call.
   *
   * @example
   * ```ts
   * import { McpClient } from "@effect-mcp/client"
   * import { Tool } from "@effect-mcp/core"
   * import { Effect, Schema, Stream } from "effect"
   *
   * const Report = Tool.make("report", {
   *   description: "Writes a report",
   *   input: { topic: Schema.String },
   *   output: { pages: Schema.Int },
   *   task: "optional"
   * })
   *
   * export const write = Effect.gen(function* () {
   *   const client = yield* McpClient.McpClient
   *   const report = yield* client.start(Report, { topic: "tea" }, { ttl: "1 day" })
   *   yield* Stream.runForEach(report.states, ({ message, status }) => Effect.log(status, message))
   *   return yield* report.result
   * })
   *
   * // In another program, with the id of the handle. Questions go to this client.
   * export const resume = (id: string) =>
   *   Effect.gen(function* () {
   *     const client = yield* McpClient.McpClient
   *     const report = yield* client.task(Report, id)
   *     return yield* report.result
   *   })
   * ```
   */
  readonly start: <I, O, F, H>(
    tool: Tool<I, O, F, H>,
    input: NoInfer<I>,
    options?: StartOptions
  ) => Effect.Effect<TaskHandle<O, F | ToolFailure | ClientError>, F | ToolFailure | ClientError>
  /** Like `start`, but takes the tool's name. */
  readonly startByName: (
    name: string,
    args?: { readonly [name: string]: unknown },
    options?: StartOptions
  ) => Effect.Effect<TaskHandle<CallToolResult>, ClientError>
  /** Follows an existing task by its ID. Fails if the server doesn't have a task with this ID for this caller. */
  readonly task: <I, O, F, H>(
    tool: Tool<I, O, F, H>,
    id: string,
    options?: CallOptions
  ) => Effect.Effect<TaskHandle<O, F | ToolFailure | ClientError>, F | ToolFailure | ClientError>
  /** Like `task`, but without a `Tool` value. Returns the result as the server sent it. */
  readonly taskById: (id: string, options?: CallOptions) => Effect.Effect<TaskHandle<CallToolResult>, ClientError>
  /** Lists the caller's tasks, if the server supports listing (2025-11-25). Fetches further pages as the stream is pulled. */
  readonly listTasks: Stream.Stream<TaskState, ClientError>
}
