/**
 * A question that the client runs as a task (spec 2025-11-25: basic/utilities/tasks). It is polled until the task ends, and then the result
 * is fetched. Loaded when the first such question is asked.
 *
 * A question's timeout applies to each request, not to the time the user takes. Interruption cancels the task.
 */
import type { ClientCapabilities } from "@effect-mcp/protocol/Capabilities"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { Peer, RequestError, RequestOptions } from "../peer/Peer.ts"

/** A question and the client that runs it. */
interface TaskQuestion {
  readonly peer: Peer
  readonly method: string
  readonly params: JsonRpc.Params | undefined
  readonly task: { readonly ttl?: Duration.Input | undefined }
  readonly options: RequestOptions
  readonly capabilities: ClientCapabilities
}

/** Minimum, maximum and default polling interval, in milliseconds. */
const shortest = 100
const longest = 3_600_000
const usual = 1000
/** How long an interrupted question waits for the client to confirm that its task is cancelled, in milliseconds. */
const cancelTimeout = 5000

interface Task {
  readonly id: string
  readonly status: string
  readonly message: string | undefined
  readonly pollInterval: number
}

/** Returns the task in a response, or `undefined` if it is malformed. */
const taskOf = (wire: unknown): Task | undefined => {
  if (!isJsonObject(wire)) return undefined
  const { pollInterval: interval, status, statusMessage: message, taskId: id } = wire
  if (typeof id !== "string" || typeof status !== "string") return undefined
  const wanted = typeof interval === "number" && interval >= 0 ? interval : usual
  const pollInterval = Math.min(longest, Math.max(shortest, wanted))
  return { id, status, message: typeof message === "string" ? message : undefined, pollInterval }
}

const isCreated = (result: unknown): result is JsonObject => isJsonObject(result) && isJsonObject(result["task"])

const malformed = (method: string): McpError.McpError =>
  McpError.internalError(`The client did not respond to ${method} with a task`)

type Restore = <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>

/**
 * Runs a request and its follow-up in a separate fiber. The request is uninterruptible, because a task must not be cancelled with a
 * cancellation notification, and only the response contains the task ID (2025-11-25: cancellation). The fiber ends when the request times
 * out, at the latest.
 */
const inBackground = <A, E>(asking: (restore: Restore) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.forkDetach(Effect.uninterruptibleMask(asking), { startImmediately: true }), (fiber) =>
      Effect.onInterrupt(restore(Fiber.join(fiber)), () => Effect.timeoutOption(Fiber.interrupt(fiber), cancelTimeout))
    )
  )

const follow = (
  first: Task,
  { capabilities, options: { relatedTo, timeout }, peer }: TaskQuestion,
  restore: Restore
): Effect.Effect<unknown, RequestError> => {
  const taskId = first.id
  const get = Effect.flatMap(peer.request("tasks/get", { taskId }, { relatedTo, timeout }), (wire) => {
    const task = taskOf(wire)
    return task === undefined ? Effect.fail(malformed("tasks/get")) : Effect.succeed(task)
  })
  let isOver = false
  const ended = (task: Task): Effect.Effect<unknown, RequestError> => {
    isOver = ["completed", "failed", "cancelled"].includes(task.status)
    if (!isOver) return Effect.flatMap(Effect.andThen(Effect.sleep(task.pollInterval), get), ended)
    return task.status === "cancelled"
      ? Effect.fail(McpError.interrupted(task.message ?? "The client cancelled the question's task"))
      : peer.request("tasks/result", { taskId }, { relatedTo, timeout })
  }
  const cancel = Effect.ignore(peer.request("tasks/cancel", { taskId }, { relatedTo, timeout: cancelTimeout }))
  return Effect.onExit(restore(ended(first)), () =>
    isOver || capabilities.tasks?.cancel === undefined ? Effect.void : cancel
  )
}

/** Asks the question. If the client responds with a result instead of a task, that result is used. */
export const ask = (question: TaskQuestion): Effect.Effect<unknown, RequestError> =>
  Effect.suspend(() => {
    const { method, options, params, peer, task } = question
    const ttl = task.ttl === undefined ? {} : { ttl: Duration.toMillis(Duration.fromInputUnsafe(task.ttl)) }
    let progressEnds: (() => void) | undefined
    const outlives = (result: unknown, end: () => void): boolean => {
      progressEnds = end
      return isCreated(result)
    }
    const asking = (restore: Restore): Effect.Effect<unknown, RequestError> =>
      Effect.flatMap(
        peer.request(method, { ...params, task: ttl }, { ...options, outlives }),
        (result): Effect.Effect<unknown, RequestError> => {
          if (!isCreated(result)) return Effect.succeed(result)
          const created = taskOf(result["task"])
          return created === undefined ? Effect.fail(malformed(method)) : follow(created, question, restore)
        }
      )
    return Effect.ensuring(
      inBackground(asking),
      Effect.sync(() => progressEnds?.())
    )
  })
