/** How many requests of one caller wait for results at once. */
import { Shares } from "@effect-mcp/core/internal/Shares"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"

export class ResultWaits {
  private readonly shares: Shares

  constructor(max: number) {
    this.shares = new Shares({ total: Infinity, perCaller: max })
  }

  /** Runs a wait, which counts until its end; fails with -31429 beyond the bound. */
  hold<A, E, R>(caller: string, wait: Effect.Effect<A, E, R>): Effect.Effect<A, E | McpError.McpError, R> {
    return Effect.suspend((): Effect.Effect<A, E | McpError.McpError, R> => {
      const { bounds } = this.shares
      if (this.shares.exceededBy(caller, 1) !== undefined) {
        return McpError.limitExceeded(`More than ${bounds.perCaller} requests of this caller wait for results of tasks`)
      }
      this.shares.add(caller, 1)
      return Effect.ensuring(
        wait,
        Effect.sync(() => this.shares.add(caller, -1))
      )
    })
  }
}
