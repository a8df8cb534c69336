/** A task in 2025-11-25. A separate request fetches the result, and also delivers the questions. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { CallOptions } from "../CallOptions.ts"
import { CapabilityMissing, type ClientError } from "../ClientError.ts"
import type { ResultExchange } from "../extension/ClientExtension.ts"
import { cancelled, type Generation, ofTask, type Seen } from "./Generation.ts"
import { type CoreTask, CoreTasks, stateOf } from "./Wire.ts"

const seen = (task: CoreTask): Seen => ({ state: stateOf(task), wire: task })

const patient = { timeout: Duration.infinity, maxTotal: Duration.infinity }
/**
 * How long the request that waits for the result may take once the task is known to have ended. Then another request fetches the result.
 */
const grace = "10 seconds"

/** Key of a task's only need, which is that the client fetches the result. The questions arrive on the result's stream. */
const key = "tasks/result"

export const make = (taskId: string, exchange: ResultExchange, options: CallOptions): Effect.Effect<Generation> => {
  const own = (task: CoreTask) => ofTask(taskId, seen(task))
  const get = Effect.flatMap(exchange.request(CoreTasks.requests.get, { taskId }, options), own)
  const fetched = (bounds: CallOptions) =>
    Effect.catchTag(
      exchange.raw.request(
        "tasks/result",
        { taskId },
        // The task's questions arrive on this stream, so it represents the call in programs that forward calls.
        { ...options, ...bounds, readOnly: true, onSend: exchange.options.onSend }
      ),
      "McpError",
      // The specification defines no result for a cancelled task, so the status explains the error.
      (error) =>
        Effect.matchEffect(get, {
          onFailure: (): Effect.Effect<never, ClientError> => Effect.fail(error),
          onSuccess: ({ state }) => Effect.fail(state.status === "cancelled" ? cancelled(state) : error)
        })
    )
  let waits = false
  const waited = Effect.suspend(() => {
    waits = true
    return fetched(patient)
  })
  // A request's timeout limits the wait for the result, not the wait for the task.
  const ofEnded = (result: typeof waited) =>
    Effect.suspend(() =>
      waits ? Effect.timeoutOrElse(result, { duration: grace, orElse: () => fetched({}) }) : fetched({})
    )
  return Effect.map(Effect.cached(waited), (result) => ({
    get,
    cancel: Effect.flatMap(exchange.serverSettings(CoreTasks), (declared) =>
      Option.getOrUndefined(declared)?.cancel === undefined
        ? Effect.fail(
            new CapabilityMissing({ capability: "tasks.cancel", message: "The server does not support tasks.cancel" })
          )
        : Effect.flatMap(exchange.request(CoreTasks.requests.cancel, { taskId }, options), own)
    ),
    news: exchange.notifications(CoreTasks.notifications.changed).pipe(
      Stream.filter((task) => task.taskId === taskId),
      Stream.map(seen)
    ),
    outcome: ({ state }) => (state.status === "cancelled" ? Effect.fail(cancelled(state)) : ofEnded(result)),
    asked: ({ state }) =>
      state.status === "input_required" ? [{ key, answer: Effect.map(result, (final) => ({ final })) }] : []
  }))
}
