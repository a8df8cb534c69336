/** Suggestions while a user types: debounced, cancelled when stale, and remembered. */
import * as Suggestions from "@effect-mcp/client/Suggestions"
import * as Revision from "@effect-mcp/protocol/Revision"
import { verifies } from "@effect-mcp/spec/verifies"
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Queue, Stream } from "effect"
import { TestClock } from "effect/testing"
import { connected } from "../support/connected.ts"
import * as Modern from "../support/modern.ts"

const question = {
  ref: { type: "ref/prompt", name: "translate" },
  argument: "language",
  others: { text: "Hi" }
} as const

describe.each(Revision.all)("suggestions over $version", ({ version }) => {
  const opened = Effect.fnUntraced(function* (options?: Suggestions.Options) {
    const asked: Array<any> = []
    const { client } = yield* connected({
      version,
      answers: {
        "completion/complete": (params: any) => {
          asked.push(params)
          const { value } = params.argument
          return Modern.complete(
            value === "bad" ? { completion: "nonsense" } : { completion: { values: [`${value}!`] } }
          )
        }
      }
    })
    const typed = yield* Queue.unbounded<string>()
    const shown: Array<ReadonlyArray<string>> = []
    const fiber = yield* Effect.forkChild(
      Stream.runForEach(Suggestions.follow(client, question, Stream.fromQueue(typed), options), ({ values }) =>
        Effect.sync(() => void shown.push(values))
      ),
      { startImmediately: true }
    )
    const type = (value: string) => Effect.andThen(Queue.offer(typed, value), quiesce)
    const pause = (millis: number) => Effect.andThen(TestClock.adjust(millis), quiesce)
    return { asked, shown, fiber, type, pause }
  })
  const values = (asked: ReadonlyArray<any>) => asked.map(({ argument }) => argument.value)

  it.effect(
    "Suggestions are requested only for the value at which the user pauses",
    () =>
      Effect.gen(function* () {
        const { asked, fiber, pause, shown, type } = yield* opened()
        for (const value of ["f", "fr", "fre"]) {
          yield* type(value)
          yield* pause(149)
        }
        assert.deepStrictEqual(asked, [])
        yield* pause(1)
        assert.deepStrictEqual(values(asked), ["fre"])
        if (version >= "2025-06-18") assert.deepStrictEqual(asked[0].context, { arguments: { text: "Hi" } })
        assert.deepStrictEqual(shown, [["fre!"]])
        yield* Fiber.interrupt(fiber)
      }),
    verifies("completion.client.debounced")
  )

  it.effect(
    "A cached answer is shown at once until it expires",
    () =>
      Effect.gen(function* () {
        const { asked, fiber, pause, shown, type } = yield* opened({ timeToLive: "10 seconds", capacity: 2 })
        for (const value of ["a", "b", "a"]) {
          yield* type(value)
          if (value !== "a" || asked.length === 0) yield* pause(150)
        }
        assert.deepStrictEqual(shown, [["a!"], ["b!"], ["a!"]])
        assert.deepStrictEqual(values(asked), ["a", "b"])
        // A third value takes the place of the oldest.
        yield* type("c")
        yield* pause(150)
        yield* type("b")
        assert.lengthOf(shown, 5)
        yield* type("a")
        assert.lengthOf(shown, 5)
        yield* pause(150)
        assert.deepStrictEqual(values(asked), ["a", "b", "c", "a"])
        yield* pause(10_000)
        yield* type("a")
        yield* pause(150)
        assert.deepStrictEqual(values(asked), ["a", "b", "c", "a", "a"])
        yield* Fiber.interrupt(fiber)
      }),
    verifies("completion.client.cached")
  )

  it.effect("A failed request suggests nothing and is not cached", () =>
    Effect.gen(function* () {
      const { asked, fiber, pause, shown, type } = yield* opened()
      for (const value of ["bad", "good", "bad"]) {
        yield* type(value)
        yield* pause(150)
      }
      assert.deepStrictEqual(shown, [[], ["good!"], []])
      assert.lengthOf(asked, 3)
      yield* Fiber.interrupt(fiber)
    })
  )
})
