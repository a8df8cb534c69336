/** What differs between the two generations of tasks, for what follows one task. */
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import { type ClientError, InvalidResult, TaskCancelled } from "../ClientError.ts"
import type { TaskState } from "./TaskState.ts"

/** A state of the task with what it came with. */
export interface Seen {
  readonly state: TaskState
  readonly wire: JsonObject
}

/** What a state asks the client for; its effect gives the result of the call where that has come meanwhile. */
interface Need {
  readonly key: string
  readonly answer: Effect.Effect<{ readonly final: unknown } | undefined, ClientError>
}

export interface Generation {
  readonly get: Effect.Effect<Seen, ClientError>
  /** Gives the state where the server answers by it. */
  readonly cancel: Effect.Effect<Seen | undefined, ClientError>
  /** States that the server announces. The first element may be `Listening`: from then on each change is announced. */
  readonly news: Stream.Stream<Seen | "Listening", ClientError>
  /** The end of the call, of a state that is terminal. */
  readonly outcome: (seen: Seen) => Effect.Effect<unknown, ClientError>
  /** What a state asks for; a key that was met before is left alone. */
  readonly asked: (seen: Seen) => ReadonlyArray<Need>
}

/** The answer to a request about a task, which must be that task. */
export const ofTask = (taskId: string, seen: Seen): Effect.Effect<Seen, ClientError> =>
  seen.state.id === taskId
    ? Effect.succeed(seen)
    : Effect.fail(
        invalid(`The server was asked for the task ${excerpt(taskId)} and gave ${excerpt(seen.state.id)}`, seen.wire)
      )

export const cancelled = ({ id, message = "The task was cancelled" }: TaskState): TaskCancelled =>
  new TaskCancelled({ task: id, message })

export const invalid = (message: string, result: unknown): InvalidResult =>
  new InvalidResult({ method: "tools/call", message, result })
