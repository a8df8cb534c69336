/** One read for all callers that come while another one runs. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"

/**
 * Reads at most once at a time, and once for all callers that came meanwhile. What a caller is given was read after it came: a view after an
 * action shows what the action did. A read lasts when its callers leave, and ends with the scope.
 */
export const make = <A, E>(read: Effect.Effect<A, E>): Effect.Effect<Effect.Effect<A, E>, never, Scope.Scope> =>
  Effect.map(Scope.Scope, (scope) => {
    let isReading = false
    /** Of the callers that wait for the next read. */
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
