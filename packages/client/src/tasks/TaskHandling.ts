/**
 * Options for the task that the running call may become.
 *
 * A reference instead of an option, because it has to pass through everything that sends a call: tool lists, headers, retries.
 */
import type { ProgressParams } from "@effect-mcp/protocol/model/Progress"
import type { ToolExecution } from "@effect-mcp/protocol/model/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { CallOptions } from "../CallOptions.ts"
import { type ClientError, Closed } from "../ClientError.ts"
import type { TaskState } from "./TaskState.ts"

/** The call's task, once the server has created it. */
export interface Created {
  readonly id: string
  readonly cancel: Effect.Effect<void, ClientError>
}

/** Makes an effect as interruptible as the caller. */
export type RestoreInterruption = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

export interface TaskHandling {
  /** True if the call asks for a task (2025-11-25). */
  readonly asks: boolean
  /** How long to keep the task, in milliseconds. */
  readonly ttl?: number | undefined
  /** Returns the call's progress so far. */
  readonly progress?: (() => ProgressParams | undefined) | undefined
  /** Whether to ask for a task if the tool allows both. */
  readonly prefers?: boolean | undefined
  /** Returns true if the task should outlive its call. Otherwise it is cancelled when the call ends. */
  readonly keeps?: (() => boolean) | undefined
  /** Whether to follow the task. If false, it is left to the server once it is known. Default: true. */
  readonly follows?: boolean | undefined
  /** Makes following the task interruptible, because the request was not. */
  readonly restore?: RestoreInterruption | undefined
  readonly created?: ((task: Created) => void) | undefined
  /** Called with each state, including the first. */
  readonly observed?: ((state: TaskState) => void) | undefined
}

export const CurrentTaskHandling = Context.Reference<TaskHandling>("@effect-mcp/client/CurrentTaskHandling", {
  defaultValue: () => ({ asks: false })
})

/** Error for a call whose task is left to the server. */
export const notFollowed = (): Closed => new Closed({ message: "The task is no longer followed" })

/** How long interrupting a call waits until its task is known and cancelled. */
const patience = "5 seconds"

/**
 * Runs a call that asks for a task in a separate fiber, with the request uninterruptible: a cancelled notification must not be used for a
 * task, and only the answer contains its id (2025-11-25: cancellation). The fiber ends with the connection at the latest.
 */
const inBackground = <A, E>(call: (restore: RestoreInterruption) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.forkDetach(Effect.uninterruptibleMask(call), { startImmediately: true }), (fiber) =>
      Effect.onInterrupt(restore(Fiber.join(fiber)), () => Effect.timeoutOption(Fiber.interrupt(fiber), patience))
    )
  )

/**
 * Asks for a task if the tool requires one, or if it is optional and the caller wants one (2025-11-25). `support` is the tool's
 * declaration, if the server lets its client ask.
 */
export const attend = <A, E>(
  options: CallOptions | undefined,
  support: ToolExecution["taskSupport"],
  call: (options: CallOptions | undefined) => Effect.Effect<A, E>
): Effect.Effect<A, E> => {
  const { onProgress } = options ?? {}
  if (onProgress === undefined && support === undefined) return call(options)
  let last: ProgressParams | undefined
  const watching = onProgress && {
    ...options,
    onProgress: (event: ProgressParams) => {
      last = event
      return onProgress(event)
    }
  }
  return Effect.flatMap(CurrentTaskHandling, (handling) => {
    const asks = support === "required" || (support === "optional" && handling.prefers === true)
    const attended = (restore?: RestoreInterruption) =>
      Effect.provideService(call(watching ?? options), CurrentTaskHandling, {
        ...handling,
        asks,
        restore,
        progress: () => last
      })
    return asks ? inBackground(attended) : attended()
  })
}
