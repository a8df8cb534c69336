/**
 * Resends requests that a busy server rejects with 429 or 503 and a `Retry-After` in seconds (RFC 9110). The server has not acted on them,
 * so they are resent after that time.
 *
 * The number and length of the delays are bounded, after which the rejection becomes the response. Dates are ignored, because clocks
 * differ. Uses recursion, because a `Schedule` would have to be created for every request.
 */
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Body from "./Body.ts"
import type { HttpResponse } from "./HttpSender.ts"

const statuses: ReadonlySet<number> = new Set([429, 503])

/** Maximum number of times to resend one request. */
const times = 3
/** Maximum accepted delay and minimum actual delay, in milliseconds. A request's delays together stay below its timeout. */
const longest = 10_000
const shortest = 500

const waitOf = (response: HttpResponse): number | undefined => {
  // Checked before the headers, which are created when they are read.
  if (!statuses.has(response.status)) return undefined
  const after = response.headers["retry-after"] ?? ""
  if (!/^\d+$/.test(after)) return undefined
  const millis = Number(after) * 1000
  return millis > longest ? undefined : Math.max(shortest, millis)
}

/** Repeats a request as long as the server asks for it. Waits up to a quarter longer at random, to spread clients out. */
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
