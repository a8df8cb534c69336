/**
 * State that the reference server keeps between requests, so that a client can observe what happened inside it.
 *
 * Shared by all sessions, and bounded. The protocol does not need it.
 */
import { Context, Effect, Layer, Queue, SubscriptionRef } from "effect"

/** Maximum number of interruptions to remember. */
const remembered = 100

/** A URL elicitation that a user has consented to, in the session that asked. */
export interface Visit {
  readonly sessionId: string | undefined
  readonly elicitationId: string
}

export class State extends Context.Service<
  State,
  {
    /** Labels of the `slow` calls whose handlers were interrupted, oldest first. */
    readonly interruptions: SubscriptionRef.SubscriptionRef<ReadonlyArray<string>>
    /** Number of times the watched resource was touched. */
    readonly touched: SubscriptionRef.SubscriptionRef<number>
    /** Visits whose completion has not been announced yet. */
    readonly visits: Queue.Queue<Visit>
  }
>()("@effect-mcp/interop/State") {
  static readonly layer = Layer.effect(
    State,
    Effect.all({
      interruptions: SubscriptionRef.make<ReadonlyArray<string>>([]),
      touched: SubscriptionRef.make(0),
      visits: Queue.sliding<Visit>(remembered)
    })
  )
}

/** Adds a label to the interruptions and drops the oldest beyond the limit. */
export const recordInterruption = (label: string): Effect.Effect<void, never, State> =>
  Effect.flatMap(State, (state) =>
    SubscriptionRef.update(state.interruptions, (labels) => [...labels, label].slice(-remembered))
  )
