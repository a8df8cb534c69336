/** A bound on statements: a connection that hangs must not hold what waits for it, for as long as TCP takes to notice. */
import { NodesUnavailable } from "@effect-mcp/server/Nodes"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

/**
 * Fails after a time, in milliseconds. The caller does not wait for the interruption, which the driver answers late where its connection
 * hangs; and it is let go in regions that cannot be interrupted, too.
 */
export const within =
  (patience: number) =>
  <A, R>(effect: Effect.Effect<A, NodesUnavailable, R>): Effect.Effect<A, NodesUnavailable, R> =>
    Effect.gen(function* () {
      const done = Deferred.makeUnsafe<A, NodesUnavailable>()
      const message = `Postgres does not answer within ${patience} ms`
      const late = Effect.delay(Deferred.fail(done, new NodesUnavailable({ message })), patience)
      const fibers = [yield* Effect.forkDetach(Deferred.into(effect, done)), yield* Effect.forkDetach(late)]
      return yield* Effect.ensuring(
        Deferred.await(done),
        Effect.sync(() => {
          for (const fiber of fibers) fiber.interruptUnsafe()
        })
      )
    })
