/** How streams of a session are resumed: the options of `ResumeStream`, which is loaded with the first session. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"

export interface Options {
  /** Connections in a row that may fail, or bring nothing, before a request counts as unanswered. Default 5. */
  readonly attempts?: number | undefined
  /** The wait before the first connection, where the server gives none. Doubles with every failure. Default 500 ms. */
  readonly delay?: Duration.Input | undefined
  /** The longest wait, unless the server asks for more. Default 30 seconds. */
  readonly maxDelay?: Duration.Input | undefined
  /**
   * The shortest wait, whatever the server says. Default 100 ms. Doubles, up to 20 times as much, with every connection in a row that
   * ended within a second.
   */
  readonly minDelay?: Duration.Input | undefined
  /** How long the connections for a request may fail in a row. Default: as long as its attempts take. */
  readonly timeout?: Duration.Input | undefined
}

/** The options of transports that are opened without any, such as those of a gateway. Default: the default of each option. */
export const Resume = Context.Reference<Options>("@effect-mcp/client/http/Resume", { defaultValue: () => ({}) })
