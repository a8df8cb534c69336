/** Shares one read among all callers that arrive while another read is running. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"

/**
 * Runs at most one read at a time, and a single read for all callers that arrive in the meantime. Each caller receives the result of a read
 * that started after its call, so a view requested after an action shows the action's effect. A read continues even if its callers leave,
 * and stops when the scope closes.
 */
export const make = <A, E>(read: Effect.Effect<A, E>): Effect.Effect<Effect.Effect<A, E>, never, Scope.Scope> =>
  Effect.map(Scope.Scope, (scope) => {
    let isReading = false
    /** Completed for the callers waiting for the next read. */
    let waiting: Deferred.Deferred<A, E> | undefined = undefined
    const reads: Effect.Effect<void> = Effect.suspend(() => {
      const callers = waiting
      waiting = undefined
      isReading = callers !== undefined
      if (callers === undefined) return Effect.void
      return Effect.exit(Effect.onExit(read, (exit) => Deferred.done(callers, exit))).pipe(Effect.andThen(reads))
    })
    return Effect.suspend(() => {
      const answer = (waiting ??= Deferred.makeUnsafe<A, E>())
      if (isReading) return Deferred.await(answer)
      isReading = true
      return Effect.andThen(Effect.forkIn(reads, scope), Deferred.await(answer))
    })
  })
