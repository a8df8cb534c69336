/** How wires misbehave in a simulation. */
import * as Duration from "effect/Duration"

/** How likely each fault is, from 0 to 1. */
export interface SimulatedFaults {
  /** That a message, a request or a piece of a response is late. What is behind it in its stream is late as well. Default 0.2. */
  readonly late?: number | undefined
  /** The longest delay. Default 1 second. */
  readonly maxDelay?: Duration.Input | undefined
  /** That the connection breaks instead of delivering a message: both ends see it, and what was under way is lost. Default 0. */
  readonly cut?: number | undefined
  /** That a reader is slow: it pauses before each message. Default 0. */
  readonly slow?: number | undefined
  /** That another ready fiber than the one that waits longest is next. Default: from 0 to 0.3, by the seed. */
  readonly reorder?: number | undefined
  /** That a handler pauses before an operation, as Effect's scheduler may let it. Default: from 0 to 0.2, by the seed. */
  readonly preempt?: number | undefined
}

/** The faults with numbers for all. */
export interface Likelihoods {
  readonly late: number
  readonly maxDelay: number
  readonly cut: number
  readonly slow: number
}

export const likelihoods = ({
  cut = 0,
  late = 0.2,
  maxDelay = "1 second",
  slow = 0
}: SimulatedFaults): Likelihoods => ({
  cut,
  late,
  slow,
  maxDelay: Math.max(1, Math.round(Duration.toMillis(Duration.fromInputUnsafe(maxDelay))))
})
