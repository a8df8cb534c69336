/** Handlers that run at once: what they come to, and what becomes of those that wait. */
import { isolate } from "@effect-mcp/core/internal/HandlerContext"
import * as Now from "@effect-mcp/core/internal/Now"
import { anonymous } from "@effect-mcp/core/Principal"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Fiber, Latch } from "effect"

class Service extends Context.Service<Service, { readonly name: string }>()("test/Service") {}
class Mark extends Context.Service<Mark, string>()("test/Mark") {}
const context = Context.make(Service, { name: "captured" })

describe("what is started now", () => {
  it("is an exit where it takes steps but waits for nothing", () => {
    const steps = Effect.gen(function* () {
      const { name } = yield* Service
      return name
    })
    assert.deepStrictEqual(Now.start(steps, context), Exit.succeed("captured"))
    assert.deepStrictEqual(Now.start(Effect.andThen(Service, Effect.fail("no")), context), Exit.fail("no"))
    assert.isTrue(Exit.isExit(Now.start(Effect.andThen(Service, Effect.interrupt), context)))
  })

  it("is an exit although it leaves a fiber behind, which ends with it", () => {
    let ended = false
    const child = Effect.onInterrupt(Effect.never, () => Effect.sync(() => (ended = true)))
    const leaves = Effect.as(Effect.forkChild(child, { startImmediately: true }), "done")
    assert.deepStrictEqual(Now.start(leaves, Context.empty()), Exit.succeed("done"))
    assert.isTrue(ended)
  })

  it.effect("comes to what it comes to once it has waited", () =>
    Effect.gen(function* () {
      for (const end of [Exit.succeed(1), Exit.fail("no"), Exit.die("secret")]) {
        const latch = Latch.makeUnsafe(false)
        const started = Now.start(Effect.andThen(latch.await, end), Context.empty())
        assert.isFalse(Exit.isExit(started))
        latch.openUnsafe()
        assert.deepStrictEqual(yield* Effect.exit(started), end)
      }
    })
  )

  it.effect("has come to it by the time that somebody asks", () =>
    Effect.gen(function* () {
      const latch = Latch.makeUnsafe(false)
      const started = Now.start(Effect.as(latch.await, 1), Context.empty())
      latch.openUnsafe()
      yield* Effect.repeat(Effect.yieldNow, { times: 10 })
      assert.strictEqual(yield* started, 1)
    })
  )

  it.effect("is interrupted with who waits for it, which waits for its finalizers and passes on why", () =>
    Effect.gen(function* () {
      const finalizing = Latch.makeUnsafe(false)
      const may = Latch.makeUnsafe(false)
      const seen: Array<unknown> = []
      const started = Now.start(
        Effect.onExit(Effect.never, (exit) => {
          if (Exit.isFailure(exit)) seen.push(...exit.cause.reasons.map(({ annotations }) => annotations.get(Mark.key)))
          finalizing.openUnsafe()
          return may.await
        }),
        Context.empty()
      )
      const waiting = yield* Effect.forkChild(started, { startImmediately: true })
      waiting.interruptUnsafe(undefined, Context.make(Mark, "why"))
      yield* finalizing.await
      yield* Effect.repeat(Effect.yieldNow, { times: 10 })
      assert.deepStrictEqual(seen, ["why"])
      assert.strictEqual(waiting.pollUnsafe(), undefined)
      may.openUnsafe()
      const exit = yield* Fiber.await(waiting)
      assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
    })
  )

  it.effect("does not lose what its finalizers die of", () =>
    Effect.gen(function* () {
      const started = Now.start(
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

describe("a handler that is isolated", () => {
  it("runs now by whoever says so, over what its layer captured", () => {
    const bases: Array<ReadonlyMap<string, unknown>> = []
    const now: Now.Now = {
      principal: anonymous,
      start: (handler, change) => {
        bases.push(change(new Map([["ambient", true]])))
        return Now.start(handler, Context.makeUnsafe(bases[0] ?? new Map()))
      }
    }
    const inContext = isolate<Service>(context)
    assert.deepStrictEqual(
      inContext(
        Effect.map(Service, ({ name }) => name),
        now
      ),
      Exit.succeed("captured")
    )
    assert.isFalse(bases[0]?.has("ambient"))
    // What is done already needs nobody to start it.
    assert.deepStrictEqual(inContext(Effect.succeed(1), now), Exit.succeed(1))
    assert.strictEqual(bases.length, 1)
  })

  it("is not started now for a while where the last that was had to wait", () => {
    let started = 0
    const now: Now.Now = {
      principal: anonymous,
      start: (handler, change) => {
        started++
        return Now.start(handler, Context.makeUnsafe(change(new Map())))
      }
    }
    const inContext = isolate<Service>(context)
    const isDone = (handler: Effect.Effect<unknown>) => Exit.isExit(inContext(handler, now))
    for (let i = 0; i < 3; i++) assert.isTrue(isDone(Effect.suspend(() => Effect.succeed(i))))
    assert.strictEqual(started, 3)
    for (let i = 0; i < 17; i++) assert.isFalse(isDone(Effect.never))
    assert.strictEqual(started, 5)
    for (let i = 0; i < 15; i++) assert.isFalse(isDone(Effect.suspend(() => Effect.succeed(i))))
    for (let i = 0; i < 3; i++) assert.isTrue(isDone(Effect.suspend(() => Effect.succeed(i))))
  })
})
