/**
 * Tells in the log once that a part of a database does not answer, and once that it answers again, however many requests meet that. In a
 * partial outage some steps fail while others do not: that is one outage.
 */
import type { NodesUnavailable } from "@effect-mcp/server/Nodes"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

/** How long no step may have failed until it is over, in milliseconds. */
const calm = 5000

export class Outage {
  private readonly what: string
  /** How often it has not answered since it last did. */
  private failures = 0
  /** When it has not answered last, in milliseconds. */
  private failedAt = 0

  /** `what` begins the sentences, as "The directory of sessions". */
  constructor(what: string) {
    this.what = what
  }

  /** The same effect, whose end is noted. */
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
      return this.failures++ === 0 ? Effect.logWarning(`${this.what} does not answer`, error) : Effect.void
    })
  }

  private over(): Effect.Effect<void> {
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const { failures } = this
      if (failures === 0 || now - this.failedAt < calm) return Effect.void
      this.failures = 0
      return Effect.logInfo(`${this.what} answers again, after ${failures} failures`)
    })
  }
}
