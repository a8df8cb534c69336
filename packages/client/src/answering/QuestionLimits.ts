/**
 * Limits how often a server may ask the user and the user's model (spec: client/elicitation and client/sampling, security considerations).
 *
 * The defaults only stop servers that are stuck in a loop. A question that exceeds a limit is answered with error -31429, whose
 * `data.retryAfterMs` says how long to wait. The limits are read when the client is built.
 *
 * @example
 * ```ts
 * import { McpClient, QuestionLimits } from "@effect-mcp/client"
 * import { NodeServices } from "@effect/platform-node"
 * import { Layer } from "effect"
 *
 * const careful = QuestionLimits.layer({ elicitation: { requests: 3, per: "1 minute" }, toolIterations: 10 })
 *
 * export const client = McpClient.layerStdio({ command: "my-server" }).pipe(
 *   Layer.provide(Layer.merge(careful, NodeServices.layer))
 * )
 * ```
 */
import * as McpError from "@effect-mcp/protocol/McpError"
import type { SamplingMessage } from "@effect-mcp/protocol/model/Sampling"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** A number of requests in a span of time. They may arrive in one burst. */
export interface Rate {
  readonly requests: number
  readonly per: Duration.Input
}

export interface Options {
  /** How often the server may ask the user's model, or `false` for no limit. Default 1000 times in 10 seconds. */
  readonly sampling?: Rate | false | undefined
  /** How often the server may ask the user, or `false` for no limit. Default 1000 times in 10 seconds. */
  readonly elicitation?: Rate | false | undefined
  /** How many times the model may use tools in one conversation. Default 100. */
  readonly toolIterations?: number | undefined
}

/** The limits. Missing options use their defaults. */
export const QuestionLimits = Context.Reference<Options>("@effect-mcp/client/QuestionLimits", {
  defaultValue: () => ({})
})

/** Provides limits. */
export const layer = (options: Options): Layer.Layer<never> => Layer.succeed(QuestionLimits, options)

/** Tolerance for rounding errors, in milliseconds. */
const rounding = 0.001

const usual: Rate = { requests: 1000, per: "10 seconds" }

/** Creates the check for one kind of question. It fails if a question exceeds the limit. */
const limiter = (
  question: string,
  limit: "elicitation" | "sampling",
  rate: Rate | false = usual
): Effect.Effect<void, McpError.McpError> => {
  if (rate === false) return Effect.void
  const { requests } = rate
  const millis = Duration.toMillis(Duration.fromInputUnsafe(rate.per))
  const interval = millis / requests
  /** When the last request would have arrived if all of them had been evenly spaced. A burst may run ahead of that by at most `millis`. */
  let due = -Infinity
  return Effect.flatMap(Clock.Clock, (clock) => {
    const now = Number(clock.monotonicTimeNanosUnsafe()) / 1e6
    const next = Math.max(due, now) + interval
    // Rounding must not reject the last request of a burst.
    const retryAfterMs = Math.ceil(next - now - millis - rounding)
    if (retryAfterMs <= 0) {
      due = next
      return Effect.void
    }
    return Effect.fail(
      McpError.limitExceeded(
        `Too many requests: the server may send ${requests} ${question} requests every ${millis / 1000} seconds. Try again in ${retryAfterMs} ms`,
        { limit, allowed: requests, retryAfterMs }
      )
    )
  })
}

/** Returns the number of messages in which the model used tools. */
const iterationsOf = (messages: ReadonlyArray<SamplingMessage>): number =>
  messages.filter(({ content }) => [content].flat().some(({ type }) => type === "tool_use")).length

/** The checks of one client. */
export interface Checks {
  readonly elicitation: Effect.Effect<void, McpError.McpError>
  readonly sampling: (messages: ReadonlyArray<SamplingMessage>) => Effect.Effect<void, McpError.McpError>
}

/** Creates the checks for one client, which start counting now. */
export const make = ({ elicitation, sampling, toolIterations = 100 }: Options): Checks => {
  const asksModel = limiter("sampling/createMessage", "sampling", sampling)
  return {
    elicitation: limiter("elicitation/create", "elicitation", elicitation),
    sampling: (messages) =>
      Effect.suspend(() => {
        const given = iterationsOf(messages)
        return given > toolIterations
          ? Effect.fail(
              McpError.limitExceeded(
                `Too many tool iterations in one conversation: ${given}, limit ${toolIterations}`,
                { limit: "toolIterations", given, allowed: toolIterations }
              )
            )
          : asksModel
      })
  }
}
