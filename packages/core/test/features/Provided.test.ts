/** How a request creates a service that several fibers use, if one of them is interrupted. */
import * as McpError from "@effect-mcp/protocol/McpError"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Latch } from "effect"
import { MixedScheduler, Scheduler } from "effect/Scheduler"
import * as Provided from "../../src/features/Provided.ts"

/** A provision that waits for `go`, counts its runs, and ends with the given effect. */
const counting = (end: Effect.Effect<unknown, McpError.McpError>) => {
  const go = Latch.makeUnsafe(false)
  let count = 0
  const make = Effect.andThen(
    Effect.suspend(() => {
      count++
      return go.await
    }),
    end
  )
  return { go, provision: { key: "test/X", make } satisfies Provided.Provision, count: () => count }
}
const within = <A, E>(request: Provided.ProvidedServices, effect: Effect.Effect<A, E>) =>
  Effect.provideService(effect, Provided.Provided, request)
const wanted = (request: Provided.ProvidedServices, provision: Provided.Provision) =>
  Effect.forkChild(within(request, Provided.made(provision)), { startImmediately: true })

/** Interrupts its fiber after one of its steps. */
class InterruptsAfter extends MixedScheduler {
  isOver = false
  private left: number

  constructor(steps: number) {
    super()
    this.left = steps
  }

  override shouldYield(fiber: Fiber.Fiber<unknown, unknown>): boolean {
    if (--this.left === 0) {
      this.isOver = true
      fiber.interruptUnsafe()
    }
    return super.shouldYield(fiber)
  }
}

describe("Services used by two fibers", () => {
  it.effect("A service needed by two fibers of a request at once is created once and reused later", () =>
    Effect.gen(function* () {
      const { count, go, provision } = counting(Effect.sync(() => ({})))
      const request = new Provided.ProvidedServices()
      const first = yield* wanted(request, provision)
      const second = yield* wanted(request, provision)
      yield* go.open
      const made = yield* Fiber.join(first)
      assert.strictEqual(yield* Fiber.join(second), made)
      assert.strictEqual(yield* Fiber.join(yield* wanted(request, provision)), made)
      assert.strictEqual(count(), 1)
    })
  )

  it.effect("A failing service fails both fibers and is not retried", () =>
    Effect.gen(function* () {
      const { count, go, provision } = counting(Effect.fail(McpError.forbidden("no")))
      const request = new Provided.ProvidedServices()
      const fibers = [yield* wanted(request, provision), yield* wanted(request, provision)]
      yield* go.open
      for (const fiber of fibers) assert.strictEqual((yield* Effect.flip(Fiber.join(fiber))).message, "no")
      assert.strictEqual((yield* Effect.flip(Fiber.join(yield* wanted(request, provision)))).message, "no")
      assert.strictEqual(count(), 1)
    })
  )

  it.effect("The second fiber creates the service if the first is interrupted", () =>
    Effect.gen(function* () {
      const { count, go, provision } = counting(Effect.succeed("made"))
      const request = new Provided.ProvidedServices()
      const first = yield* wanted(request, provision)
      const second = yield* wanted(request, provision)
      const third = yield* wanted(request, provision)
      yield* Fiber.interrupt(first)
      yield* go.open
      assert.strictEqual(yield* Fiber.join(second), "made")
      assert.strictEqual(yield* Fiber.join(third), "made")
      assert.strictEqual(count(), 2)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(first)))
    })
  )

  it.effect("The second fiber creates the service at whichever step the first is interrupted", () =>
    Effect.gen(function* () {
      let interrupting: InterruptsAfter
      let steps = 0
      do {
        const { count, go, provision } = counting(Effect.succeed("made"))
        const request = new Provided.ProvidedServices()
        interrupting = new InterruptsAfter(++steps)
        const first = Effect.runForkWith(Context.make(Scheduler, interrupting))(
          within(request, Provided.made(provision))
        )
        const begun = count()
        // After its last step the fiber waits.
        yield* Fiber.interrupt(first)
        yield* go.open
        const second = Effect.runSyncExit(within(request, Provided.made(provision)))
        assert.isTrue(Exit.isSuccess(second), `interrupted after ${steps} steps`)
        assert.strictEqual(count(), begun + 1)
      } while (interrupting.isOver)
      assert.isAbove(steps, 3)
    })
  )

  it.effect("Each request creates its own service", () =>
    Effect.gen(function* () {
      const { count, go, provision } = counting(Effect.sync(() => ({})))
      yield* go.open
      const one = yield* Fiber.join(yield* wanted(new Provided.ProvidedServices(), provision))
      const other = yield* Fiber.join(yield* wanted(new Provided.ProvidedServices(), provision))
      assert.notStrictEqual(one, other)
      assert.strictEqual(count(), 2)
    })
  )
})

describe("Handlers with request services", () => {
  it.effect("A handler's request services override the outer context only inside the handler", () =>
    Effect.gen(function* () {
      class A extends Context.Service<A, string>()("test/A") {}
      class B extends Context.Service<B, string>()("test/B") {}
      const read = Effect.map(Effect.context<A | B>(), (context) => [
        Context.get(context, A),
        Context.get(context, B),
        [...context.mapUnsafe.keys()].filter((key) => key.startsWith("test/"))
      ])
      const wanted = [
        { key: A.key, make: Effect.succeed("a") },
        { key: B.key, make: Effect.sync(() => "b") }
      ]
      const both = Effect.all([Provided.within(wanted, () => read), Effect.all([A, B])])
      assert.deepStrictEqual(
        yield* Effect.provideContext(both, Context.make(A, "outer a").pipe(Context.add(B, "outer b"))),
        [
          ["a", "b", ["test/A", "test/B"]],
          ["outer a", "outer b"]
        ]
      )
    })
  )

  it.effect("A throwing handler is a defect, and no handler runs if a service fails", () =>
    Effect.gen(function* () {
      const make = Effect.sync(() => 1)
      const thrown = Provided.within([{ key: "test/X", make }], (): Effect.Effect<never> => {
        throw new Error("thrown")
      })
      assert.isTrue(Exit.hasDies(yield* Effect.exit(thrown)))
      let ran = 0
      const refused = [
        { key: "test/X", make },
        { key: "test/Y", make: Effect.fail(McpError.forbidden("no")) }
      ]
      const handled = Provided.within(refused, () => Effect.sync(() => ran++))
      assert.strictEqual((yield* Effect.flip(handled)).message, "no")
      assert.strictEqual(ran, 0)
    })
  )
})

describe("Service markers", () => {
  it("A service marker names its service when it is used by mistake", () => {
    const provision: Provided.Provision = { key: "test/X", make: Effect.succeed(1) }
    const marker: any = Provided.marker(provision)
    assert.deepStrictEqual(Provided.among(new Map<string, unknown>([["test/X", marker]])), [provision])
    assert.isUndefined(Provided.among(new Map<string, unknown>([["test/X", () => 1]])))
    for (const use of [() => marker.name, () => marker(), () => (marker.name = 1)]) {
      assert.throws(use, /test\/X is built for each request/)
    }
  })
})
