/** Limits how long statements may take, so that a hanging connection doesn't block its users until TCP notices. */
import { NodesUnavailable } from "@effect-mcp/server/Nodes"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

/**
 * Fails after a time limit in milliseconds. The caller doesn't wait for the interruption, because the driver of a hanging connection
 * responds to it late. Also works in uninterruptible regions.
 */
export const within =
  (patience: number) =>
  <A, R>(effect: Effect.Effect<A, NodesUnavailable, R>): Effect.Effect<A, NodesUnavailable, R> =>
    Effect.gen(function* () {
      const done = Deferred.makeUnsafe<A, NodesUnavailable>()
      const message = `Postgres did not respond within ${patience} ms`
      const late = Effect.delay(Deferred.fail(done, new NodesUnavailable({ message })), patience)
      const fibers = [yield* Effect.forkDetach(Deferred.into(effect, done)), yield* Effect.forkDetach(late)]
      return yield* Effect.ensuring(
        Deferred.await(done),
        Effect.sync(() => {
          for (const fiber of fibers) fiber.interruptUnsafe()
        })
      )
    })
