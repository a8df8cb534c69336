/** Faults on the simulated connections. */
import * as Duration from "effect/Duration"

/** Probability of each fault, from 0 to 1. */
export interface SimulatedFaults {
  /**
   * Probability of delaying a message, a request or a piece of a response, along with everything behind it in the same stream. Default 0.2.
   */
  readonly late?: number | undefined
  /** Maximum delay. Default 1 second. */
  readonly maxDelay?: Duration.Input | undefined
  /**
   * Probability of breaking the connection instead of delivering a message. Both sides notice, and messages in transit are lost. Default 0.
   */
  readonly cut?: number | undefined
  /** Probability of a slow reader, which pauses before every message. Default 0. */
  readonly slow?: number | undefined
  /** Probability of running a ready fiber other than the longest-waiting one. Default: between 0 and 0.3, chosen by the seed. */
  readonly reorder?: number | undefined
  /** Probability of pausing a handler before an operation, as Effect's scheduler might. Default: between 0 and 0.2, chosen by the seed. */
  readonly preempt?: number | undefined
}

/** Fills in each fault's default. */
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
