/** The guard of one node: a state has one reply, whatever becomes of its first use. */
import * as ReplayGuard from "../../src/mrtr/ReplayGuard.ts"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, References } from "effect"

describe("The guard of states in memory", () => {
  it.live(
    "A state may be used again after its first use was interrupted, at whichever step that was",
    () =>
      Effect.gen(function* () {
        for (let steps = 3; steps <= 30; steps++) {
          const { once } = yield* ReplayGuard.ReplayGuard
          const first = yield* Effect.forkChild(
            Effect.provideService(once(`state ${steps}`, Infinity, Effect.never), References.MaxOpsBeforeYield, steps),
            { startImmediately: true }
          )
          yield* Fiber.interrupt(first)
          const again = yield* Effect.timeoutOption(
            once(`state ${steps}`, Infinity, Effect.succeed("again")),
            "1 second"
          )
          assert.strictEqual(again._tag, "Some", `Interrupted after ${steps} steps`)
        }
      }).pipe(Effect.provide(ReplayGuard.layerMemory()), Effect.timeout("10 seconds")),
    { timeout: 20_000 }
  )
})
