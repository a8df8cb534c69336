/**
 * How a client comes back to what has ended: how often it tries, how long it waits in between, and what it does not try again.
 *
 * The first try is made at once; the waits double from then on, up to a limit, and each is shortened at random by up to a half, so that
 * clients that lost the same server do not come back at the same moment.
 */
import { TransportError } from "@effect-mcp/core/Transport"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { Closed, Forbidden, Unauthorized, UnsupportedRevision } from "../ClientError.ts"
import * as Answer from "../transport/http/Answer.ts"
import * as Elapsed from "../internal/Elapsed.ts"

/** When to try again, and when to give up. */
export interface Policy {
  /** Tries in a row, of whatever is tried, before it is given up. Default 8. */
  readonly attempts?: number | undefined
  /** How often one request is sent again that the server may have seen already, where that is safe. Default 3. */
  readonly resends?: number | undefined
  /** The wait before the second try; each further one is twice as long. Default 200 milliseconds. */
  readonly delay?: Duration.Input | undefined
  /** The longest wait. Default 30 seconds. */
  readonly maxDelay?: Duration.Input | undefined
}

export const defaultAttempts = 8
export const defaultResends = 3

/** What stood for this long (milliseconds) counts as a success: after it the waits start anew. */
const stable = 5000

/** The wait after so many failures in a row; there is none after the first. */
export const wait = (failures: number, policy: Policy): Effect.Effect<void> => {
  if (failures <= 1) return Effect.void
  const first = Duration.toMillis(policy.delay ?? "200 millis")
  const longest = Duration.toMillis(policy.maxDelay ?? "30 seconds")
  return Effect.flatMap(Random.next, (random) =>
    Effect.sleep(Math.min(longest, first * 2 ** (failures - 2)) * (1 - random / 2))
  )
}

const refuses = (status: number): boolean => status >= 400 && status < 500 && !Answer.isBusy(status)

/** A refusal that the next try would get, too. */
export const isPermanent = (error: unknown): boolean =>
  error instanceof UnsupportedRevision ||
  error instanceof Unauthorized ||
  error instanceof Forbidden ||
  (error instanceof TransportError && error.reason === "Status" && refuses(error.status ?? 0)) ||
  (error instanceof Closed && error.cause !== undefined && isPermanent(error.cause))

/** The failures in a row of one thing that is kept up. */
export class Backoff {
  private failures = 0
  private since: number | undefined
  private useful = false
  private readonly policy: Policy

  constructor(policy: Policy) {
    this.policy = policy
  }

  /** Begins anew: the failures so far do not count. */
  reset(): void {
    this.failures = 0
  }

  /** It does what it is for: it is not given up at its next end, but waited for as long as one that does nothing. */
  succeeded(): void {
    this.useful = true
  }

  /** It stands from now on; whether that is a success will be seen. */
  readonly started: Effect.Effect<void> = Effect.map(Elapsed.now, (now) => {
    this.since = now
  })

  /** It failed, or does not stand any more: `true` when that was once too often. */
  readonly failed: Effect.Effect<boolean> = Effect.map(Elapsed.now, (now) => {
    const attempts = this.policy.attempts ?? defaultAttempts
    if (this.since !== undefined && now - this.since >= stable) this.failures = 0
    else if (this.useful) this.failures = Math.min(this.failures, Math.max(0, attempts - 1))
    this.since = undefined
    this.useful = false
    return ++this.failures > attempts
  })

  /** Waits until the next try. */
  readonly wait: Effect.Effect<void> = Effect.suspend(() => wait(this.failures, this.policy))
}
