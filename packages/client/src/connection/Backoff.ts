/**
 * How often a client tries again, how long it waits between tries, and which errors it does not try again after.
 *
 * The first try is made at once. The waits double up to a limit; each is shortened at random by up to a half, so that clients that lost
 * the same server do not return at the same moment. Waits are counted here, not by a `Schedule`: a lasting success sets the count back.
 */
import { TransportError } from "@effect-mcp/core/Transport"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { Closed, Forbidden, Unauthorized, UnsupportedRevision } from "../ClientError.ts"
import * as statuses from "../transport/http/statuses.ts"
import * as Elapsed from "../internal/Elapsed.ts"

/** When a client tries again after a failure. */
export interface RetryPolicy {
  /** Tries in a row of one connection, request or subscription before it fails. Default 8. */
  readonly attempts?: number | undefined
  /** How often a request that is safe to repeat is sent again after the server may have seen it. Default 3. */
  readonly resends?: number | undefined
  /** The wait before the second try; each further one is twice as long. Default 200 milliseconds. */
  readonly delay?: Duration.Input | undefined
  /** The longest wait. Default 30 seconds. */
  readonly maxDelay?: Duration.Input | undefined
}

export const defaultAttempts = 8
export const defaultResends = 3

/** A connection or subscription that lasts this long (milliseconds) is a success: the waits start anew after it. */
const stable = 5000

/** The wait after so many failures in a row; there is none after the first. */
export const wait = (failures: number, policy: RetryPolicy): Effect.Effect<void> => {
  if (failures <= 1) return Effect.void
  const first = Duration.toMillis(policy.delay ?? "200 millis")
  const longest = Duration.toMillis(policy.maxDelay ?? "30 seconds")
  return Effect.flatMap(Random.next, (random) =>
    Effect.sleep(Math.min(longest, first * 2 ** (failures - 2)) * (1 - random / 2))
  )
}

const refuses = (status: number): boolean => status >= 400 && status < 500 && !statuses.isBusy(status)

/** Whether the next try would fail with the same error. */
export const isPermanent = (error: unknown): boolean =>
  error instanceof UnsupportedRevision ||
  error instanceof Unauthorized ||
  error instanceof Forbidden ||
  (error instanceof TransportError && error.reason === "Status" && refuses(error.status ?? 0)) ||
  (error instanceof Closed && error.cause !== undefined && isPermanent(error.cause))

/** The failures in a row of one connection or subscription. */
export class Backoff {
  private failures = 0
  private since: number | undefined
  private useful = false
  private readonly policy: RetryPolicy

  constructor(policy: RetryPolicy) {
    this.policy = policy
  }

  /** Sets the count of failures to 0. */
  reset(): void {
    this.failures = 0
  }

  /** Records that it was of use: its next end is not the last try, but the waits do not start anew. */
  succeeded(): void {
    this.useful = true
  }

  /** Records that it is established, as of now. */
  readonly started: Effect.Effect<void> = Effect.map(Elapsed.now, (now) => {
    this.since = now
  })

  /** Records that it failed or ended; `true` when there is no further try. */
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
