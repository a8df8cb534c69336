/** Deadlines of many entries: each fires once and on time, and a fiber runs only while there are entries. */
import { DeadlineQueue, Deadlines } from "@effect-mcp/core/internal/inFlight"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, type Fiber } from "effect"
import { TestClock } from "effect/testing"

const forking = Effect.gen(function* () {
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const fibers: Array<Fiber.Fiber<void>> = []
  const fork = (effect: Effect.Effect<void>) => {
    const fiber = run(effect)
    fibers.push(fiber)
    return fiber
  }
  const running = () => fibers.filter((fiber) => fiber.pollUnsafe() === undefined).length
  return { clock: yield* Clock.Clock, fork, running, started: () => fibers.length }
})

const queueOf = Effect.fnUntraced(function* (delay: number) {
  const { clock, fork, running, started } = yield* forking
  const met: Array<string> = []
  return { queue: new DeadlineQueue<string>(delay, clock, fork, (entry) => met.push(entry)), met, running, started }
})

describe("Deadline queue", () => {
  it.effect("A deadline fires once, exactly when its delay has passed", () =>
    Effect.gen(function* () {
      const { met, queue } = yield* queueOf(10_000)
      queue.add("a")
      yield* TestClock.adjust("4 seconds")
      queue.add("b")
      yield* TestClock.adjust("5999 millis")
      assert.deepStrictEqual(met, [])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(met, ["a"])
      queue.add("a")
      yield* TestClock.adjust("4 seconds")
      assert.deepStrictEqual(met, ["a", "b"])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(met, ["a", "b", "a"])
    })
  )

  it.effect("Adding an entry again restarts its delay, and a removed entry never fires", () =>
    Effect.gen(function* () {
      const { met, queue } = yield* queueOf(10_000)
      queue.add("a")
      queue.add("b")
      yield* TestClock.adjust("9 seconds")
      queue.add("a")
      queue.remove("b")
      yield* TestClock.adjust("9 seconds")
      assert.deepStrictEqual(met, [])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(met, ["a"])
    })
  )

  it.effect("All entries share one fiber, which ends a second after the last entry", () =>
    Effect.gen(function* () {
      const { queue, running, started } = yield* queueOf(10_000)
      assert.strictEqual(started(), 0)
      const names = Array.from({ length: 100 }, (_, at) => `${at}`)
      for (const name of names) {
        queue.add(name)
        yield* TestClock.adjust("10 millis")
      }
      assert.deepStrictEqual([running(), started()], [1, 1])
      for (const name of names) queue.remove(name)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(running(), 0)
      queue.add("late")
      assert.strictEqual(running(), 1)
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(running(), 0)
    })
  )

  it.effect("Entries added and removed within a second reuse the same fiber", () =>
    Effect.gen(function* () {
      const { met, queue, started } = yield* queueOf(10_000)
      for (let at = 0; at < 10; at++) {
        queue.add("a")
        queue.remove("a")
        yield* TestClock.adjust("10 millis")
      }
      // The first sleeps until the first deadline, the second until the end of its lingering time.
      assert.strictEqual(started(), 2)
      assert.deepStrictEqual(met, [])
    })
  )

  it.effect("A discarded timer delays a later deadline by at most a millisecond", () =>
    Effect.gen(function* () {
      const { clock, fork, running } = yield* forking
      let discarded = true
      const met: Array<string> = []
      const discarding = (effect: Effect.Effect<void>) => fork(discarded ? Effect.never : effect)
      const queue = new DeadlineQueue<string>(10_000, clock, discarding, (entry) => met.push(entry))
      queue.add("a")
      queue.remove("a")
      discarded = false
      for (const name of ["b", "c"]) {
        yield* TestClock.adjust("1 minute")
        queue.add(name)
        yield* TestClock.adjust("10 seconds")
        assert.strictEqual(met.at(-1), name)
      }
      yield* TestClock.adjust("1 second")
      assert.strictEqual(running(), 0)
    })
  )

  it.effect("A fiber that never ran is replaced when the last entry is removed", () =>
    Effect.gen(function* () {
      const { clock, fork, started } = yield* forking
      const queue = new DeadlineQueue<string>(
        10_000,
        clock,
        () => fork(Effect.never),
        () => {}
      )
      queue.add("a")
      yield* TestClock.adjust("1 minute")
      queue.remove("a")
      assert.strictEqual(started(), 2)
    })
  )

  it.effect("An entry that throws when due does not delay other entries", () =>
    Effect.gen(function* () {
      const { clock, fork } = yield* forking
      const met: Array<string> = []
      const queue = new DeadlineQueue<string>(10_000, clock, fork, (entry) => {
        if (entry === "bad") throw new Error("bad")
        met.push(entry)
      })
      for (const name of ["bad", "a"]) queue.add(name)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(met, ["a"])
      queue.add("b")
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(met, ["a", "b"])
    })
  )

  it.effect("A delay of 0 fires immediately, and an infinite delay needs no fiber", () =>
    Effect.gen(function* () {
      const zero = yield* queueOf(0)
      zero.queue.add("a")
      assert.deepStrictEqual([zero.met, zero.running()], [["a"], 0])
      const never = yield* queueOf(Infinity)
      never.queue.add("a")
      yield* TestClock.adjust("1 day")
      assert.deepStrictEqual([never.met, never.started()], [[], 0])
    })
  )
})

