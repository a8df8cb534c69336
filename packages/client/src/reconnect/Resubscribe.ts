/**
 * A subscription that outlives its end: when the server ends it, or the connection goes, it is asked for again.
 *
 * What happened in between is nobody's to know, so the subscriber is told that it stands again. One that ends again and again without
 * having told of anything is given up.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Backoff } from "../connection/Backoff.ts"
import type { ClientError, Closed } from "../ClientError.ts"

export interface Options {
  /** Subscribes for as long as its scope; the effect inside completes when somebody else ended it. */
  readonly subscribe: Effect.Effect<Effect.Effect<Closed>, ClientError, Scope.Scope>
  /** Told when it stands, and whether it did before. */
  readonly onSubscribed: (again: boolean) => void
  /** Told by others of its successes. Without one it is not asked for again. */
  readonly backoff: Backoff | undefined
}

/** Fails when it is refused, or given up. */
export const keep = ({ backoff, onSubscribed, subscribe }: Options): Effect.Effect<never, ClientError> => {
  const from = (again: boolean): Effect.Effect<never, ClientError> =>
    Effect.flatMap(once(again), (closed) => {
      if (backoff === undefined) return Effect.fail(closed)
      return Effect.flatMap(backoff.failed, (hopeless) =>
        hopeless ? Effect.fail(closed) : Effect.andThen(backoff.wait, from(true))
      )
    })
  const once = (again: boolean): Effect.Effect<Closed, ClientError> =>
    Effect.scoped(
      Effect.flatMap(subscribe, (ended) =>
        Effect.andThen(
          backoff === undefined ? Effect.void : backoff.started,
          Effect.suspend(() => {
            onSubscribed(again)
            return ended
          })
        )
      )
    )
  return from(false)
}
