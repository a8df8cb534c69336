/** Effects that start at once: their exit, and what becomes of those that wait. */
import { quiesce } from "@effect-mcp/testing/Quiesce"
import * as eager from "@effect-mcp/core/internal/eager"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Data, Effect, Exit, Fiber, Latch } from "effect"

class Service extends Context.Service<Service, { readonly name: string }>()("test/Service") {}
class Failed extends Data.TaggedError("Success")<{}> {}
class Mark extends Context.Service<Mark, string>()("test/Mark") {}
const context = Context.make(Service, { name: "captured" })

describe("An effect that has ended", () => {
  it("An effect has ended where it is an exit of any kind, and no other value is taken for one", () => {
    const exits = [
      Exit.void,
      Exit.succeed({}),
      Exit.fail("no"),
      Exit.die("secret"),
      Exit.interrupt(),
      Effect.succeed(1)
    ]
    const others: ReadonlyArray<any> = [
      Effect.never,
      Effect.suspend(() => Exit.void),
      new Failed(),
      { _tag: "Success", value: 1 },
      Object.create(null),
      () => Exit.void,
      undefined,
      null,
      1
    ]
    for (const exit of exits) assert.strictEqual<unknown>(eager.exitOf(exit), exit)
    // A wrapper of an exit is one, too: it has the name by which Effect knows them.
    const wrapped: any = Object.create(Exit.succeed(1))
    assert.strictEqual(eager.exitOf(wrapped), wrapped)
    for (const other of others) assert.strictEqual<unknown>(eager.exitOf(other), undefined)
  })
})

describe("An effect that starts at once", () => {
  it("An effect that starts at once is an exit where it takes steps but does not wait", () => {
    const steps = Effect.gen(function* () {
      const { name } = yield* Service
      return name
    })
    assert.deepStrictEqual(eager.start(steps, context), Exit.succeed("captured"))
    assert.deepStrictEqual(eager.start(Effect.andThen(Service, Effect.fail("no")), context), Exit.fail("no"))
    assert.isTrue(Exit.isExit(eager.start(Effect.andThen(Service, Effect.interrupt), context)))
  })

  it("An effect that starts at once is an exit although it leaves a fiber behind, which ends with the effect", () => {
    let ended = false
    const child = Effect.onInterrupt(Effect.never, () => Effect.sync(() => (ended = true)))
    const leaves = Effect.as(Effect.forkChild(child, { startImmediately: true }), "done")
    assert.deepStrictEqual(eager.start(leaves, Context.empty()), Exit.succeed("done"))
    assert.isTrue(ended)
  })

  it.effect("An effect that starts at once gives its exit after a wait", () =>
    Effect.gen(function* () {
      for (const end of [Exit.succeed(1), Exit.fail("no"), Exit.die("secret")]) {
        const latch = Latch.makeUnsafe(false)
        const started = eager.start(Effect.andThen(latch.await, end), Context.empty())
        assert.isFalse(Exit.isExit(started))
        latch.openUnsafe()
        assert.deepStrictEqual(yield* Effect.exit(started), end)
      }
    })
  )

  it.effect("An effect that starts at once gives its exit to a caller that joins after the end", () =>
    Effect.gen(function* () {
      const latch = Latch.makeUnsafe(false)
      const started = eager.start(Effect.as(latch.await, 1), Context.empty())
      latch.openUnsafe()
      yield* quiesce
      assert.strictEqual(yield* started, 1)
    })
  )

  it.effect(
    "An effect that starts at once is interrupted with its caller, which waits for its finalizers and passes on the annotations",
    () =>
      Effect.gen(function* () {
        const finalizing = Latch.makeUnsafe(false)
        const may = Latch.makeUnsafe(false)
        const seen: Array<unknown> = []
        const started = eager.start(
          Effect.onExit(Effect.never, (exit) => {
            if (Exit.isFailure(exit))
              seen.push(...exit.cause.reasons.map(({ annotations }) => annotations.get(Mark.key)))
            finalizing.openUnsafe()
            return may.await
          }),
          Context.empty()
        )
        const waiting = yield* Effect.forkChild(started, { startImmediately: true })
        waiting.interruptUnsafe(undefined, Context.make(Mark, "why"))
        yield* finalizing.await
        yield* quiesce
        assert.deepStrictEqual(seen, ["why"])
        assert.strictEqual(waiting.pollUnsafe(), undefined)
        may.openUnsafe()
        const exit = yield* Fiber.await(waiting)
        assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
      })
  )

  it.effect("An effect that starts at once keeps the defects of its finalizers", () =>
    Effect.gen(function* () {
      const started = eager.start(
        Effect.onExit(Effect.never, () => Effect.die("lost?")),
        Context.empty()
      )
      const waiting = yield* Effect.forkChild(started, { startImmediately: true })
      waiting.interruptUnsafe()
      const exit = yield* Fiber.await(waiting)
      assert.deepStrictEqual(
        Exit.isFailure(exit) && exit.cause.reasons.filter(Cause.isDieReason).map(({ defect }) => defect),
        ["lost?"]
      )
    })
  )
})
