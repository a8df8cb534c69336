/** How many requests of one caller wait for results at once. */
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"

export class ResultWaits {
  private readonly max: number
  private readonly byCaller = new Map<string, number>()

  constructor(max: number) {
    this.max = max
  }

  private count(caller: string, by: 1 | -1): void {
    const count = (this.byCaller.get(caller) ?? 0) + by
    if (count === 0) this.byCaller.delete(caller)
    else this.byCaller.set(caller, count)
  }

  /** Runs a wait, which counts until its end; fails with -31429 beyond the bound. */
  hold<A, E, R>(caller: string, wait: Effect.Effect<A, E, R>): Effect.Effect<A, E | McpError.McpError, R> {
    return Effect.suspend((): Effect.Effect<A, E | McpError.McpError, R> => {
      if ((this.byCaller.get(caller) ?? 0) >= this.max) {
        return McpError.limitExceeded(`More than ${this.max} requests of this caller wait for results of tasks`)
      }
      this.count(caller, 1)
      return Effect.ensuring(
        wait,
        Effect.sync(() => this.count(caller, -1))
      )
    })
  }
}
