/**
 * A subscription that is reopened when the server or the connection ends it.
 *
 * The subscriber is informed each time, because notifications may have been missed. A subscription that repeatedly ends without a
 * notification fails.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Backoff } from "../connection/Backoff.ts"
import type { ClientError, Closed } from "../ClientError.ts"

export interface Options {
  /** Subscribes until the scope closes. The inner effect completes when the server or the connection ends the subscription. */
  readonly subscribe: Effect.Effect<Effect.Effect<Closed>, ClientError, Scope.Scope>
  /** Called when the subscription is established. `again` is true if it was reopened. */
  readonly onSubscribed: (again: boolean) => void
  /** Without it, the subscription is not reopened. */
  readonly backoff: Backoff | undefined
}

/** Fails when the subscription is rejected, or is no longer reopened. */
export const keep = ({ backoff, onSubscribed, subscribe }: Options): Effect.Effect<never, ClientError> => {
  const from = (again: boolean): Effect.Effect<never, ClientError> =>
    Effect.flatMap(once(again), (closed) => {
      if (backoff === undefined) return Effect.fail(closed)
      return Effect.flatMap(backoff.failed, (isLast) =>
        isLast ? Effect.fail(closed) : Effect.andThen(backoff.wait, from(true))
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
