/** The differences between the two generations of tasks, for following a task. */
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import { type ClientError, InvalidResult, TaskCancelled } from "../ClientError.ts"
import type { TaskState } from "./TaskState.ts"

/** A state of the task with its details. */
export interface Seen {
  readonly state: TaskState
  readonly wire: JsonObject
}

/** A question in a state. Its effect returns the call's result if that has arrived in the meantime. */
interface Need {
  readonly key: string
  readonly answer: Effect.Effect<{ readonly final: unknown } | undefined, ClientError>
}

export interface Generation {
  readonly get: Effect.Effect<Seen, ClientError>
  /** Returns the state if the server's answer contains it. */
  readonly cancel: Effect.Effect<Seen | undefined, ClientError>
  /** States that the server announces. The first element may be `Listening`, after which every change is announced. */
  readonly news: Stream.Stream<Seen | "Listening", ClientError>
  /** Returns the call's result from a terminal state. */
  readonly outcome: (seen: Seen) => Effect.Effect<unknown, ClientError>
  /** Returns the questions in a state. Keys that were seen before are skipped. */
  readonly asked: (seen: Seen) => ReadonlyArray<Need>
}

/** Checks that the answer to a request about a task is about that task. */
export const ofTask = (taskId: string, seen: Seen): Effect.Effect<Seen, ClientError> =>
  seen.state.id === taskId
    ? Effect.succeed(seen)
    : Effect.fail(
        invalid(
          `The server was asked for the task ${excerpt(taskId)} but returned ${excerpt(seen.state.id)}`,
          seen.wire
        )
      )

export const cancelled = ({ id, message = "The task was cancelled" }: TaskState): TaskCancelled =>
  new TaskCancelled({ task: id, message })

export const invalid = (message: string, result: unknown): InvalidResult =>
  new InvalidResult({ method: "tools/call", message, result })