describe("Deadlines checked in rounds", () => {
  it.effect("Rounds start once, repeat while entries remain and restart after they end", () =>
    Effect.gen(function* () {
      const { clock, fork, running, started } = yield* forking
      let rounds = 0
      const deadlines = new Deadlines(clock, fork, { look: (now) => (++rounds % 3 === 0 ? Infinity : now + 1000) })
      deadlines.begin(1000)
      deadlines.begin(1000)
      assert.strictEqual(started(), 1)
      yield* TestClock.adjust("1 second")
      deadlines.begin(1000)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual([rounds, running(), started()], [3, 0, 1])
      deadlines.begin(1000)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([rounds, running()], [4, 1])
      deadlines.close()
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual([rounds, running()], [4, 0])
    })
  )

  it.effect("Rounds survive a discarded timer and an error, and never start for Infinity", () =>
    Effect.gen(function* () {
      const { clock, fork, started } = yield* forking
      let rounds = 0
      const look = (now: number): number => {
        if (++rounds === 1) throw new Error("look")
        return now + 10_000
      }
      const discarding = (effect: Effect.Effect<void>) => fork(started() === 0 ? Effect.never : effect)
      const deadlines = new Deadlines(clock, discarding, { look })
      deadlines.begin(Infinity)
      assert.strictEqual(started(), 0)
      deadlines.begin(10_000)
      yield* TestClock.adjust("1 minute")
      for (let call = 0; call < 16; call++) deadlines.begin(10_000)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(rounds, 1)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(rounds, 2)
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(rounds, 3)
      deadlines.close()
      deadlines.begin(10_000)
      deadlines.add(0, 0)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(rounds, 3)
    })
  )

  it.effect("An earlier deadline fires on time, and one added during a round is kept", () =>
    Effect.gen(function* () {
      const { clock, fork } = yield* forking
      const met: Array<number> = []
      let dues: ReadonlyArray<number> = []
      const deadlines: Deadlines = new Deadlines(clock, fork, {
        look: (now) => {
          met.push(...dues.filter((due) => due <= now))
          dues = dues.filter((due) => due > now)
          if (met.length === 1) {
            const due = now + 5
            dues = [...dues, due]
            deadlines.add(due, now)
          }
          return Math.min(Infinity, ...dues)
        }
      })
      const start = deadlines.now
      dues = [start + 1000, start + 10]
      deadlines.add(start + 1000, start)
      deadlines.add(start + 10, start)
      yield* TestClock.adjust("10 millis")
      assert.deepStrictEqual(met, [start + 10])
      yield* TestClock.adjust("5 millis")
      assert.deepStrictEqual(met, [start + 10, start + 15])
      yield* TestClock.adjust("985 millis")
      assert.deepStrictEqual(met, [start + 10, start + 15, start + 1000])
    })
  )
})
