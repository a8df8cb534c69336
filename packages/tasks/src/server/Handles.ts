/** Settings for handles: results that name a running task, for clients that don't support tasks. */
import * as Duration from "effect/Duration"

/** How to respond to calls from clients that don't support tasks. */
export interface HandleOptions {
  /**
   * How long a call, or one of the four tools, may take to respond. Set it below the time limit that hosts have for a tool call. Default 45
   * seconds.
   */
  readonly answerWithin?: Duration.Input | undefined
  /** Prefix of the four tools: `status`, `result`, `answer` and `cancel`. Default `tasks_`. */
  readonly prefix?: string | undefined
  /**
   * Lets the model answer a form for its user if the client doesn't support elicitation. The server cannot tell whether the user was asked,
   * so don't use this if a handler relies on the user's consent. Default false: such a question fails, as in an ordinary call.
   */
  readonly askModel?: boolean | undefined
}

/** Names of the tools for following a task. */
export interface HandleToolNames {
  readonly status: string
  readonly result: string
  readonly answer: string
  readonly cancel: string
}

/** The settings with their defaults. */
export interface Handles {
  /** In milliseconds. */
  readonly answerWithin: number
  readonly names: HandleToolNames
  readonly askModel: boolean
}

export const make = ({ answerWithin = "45 seconds", askModel = false, prefix = "tasks_" }: HandleOptions): Handles => ({
  answerWithin: Math.max(0, Duration.toMillis(Duration.fromInputUnsafe(answerWithin))),
  askModel,
  names: {
    status: `${prefix}status`,
    result: `${prefix}result`,
    answer: `${prefix}answer`,
    cancel: `${prefix}cancel`
  }
})
