/**
 * The scheduler of handlers counts the tasks of a round that wait for their turn, and otherwise behaves like the ambient one.
 */
import { ClientInput } from "@effect-mcp/core/ClientInput"
import { Round, scheduler } from "@effect-mcp/server/internal/Replay"
import * as Revision from "@effect-mcp/protocol/Revision"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber } from "effect"
import * as Journal from "../../src/mrtr/Journal.ts"
import { MixedScheduler, Scheduler } from "effect/Scheduler"

const revision = Revision.get("2026-07-28")!
const roundOf = () => new Round(Journal.empty, { revision, capabilities: {} }, 1000, () => {})

/** Runs an effect as a handler of the round. */
const inside = <A>(round: Round, effect: Effect.Effect<A>) =>
  Effect.runForkWith(
    Context.make(ClientInput, round.input).pipe(Context.add(Scheduler, scheduler(new MixedScheduler())))
  )(effect)

describe("Round scheduler", () => {
  it.effect("The round scheduler counts yielding fibers and forked fibers that have not started", () =>
    Effect.gen(function* () {
      const round = roundOf()
      const fiber = inside(
        round,
        Effect.gen(function* () {
          const child = yield* Effect.forkChild(Effect.void)
          yield* Effect.yieldNow
          return yield* Fiber.join(child)
        })
      )
      assert.strictEqual(round.input.ready, 2)
      yield* Fiber.join(fiber)
      assert.strictEqual(round.input.ready, 0)
    })
  )

  it.effect("The round scheduler does not count waiting fibers", () =>
    Effect.gen(function* () {
      const round = roundOf()
      const latch = yield* Deferred.make<void>()
      const fiber = inside(round, Deferred.await(latch))
      assert.strictEqual(round.input.ready, 0)
      yield* Deferred.succeed(latch, undefined)
      yield* Fiber.join(fiber)
    })
  )

  it.effect("The round scheduler counts the fibers of each round separately", () =>
    Effect.gen(function* () {
      const [one, two] = [roundOf(), roundOf()]
      const fibers = [inside(one, Effect.yieldNow), inside(two, Effect.andThen(Effect.yieldNow, Effect.yieldNow))]
      assert.deepStrictEqual([one.input.ready, two.input.ready], [1, 1])
      yield* Fiber.awaitAll(fibers)
      assert.deepStrictEqual([one.input.ready, two.input.ready], [0, 0])
    })
  )

  it("The round scheduler yields whenever its ambient scheduler would, in the same mode", () => {
    class Eager extends MixedScheduler {
      override shouldYield(): boolean {
        return true
      }
    }
    const ambient = new Eager("sync")
    const over = scheduler(ambient)
    assert.strictEqual(over.executionMode, "sync")
    assert.isTrue(over.shouldYield(Effect.runFork(Effect.void)))
  })

  it("The round scheduler can delegate to an ambient scheduler with private fields", () => {
    class Private extends MixedScheduler {
      readonly #yields = true
      override shouldYield(): boolean {
        return this.#yields
      }
    }
    assert.isTrue(scheduler(new Private()).shouldYield(Effect.runFork(Effect.void)))
  })

  it("The round scheduler runs fibers without a round on the ambient dispatcher", () => {
    const ran: Array<number> = []
    const dispatcher = scheduler(new MixedScheduler()).makeDispatcher()
    dispatcher.scheduleTask(() => ran.push(1), 0)
    dispatcher.flush()
    assert.deepStrictEqual(ran, [1])
  })
})
