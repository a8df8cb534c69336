/** Effects that have completed, and effects in a separate fiber. */
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { eager } from "@effect-mcp/core/internal/calling"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Data, Effect, Exit, Fiber, Latch } from "effect"

class Service extends Context.Service<Service, { readonly name: string }>()("test/Service") {}
class Failed extends Data.TaggedError("Success")<{}> {}
class Mark extends Context.Service<Mark, string>()("test/Mark") {}
const context = Context.make(Service, { name: "captured" })

describe("Completed effects", () => {
  it("Only an exit, of any kind, counts as a completed effect", () => {
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
    // A wrapper around an exit counts too, because it has the name by which Effect recognizes exits.
    const wrapped: any = Object.create(Exit.succeed(1))
    assert.strictEqual(eager.exitOf(wrapped), wrapped)
    for (const other of others) assert.strictEqual<unknown>(eager.exitOf(other), undefined)
  })
})

describe("Effects in a separate fiber", () => {
  it.effect("Returns the exit of a synchronous effect", () =>
    Effect.gen(function* () {
      const steps = Effect.map(Service, ({ name }) => name)
      assert.strictEqual(yield* Effect.provideContext(eager.inOwnFiber(steps), context), "captured")
      assert.deepStrictEqual(yield* Effect.exit(eager.inOwnFiber(Effect.fail("no"))), Exit.fail("no"))
    })
  )

  it.effect("Returns the exit of a suspending effect", () =>
    Effect.gen(function* () {
      for (const end of [Exit.succeed(1), Exit.fail("no"), Exit.die("secret")]) {
        const latch = Latch.makeUnsafe(false)
        const waiting = yield* Effect.forkChild(eager.inOwnFiber(Effect.andThen(latch.await, end)), {
          startImmediately: true
        })
        latch.openUnsafe()
        assert.deepStrictEqual(yield* Fiber.await(waiting), end)
      }
    })
  )

  it.effect("Forwards an interruption with its annotations and waits for finalizers", () =>
    Effect.gen(function* () {
      const finalizing = Latch.makeUnsafe(false)
      const may = Latch.makeUnsafe(false)
      const seen: Array<unknown> = []
      const own = eager.inOwnFiber(
        Effect.onExit(Effect.interruptible(Effect.never), (exit) => {
          if (Exit.isFailure(exit)) seen.push(...exit.cause.reasons.map(({ annotations }) => annotations.get(Mark.key)))
          finalizing.openUnsafe()
          return may.await
        })
      )
      const waiting = yield* Effect.forkChild(own, { startImmediately: true })
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

  it.effect("Keeps finalizer defects after an interruption", () =>
    Effect.gen(function* () {
      const own = eager.inOwnFiber(Effect.onExit(Effect.interruptible(Effect.never), () => Effect.die("lost?")))
      const waiting = yield* Effect.forkChild(own, { startImmediately: true })
      waiting.interruptUnsafe()
      const exit = yield* Fiber.await(waiting)
      assert.deepStrictEqual(
        Exit.isFailure(exit) && exit.cause.reasons.filter(Cause.isDieReason).map(({ defect }) => defect),
        ["lost?"]
      )
    })
  )
})
