/**
 * Logs once when part of a database stops responding, and once when it responds again, no matter how many requests are affected. If some
 * operations fail and others succeed, that counts as a single outage.
 */
import type { NodesUnavailable } from "@effect-mcp/server/Nodes"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

/** How long there must be no failure before an outage counts as over, in milliseconds. */
const calm = 5000

export class Outage {
  private readonly what: string
  /** Number of failures since it last responded. */
  private failures = 0
  /** When it last failed, in milliseconds. */
  private failedAt = 0

  /** `what` is the start of the log messages, for example "The directory of sessions". */
  constructor(what: string) {
    this.what = what
  }

  /** Returns the same effect, with its outcome recorded. */
  noted<A, R>(effect: Effect.Effect<A, NodesUnavailable, R>): Effect.Effect<A, NodesUnavailable, R> {
    return Effect.onExit(effect, (exit) => {
      if (Exit.isSuccess(exit)) return this.failures === 0 ? Effect.void : this.over()
      const failure = exit.cause.reasons.find(Cause.isFailReason)
      return failure === undefined ? Effect.void : this.failed(failure.error)
    })
  }

  private failed(error: NodesUnavailable): Effect.Effect<void> {
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      this.failedAt = now
      return this.failures++ === 0 ? Effect.logWarning(`${this.what} is not responding`, error) : Effect.void
    })
  }

  private over(): Effect.Effect<void> {
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const { failures } = this
      if (failures === 0 || now - this.failedAt < calm) return Effect.void
      this.failures = 0
      return Effect.logInfo(`${this.what} is responding again after ${failures} failures`)
    })
  }
}
