/**
 * Servers that are too busy for a request (429 or 503) and say when to come back (RFC 9110, `Retry-After`): they have not acted on it, so
 * it is sent again then.
 *
 * Refuses to wait long, or often: after that the refusal is the answer. Dates are no times to come back at, since clocks differ.
 */
import * as Effect from "effect/Effect"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as Random from "effect/Random"
import * as Body from "./Body.ts"

const statuses: ReadonlySet<number> = new Set([429, 503])

/** How often one request is sent again. */
const times = 3
/** The longest wait that is accepted, and the shortest that is made, in milliseconds: all of them together less than a request waits by default. */
const longest = 10_000
const shortest = 500

const waitOf = (response: HttpClientResponse): number | undefined => {
  // First, since headers are put together when they are asked for.
  if (!statuses.has(response.status)) return undefined
  const after = response.headers["retry-after"] ?? ""
  if (!/^\d+$/.test(after)) return undefined
  const millis = Number(after) * 1000
  return millis > longest ? undefined : Math.max(shortest, millis)
}

/** Runs a request again for as long as it is told when to. Those who are told the same come back up to a quarter later than said. */
export const retry = <E, R>(
  answer: Effect.Effect<HttpClientResponse, E, R>,
  left = times
): Effect.Effect<HttpClientResponse, E, R> =>
  Effect.flatMap(answer, (response) => {
    const wait = left === 0 ? undefined : waitOf(response)
    if (wait === undefined) return Effect.succeed(response)
    const slept = Effect.flatMap(Random.next, (random) => Effect.sleep(wait * (1 + random / 4)))
    return Effect.andThen(Effect.andThen(Body.skip(response), slept), retry(answer, left - 1))
  })
