/** The tasks that a server makes of calls, for the client that made the call and for one that knows the id. */
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

/** The options of the call that further requests have, too: not its progress, nor the headers of its arguments. */
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

/** The new task. What it comes with is read by `get`. */
const seed = (schema: Schema.Codec<Wire.DetailedTask | Wire.CoreTask, unknown>, wire: unknown, result: JsonObject) =>
  Effect.mapError(Schema.decodeUnknownEffect(schema)(wire), (error) =>
    invalid(`The task is malformed: ${error.message}`, result)
  )

/** As a handler of results; it is called uninterruptibly. */
export type Follow = (
  ...given: [...Parameters<ResultHandler["follow"]>, restore: RestoreInterruption]
) => ReturnType<ResultHandler["follow"]>

/** The extension (2026-07-28 on): the server decides which call becomes a task. */
export const followExtension: Follow = (result, exchange, restore) =>
  Effect.gen(function* () {
    if (exchange.method !== "tools/call") {
      return yield* invalid(`${exchange.method} cannot be answered by a task`, result)
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
    if (!asks) return yield* invalid("The server made a task of a call that asked for none", result)
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
            new CapabilityMissing({ capability: "tasks.list", message: "The server did not declare tasks.list" })
          )
        : Effect.map(
            exchange.request(Wire.CoreTasks.requests.list, cursor === undefined ? {} : { cursor }),
            ({ tasks, ...rest }) => ({ ...rest, tasks: tasks.map(Wire.stateOf) })
          )
    )

/** Follows a task that another call, connection or program has made; `exchange` is one of `tools/call`. */
export const resume = (id: string, exchange: ResultExchange): Effect.Effect<unknown, ClientError> =>
  Effect.gen(function* () {
    const generation = yield* generationOf(id, exchange)
    return yield* follow(yield* generation.get, generation, exchange, (effect) => effect)
  })
