/**
 * Requests that a busy server refuses with 429 or 503 and a `Retry-After` in seconds (RFC 9110): it has not acted on them, so they are
 * sent again after that time.
 *
 * Bounded in waits and in their length; then the refusal is the response. Dates are ignored, since clocks differ. Written by recursion,
 * since a `Schedule` would be made for every request.
 */
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Body from "./Body.ts"
import type { HttpResponse } from "./HttpSender.ts"

const statuses: ReadonlySet<number> = new Set([429, 503])

/** How often one request is sent again. */
const times = 3
/** The longest wait that is accepted, and the shortest that is made, in milliseconds. All waits of a request stay below its timeout. */
const longest = 10_000
const shortest = 500

const waitOf = (response: HttpResponse): number | undefined => {
  // Before the headers, which are made when they are read.
  if (!statuses.has(response.status)) return undefined
  const after = response.headers["retry-after"] ?? ""
  if (!/^\d+$/.test(after)) return undefined
  const millis = Number(after) * 1000
  return millis > longest ? undefined : Math.max(shortest, millis)
}

/** Runs a request again as long as the server says when. Waits up to a quarter longer, at random, to spread the clients. */
export const retry = <E, R>(
  answer: Effect.Effect<HttpResponse, E, R>,
  left = times
): Effect.Effect<HttpResponse, E, R> =>
  Effect.flatMap(answer, (response) => {
    const wait = left === 0 ? undefined : waitOf(response)
    if (wait === undefined) return Effect.succeed(response)
    const slept = Effect.flatMap(Random.next, (random) => Effect.sleep(wait * (1 + random / 4)))
    return Effect.andThen(Effect.andThen(Body.skip(response), slept), retry(answer, left - 1))
  })
