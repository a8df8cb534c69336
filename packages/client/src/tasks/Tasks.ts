/** Tasks that a server creates for calls, for the client that made the call and for clients that know the id. */
import * as Headers from "@effect-mcp/protocol/Headers"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { CallOptions } from "../CallOptions.ts"
import { CapabilityMissing, type ClientError } from "../ClientError.ts"
import type { ResultExchange, ResultHandler } from "../extension/ClientExtension.ts"
import { CurrentTaskHandling, type RestoreInterruption } from "./TaskHandling.ts"
import * as CoreTask from "./CoreTask.ts"
import * as ExtensionTask from "./ExtensionTask.ts"
import { follow } from "./Following.ts"
import { type Generation, invalid, type Seen } from "./Generation.ts"
import { isTerminal, type TaskState } from "./TaskState.ts"
import * as Wire from "./Wire.ts"

/** Returns the call's options that also apply to further requests, without its progress and the headers of its arguments. */
const optionsOf = ({ headers = {}, meta, reconnectTimeout, timeout }: CallOptions): CallOptions => ({
  timeout,
  reconnectTimeout,
  meta,
  headers: Object.fromEntries(
    Object.entries(headers).filter(([name]) => !name.toLowerCase().startsWith(Headers.paramPrefix))
  )
})

const generationOf = (id: string, exchange: ResultExchange): Effect.Effect<Generation> => {
  const options = optionsOf(exchange.options)
  return exchange.revision.era === "stateless"
    ? Effect.succeed(ExtensionTask.make(id, exchange, options))
    : CoreTask.make(id, exchange, options)
}

/** Decodes the new task. Its details are read by `get`. */
const seed = (schema: Schema.Codec<Wire.DetailedTask | Wire.CoreTask, unknown>, wire: unknown, result: JsonObject) =>
  Effect.mapError(Schema.decodeUnknownEffect(schema)(wire), (error) =>
    invalid(`The server sent an invalid task: ${error.message}`, result)
  )

/** Follows a task as a handler of results. It is called uninterruptibly. */
export type Follow = (
  ...given: [...Parameters<ResultHandler["follow"]>, restore: RestoreInterruption]
) => ReturnType<ResultHandler["follow"]>

/** The extension (since 2026-07-28): the server decides which calls become tasks. */
export const followExtension: Follow = (result, exchange, restore) =>
  Effect.gen(function* () {
    if (exchange.method !== "tools/call") {
      return yield* invalid(`${exchange.method} cannot return a task`, result)
    }
    const { resultType: _type, _meta, ...wire } = result
    const state = Wire.stateOf(yield* seed(Wire.DetailedTask, wire, result))
    const generation = yield* generationOf(state.id, exchange)
    const first: Seen = isTerminal(state) ? yield* restore(generation.get) : { state, wire }
    return yield* follow(first, generation, exchange, restore)
  })

/** 2025-11-25: the client asks for the task. */
export const followCore: Follow = (result, exchange, restore) =>
  Effect.gen(function* () {
    const { asks } = yield* CurrentTaskHandling
    if (!asks) return yield* invalid("The server created a task for a call that did not request one", result)
    const wire = yield* seed(Wire.CoreTask, result["task"], result)
    const state = Wire.stateOf(wire)
    return yield* follow({ state, wire }, yield* generationOf(state.id, exchange), exchange, restore)
  })

/** Reads a page of the caller's tasks (2025-11-25). */
export const list =
  (exchange: ResultExchange) =>
  (
    cursor: string | undefined
  ): Effect.Effect<{ readonly tasks: ReadonlyArray<TaskState>; readonly nextCursor?: string }, ClientError> =>
    Effect.flatMap(exchange.serverSettings(Wire.CoreTasks), (declared) =>
      Option.getOrUndefined(declared)?.list === undefined
        ? Effect.fail(
            new CapabilityMissing({ capability: "tasks.list", message: "The server does not support tasks.list" })
          )
        : Effect.map(
            exchange.request(Wire.CoreTasks.requests.list, cursor === undefined ? {} : { cursor }),
            ({ tasks, ...rest }) => ({ ...rest, tasks: tasks.map(Wire.stateOf) })
          )
    )

/** Follows a task that another call, connection or program created. `exchange` belongs to `tools/call`. */
export const resume = (id: string, exchange: ResultExchange): Effect.Effect<unknown, ClientError> =>
  Effect.gen(function* () {
    const generation = yield* generationOf(id, exchange)
    return yield* follow(yield* generation.get, generation, exchange, (effect) => effect)
  })
