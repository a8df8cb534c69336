/**
 * Suggestions for an argument while a user types (spec: server/utilities/completion).
 *
 * Waits until the user pauses, cancels requests for outdated values, and caches recent answers.
 *
 * @example
 * ```ts
 * import { McpClient, Suggestions } from "@effect-mcp/client"
 * import { Console, Effect, Stream } from "effect"
 *
 * export const show = (typed: Stream.Stream<string>) =>
 *   Effect.flatMap(McpClient.McpClient, (client) =>
 *     Suggestions.follow(client, { ref: { type: "ref/prompt", name: "translate" }, argument: "language" }, typed).pipe(
 *       Stream.runForEach(({ values }) => Console.log(values.join(", ")))
 *     )
 *   )
 * ```
 */
import { BoundedMap } from "@effect-mcp/core/internal/inFlight"
import type { CompleteParams, CompleteResult, Reference } from "@effect-mcp/protocol/model/Completion"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

/** The argument to complete. */
export interface SuggestedArgument {
  /** The prompt or the resource template. */
  readonly ref: Reference
  readonly argument: string
  /** Arguments that already have values. */
  readonly others?: { readonly [argument: string]: string } | undefined
}

export interface Options {
  /** How long the user must pause before the server is asked. Cached answers are shown at once. Default 150 milliseconds. */
  readonly debounce?: Duration.Input | undefined
  /** How long to cache an answer. Default 30 seconds. */
  readonly timeToLive?: Duration.Input | undefined
  /** Number of answers to cache. Default 100. */
  readonly capacity?: number | undefined
}

/** Suggested values, most relevant first. */
export type Suggested = CompleteResult["completion"]

const nothing: Suggested = { values: [] }

/**
 * Emits the suggestions for the latest value that the user typed. If a request fails, nothing is suggested until the next value, and the
 * failure is logged at debug level.
 */
export const follow = <E, R>(
  client: { readonly complete: (params: CompleteParams) => Effect.Effect<Suggested, { readonly message: string }> },
  { argument, others, ref }: SuggestedArgument,
  typed: Stream.Stream<string, E, R>,
  options: Options = {}
): Stream.Stream<Suggested, E, R> =>
  Stream.suspend(() => {
    const { capacity = 100, debounce = "150 millis", timeToLive = "30 seconds" } = options
    const millis = Duration.toMillis(Duration.fromInputUnsafe(timeToLive))
    const known = new BoundedMap<string, { readonly suggested: Suggested; readonly until: number }>(capacity)
    const ask = (value: string): Effect.Effect<Suggested> =>
      client
        .complete({
          ref,
          argument: { name: argument, value },
          ...(others === undefined ? undefined : { context: { arguments: others } })
        })
        .pipe(
          Effect.tap((suggested) =>
            Effect.map(Clock.currentTimeMillis, (now) => known.set(value, { suggested, until: now + millis }))
          ),
          Effect.catch((error) =>
            Effect.as(Effect.logDebug(`Failed to get suggestions for ${argument}: ${error.message}`), nothing)
          )
        )
    const suggest = (value: string): Effect.Effect<Suggested> =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const entry = known.get(value)
        return entry !== undefined && now < entry.until
          ? Effect.succeed(entry.suggested)
          : Effect.andThen(Effect.sleep(debounce), ask(value))
      })
    return Stream.switchMap(typed, (value) => Stream.fromEffect(suggest(value)))
  })
