/**
 * Decides how often a client retries, how long it waits between attempts, and which errors are permanent.
 *
 * The first retry is immediate. After that, the delay doubles up to a limit. Each delay is randomly shortened by up to half, so that a
 * restarted server's clients don't all reconnect at once. This isn't a `Schedule` because a lasting success resets the failure count.
 */
import { TransportError } from "@effect-mcp/core/Transport"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { Closed, Forbidden, Unauthorized, UnsupportedRevision } from "../ClientError.ts"
import * as statuses from "../transport/http/statuses.ts"
import * as Elapsed from "../internal/Elapsed.ts"

/** When to retry after a failure. */
export interface RetryPolicy {
  /** Maximum number of consecutive attempts before a connection, request or subscription fails. Default 8. */
  readonly attempts?: number | undefined
  /** Maximum number of times to resend a request that is safe to repeat, if the server may already have seen it. Default 3. */
  readonly resends?: number | undefined
  /** Delay before the second retry. Each further delay is twice as long. Default 200 milliseconds. */
  readonly delay?: Duration.Input | undefined
  /** Maximum delay. Default 30 seconds. */
  readonly maxDelay?: Duration.Input | undefined
}

export const defaultAttempts = 8
export const defaultResends = 3

/** Milliseconds after which a connection or subscription counts as a lasting success, which resets the delays. */
const stable = 5000

/** Returns the delay after this many failures in a row. There is no delay after the first failure. */
export const wait = (failures: number, policy: RetryPolicy): Effect.Effect<void> => {
  if (failures <= 1) return Effect.void
  const first = Duration.toMillis(policy.delay ?? "200 millis")
  const longest = Duration.toMillis(policy.maxDelay ?? "30 seconds")
  return Effect.flatMap(Random.next, (random) =>
    Effect.sleep(Math.min(longest, first * 2 ** (failures - 2)) * (1 - random / 2))
  )
}

const refuses = (status: number): boolean => status >= 400 && status < 500 && !statuses.isBusy(status)

/** True if a retry would fail with the same error. */
export const isPermanent = (error: unknown): boolean =>
  error instanceof UnsupportedRevision ||
  error instanceof Unauthorized ||
  error instanceof Forbidden ||
  (error instanceof TransportError && error.reason === "Status" && refuses(error.status ?? 0)) ||
  (error instanceof Closed && error.cause !== undefined && isPermanent(error.cause))

/** Counts consecutive failures of one connection or subscription. */
export class Backoff {
  private failures = 0
  private since: number | undefined
  private useful = false
  private readonly policy: RetryPolicy

  constructor(policy: RetryPolicy) {
    this.policy = policy
  }

  /** Resets the failure count. */
  reset(): void {
    this.failures = 0
  }

  /** Records that it was useful, so that its next end does not count as the last attempt. The delays continue to grow. */
  succeeded(): void {
    this.useful = true
  }

  /** Records that it is now established. */
  readonly started: Effect.Effect<void> = Effect.map(Elapsed.now, (now) => {
    this.since = now
  })

  /** Records that it failed or ended. Returns `true` if there is no further attempt. */
  readonly failed: Effect.Effect<boolean> = Effect.map(Elapsed.now, (now) => {
    const attempts = this.policy.attempts ?? defaultAttempts
    if (this.since !== undefined && now - this.since >= stable) this.failures = 0
    else if (this.useful) this.failures = Math.min(this.failures, Math.max(0, attempts - 1))
    this.since = undefined
    this.useful = false
    return ++this.failures > attempts
  })

  /** Waits until the next attempt. */
  readonly wait: Effect.Effect<void> = Effect.suspend(() => wait(this.failures, this.policy))
}
