/**
 * How the call that runs deals with the task that it becomes.
 *
 * A reference and no option, since it passes through all that sends a call, to what follows the task: lists of tools, headers, retries.
 */
import type { ProgressParams } from "@effect-mcp/protocol/model/Progress"
import type { ToolExecution } from "@effect-mcp/protocol/model/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { CallOptions } from "../CallOptions.ts"
import { type ClientError, Closed } from "../ClientError.ts"
import type { TaskState } from "./TaskState.ts"

/** The task of the call, once the server has made it. */
export interface Created {
  readonly id: string
  readonly cancel: Effect.Effect<void, ClientError>
}

/** Makes an effect as interruptible as the caller is. */
export type RestoreInterruption = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

export interface TaskHandling {
  /** Whether the call asks for a task (2025-11-25). */
  readonly asks: boolean
  /** How long the task should be kept, in milliseconds. */
  readonly ttl?: number | undefined
  /** The progress of the call so far. */
  readonly progress?: (() => ProgressParams | undefined) | undefined
  /** Whether the caller wants a task where the tool leaves it open. */
  readonly prefers?: boolean | undefined
  /** Whether the task lives on when the call ends before it; otherwise it is cancelled. */
  readonly keeps?: (() => boolean) | undefined
  /** False: the task is left to the server as soon as it is known. Default: true. */
  readonly follows?: boolean | undefined
  /** Makes what follows the task interruptible, where the request was not. */
  readonly restore?: RestoreInterruption | undefined
  readonly created?: ((task: Created) => void) | undefined
  /** Called with each state, the first included. */
  readonly observed?: ((state: TaskState) => void) | undefined
}

export const CurrentTaskHandling = Context.Reference<TaskHandling>("@effect-mcp/client/CurrentTaskHandling", {
  defaultValue: () => ({ asks: false })
})

/** The error of a call whose task is left to the server. */
export const notFollowed = (): Closed => new Closed({ message: "The task is not followed any more" })

/** How long the interruption of a call waits until its task is known and cancelled. */
const patience = "5 seconds"

/**
 * Runs a call that asks for a task in a fiber of its own, in which the request is uninterruptible: no notification may cancel a task, and its
 * id is known by the answer alone (2025-11-25: cancellation). The fiber ends with the connection at the latest.
 */
const inBackground = <A, E>(call: (restore: RestoreInterruption) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.forkDetach(Effect.uninterruptibleMask(call), { startImmediately: true }), (fiber) =>
      Effect.onInterrupt(restore(Fiber.join(fiber)), () => Effect.timeoutOption(Fiber.interrupt(fiber), patience))
    )
  )

/**
 * Runs a call that asks for a task where it must be one, and where its caller wants one that may be (2025-11-25). `support`: what the tool
 * says, where the server lets its client ask.
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
