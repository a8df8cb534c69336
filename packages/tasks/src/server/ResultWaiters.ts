/** Limits how many of a caller's requests may wait for results at the same time. */
import { Shares } from "@effect-mcp/core/internal/inFlight"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"

export class ResultWaiters {
  private readonly shares: Shares

  constructor(max: number) {
    this.shares = new Shares({ total: Infinity, perCaller: max })
  }

  /** Runs a wait and counts it until it ends. Fails with -31429 if the limit is exceeded. */
  hold<A, E, R>(caller: string, wait: Effect.Effect<A, E, R>): Effect.Effect<A, E | McpError.McpError, R> {
    return Effect.suspend((): Effect.Effect<A, E | McpError.McpError, R> => {
      const { bounds } = this.shares
      if (this.shares.exceededBy(caller, 1) !== undefined) {
        return McpError.limitExceeded(
          `Too many requests are waiting for task results: the limit per caller is ${bounds.perCaller}`
        )
      }
      this.shares.add(caller, 1)
      return Effect.ensuring(
        wait,
        Effect.sync(() => this.shares.add(caller, -1))
      )
    })
  }
}
