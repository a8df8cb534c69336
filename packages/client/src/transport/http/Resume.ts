/** Options for resuming a session's streams. `ResumeStream` is loaded with the first session. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"

export interface Options {
  /** Number of consecutive connections that may fail or deliver nothing before a request counts as unanswered. Default 5. */
  readonly attempts?: number | undefined
  /** Delay before the first connection, unless the server sets one. Doubles with every failure. Default 500 ms. */
  readonly delay?: Duration.Input | undefined
  /** Maximum delay, unless the server asks for more. Default 30 seconds. */
  readonly maxDelay?: Duration.Input | undefined
  /**
   * Minimum delay, regardless of the server. Default 100 ms. Doubles with every consecutive connection that ended within a second, up to 20
   * times the minimum.
   */
  readonly minDelay?: Duration.Input | undefined
  /** How long a request's connections may keep failing in a row. Default: as long as its attempts take. */
  readonly timeout?: Duration.Input | undefined
}

/** Options for transports that are opened without any, such as a gateway's. Default: each option's default. */
export const Resume = Context.Reference<Options>("@effect-mcp/client/http/Resume", { defaultValue: () => ({}) })
