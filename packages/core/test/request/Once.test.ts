import { ClientInput, Once } from "@effect-mcp/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"

/** A request with a handler, whose first round recorded these steps. */
const request = (recorded: { readonly [name: string]: unknown } = {}): ClientInput.ClientInput["Service"] => ({
  ...ClientInput.unavailable("no client"),
  once: (name, schema, effect) =>
    name in recorded ? Effect.orDie(Schema.decodeUnknownEffect(schema)(recorded[name])) : effect
})

describe("Once without a task", () => {
  it.effect("Once.sleep sleeps only for the remaining time in a later round", () =>
    Effect.gen(function* () {
      const run = (recorded?: { readonly [name: string]: unknown }) =>
        Effect.forkChild(
          Effect.provideService(Once.sleep("rest", "1 minute"), ClientInput.ClientInput, request(recorded)),
          { startImmediately: true }
        )
      const first = yield* run()
      const later = yield* run({ rest: 20_000 })
      const over = yield* run({ rest: -1 })
      assert.isDefined(over.pollUnsafe())
      yield* TestClock.adjust("20 seconds")
      assert.isDefined(later.pollUnsafe())
      assert.isUndefined(first.pollUnsafe())
      yield* TestClock.adjust("40 seconds")
      yield* Fiber.join(first)
    })
  )

  it.effect("Once.run gives every run of a step a unique key", () =>
    Effect.gen(function* () {
      const step = Once.run("pay", Schema.String, Once.key)
      const keys = yield* Effect.all([step, step]).pipe(Effect.provideService(ClientInput.ClientInput, request()))
      assert.strictEqual(new Set(keys).size, 2)
      const outside = yield* Effect.exit(Effect.provideService(Once.key, ClientInput.ClientInput, request()))
      assert.strictEqual(outside._tag, "Failure")
    })
  )
})
