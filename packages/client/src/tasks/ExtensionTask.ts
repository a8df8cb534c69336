/** A task in the extension (since 2026-07-28). Each of its states carries its questions, its result or its error. */
import * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import { memoize } from "effect/Function"
import * as Stream from "effect/Stream"
import type { CallOptions } from "../CallOptions.ts"
import type { ClientError } from "../ClientError.ts"
import type { ResultExchange } from "../extension/ClientExtension.ts"
import { cancelled, type Generation, invalid, ofTask, type Seen } from "./Generation.ts"
import { type DetailedTask, stateOf, Tasks } from "./Wire.ts"

const seen = (task: DetailedTask): Seen => ({ state: stateOf(task), wire: task })

/** Maximum number of times to resend an update whose answer was lost. Servers ignore answers that they already have. */
const resends = 2

const outcome = ({ state, wire }: Seen): Effect.Effect<unknown, ClientError> => {
  const { error, result } = wire
  if (state.status === "cancelled") return Effect.fail(cancelled(state))
  if (state.status === "completed" && isJsonObject(result)) return Effect.succeed(result)
  if (state.status === "failed" && isJsonObject(error)) {
    const { code, data, message } = error
    return Effect.fail(
      new McpError.McpError({
        code: Number(code),
        message: String(message),
        ...(data === undefined ? undefined : { data })
      })
    )
  }
  return Effect.fail(invalid(`The server sent a ${state.status} task without a result or an error`, wire))
}

/**
 * Maximum number of open task subscriptions per client. Further tasks are polled. Each subscription uses a connection over
 * HTTP/1.1, and browsers allow six per server.
 */
const maxSubscriptions = 4
/** A client's open subscriptions. All of its calls have the same `listen`. */
const subscriptionsOf = memoize<ResultExchange["listen"], { open: number }>(() => ({ open: 0 }))

const changes = (taskId: string, { listen }: ResultExchange): Generation["news"] =>
  Stream.unwrap(
    Effect.gen(function* () {
      const subscriptions = subscriptionsOf(listen)
      if (subscriptions.open >= maxSubscriptions) return Stream.empty
      subscriptions.open++
      yield* Effect.addFinalizer(() => Effect.sync(() => subscriptions.open--))
      return listen(Tasks.subscriptions.taskIds, [taskId], Tasks.notifications.changed).pipe(
        Stream.filter((event) => event._tag === "Listening" || event.params.taskId === taskId),
        Stream.map((event) => (event._tag === "Listening" ? "Listening" : seen(event.params)))
      )
    })
  )

export const make = (taskId: string, exchange: ResultExchange, options: CallOptions): Generation => {
  const update = (inputResponses: JsonObject, tried = 0): Effect.Effect<object, ClientError> =>
    Effect.catchIf(
      exchange.request(Tasks.requests.update, { taskId, inputResponses }, options),
      ({ _tag }) => tried < resends && (_tag === "Closed" || _tag === "Timeout"),
      () => update(inputResponses, tried + 1)
    )
  return {
    get: Effect.flatMap(exchange.request(Tasks.requests.get, { taskId }, options), (task) =>
      ofTask(taskId, seen(task))
    ),
    cancel: Effect.as(exchange.request(Tasks.requests.cancel, { taskId }, options), undefined),
    news: changes(taskId, exchange),
    outcome,
    asked: ({ wire: { inputRequests } }) =>
      Object.entries(isJsonObject(inputRequests) ? inputRequests : {}).map(([key, question]) => ({
        key,
        answer: Effect.flatMap(exchange.answer({ [key]: question }), (answers) => Effect.as(update(answers), undefined))
      }))
  }
}
