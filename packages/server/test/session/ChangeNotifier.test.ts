/** Sending changes to a subscriber whose transport may throw. */
import { ChangeNotifier } from "../../src/session/ChangeNotifier.ts"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit } from "effect"

describe("Change notifier", () => {
  for (const writable of [true, false]) {
    it.effect(
      `A change notifier ${writable ? "with" : "without"} room on its wire reports errors in its owner's fiber`,
      () =>
        Effect.gen(function* () {
          const told = yield* Deferred.make<Effect.Effect<void>>()
          const notifier = new ChangeNotifier({
            writable: () => writable,
            ready: Effect.void,
            fork: (effect) => Deferred.doneUnsafe(told, Exit.succeed(effect)),
            sendList: () => {
              throw new Error("broken")
            },
            sendUpdate: () => {}
          })
          notifier.open()
          notifier.listChanged("tools")
          const exit = yield* Effect.exit(yield* Deferred.await(told))
          assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
        })
    )
  }
})
