/** The members of a client for tasks, and what they give: a call that is followed in the background, or a task of an earlier call. */
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
 * A call that runs in the background, in the scope of its client. It is followed, and its questions are answered, whether its result is
 * waited for or not. The end of the client ends the following, and leaves the task at the server.
 */
export interface TaskHandle<A, E = ClientError> {
  /** The id, by which another client finds the task (`Client.task`); undefined where the server answered without a task. */
  readonly id: string | undefined
  /** The state as it is known, and each change until the following ends; of a slow reader the oldest are dropped. */
  readonly states: Stream.Stream<TaskState>
  /** The result of the call. Its interruption leaves the task alone. */
  readonly result: Effect.Effect<A, E>
  /** Asks the server to cancel the task, unless it has ended; `result` then fails with `TaskCancelled`, as soon as the server has done so. */
  readonly cancel: Effect.Effect<void, ClientError>
  /** Ends the following, and leaves the task at the server; `result` fails with `Closed`. */
  readonly detach: Effect.Effect<void>
}

export interface StartOptions extends CallOptions {
  /** How long the server should keep the task (2025-11-25). Default: as the server likes. */
  readonly ttl?: Duration.Input | undefined
  /**
   * Whether the task is followed, and its questions are answered. With false the task is left to the server as soon as it is made, and
   * `result` fails with `Closed`: another client may take it up by its id. Default: true.
   */
  readonly follow?: boolean | undefined
}

export interface TaskMembers {
  /**
   * Calls a tool, and returns when the server has made a task of the call or has answered it: 2025-11-25 is asked for a task where the tool
   * allows one, a later server decides by itself. Fails as the call does where it was refused.
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
   * // In another program, with the id of the handle: questions are asked of this client.
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
  /** The same by the tool's name. */
  readonly startByName: (
    name: string,
    args?: { readonly [name: string]: unknown },
    options?: StartOptions
  ) => Effect.Effect<TaskHandle<CallToolResult>, ClientError>
  /** Follows a task that an earlier call has made, by its id. Fails where the server does not know it for this caller. */
  readonly task: <I, O, F, H>(
    tool: Tool<I, O, F, H>,
    id: string,
    options?: CallOptions
  ) => Effect.Effect<TaskHandle<O, F | ToolFailure | ClientError>, F | ToolFailure | ClientError>
  /** The same without a Tool value: the result is as the server gave it. */
  readonly taskById: (id: string, options?: CallOptions) => Effect.Effect<TaskHandle<CallToolResult>, ClientError>
  /** All tasks of this caller, where the server lists them (2025-11-25); pages are read as the stream is pulled. */
  readonly listTasks: Stream.Stream<TaskState, ClientError>
}
