/** Tells in the log once that a part of a database does not answer, and once that it answers again, however many requests meet that. */
import type { NodesUnavailable } from "@effect-mcp/server/Nodes"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

export class Outage {
  private readonly what: string
  /** How often it has not answered since it last did. */
  private failures = 0

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
    return this.failures++ === 0 ? Effect.logWarning(`${this.what} does not answer`, error) : Effect.void
  }

  private over(): Effect.Effect<void> {
    const { failures } = this
    this.failures = 0
    return Effect.logInfo(`${this.what} answers again, after ${failures} failures`)
  }
}
