/** The replay guard of a single node: a state has one reply, whatever happens to its first use. */
import * as ReplayGuard from "../../src/mrtr/ReplayGuard.ts"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, References } from "effect"

describe("In-memory replay guard", () => {
  it.live(
    "A state can be used again if its first use was interrupted at any step",
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
