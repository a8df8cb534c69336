/** What a session writes to a store that does not keep up. */
import { SessionLog } from "@effect-mcp/server/http/SessionLog"
import { makeMemory } from "@effect-mcp/server/session/EventStore"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Latch } from "effect"
import { TestClock } from "effect/testing"

const megabyte = 1024 * 1024
const event = (seq: number) => ({ seq, text: "x".repeat(megabyte / 4) })

describe("a store that does not keep up", () => {
  it.effect("has a bounded amount wait for it; what it missed is a gap, and what comes later is kept again", () =>
    Effect.gen(function* () {
      const gate = Latch.makeUnsafe(false)
      const memory = makeMemory({ maxBytesPerStream: 64 * megabyte })
      const kept: Array<number> = []
      const store = {
        ...memory,
        append: (key: Parameters<typeof memory.append>[0], events: Parameters<typeof memory.append>[1]) =>
          Effect.andThen(
            gate.await,
            Effect.andThen(
              Effect.sync(() => kept.push(...events.map(({ seq }) => seq))),
              memory.append(key, events)
            )
          )
      }
      const log = new SessionLog(store, "s", Effect.runFork)
      const stream = log.of("1")
      for (let seq = 0; seq < 100; seq++) stream.append(event(seq))
      gate.openUnsafe()
      assert.isAbove((yield* stream.after(0)).length, 0)
      assert.isAtMost(kept.length, 18)
      stream.append(event(100))
      assert.deepStrictEqual(
        (yield* stream.after(99)).map(({ seq }) => seq),
        [100]
      )
    })
  )

  it.effect("is waited for a while when it is read, and when all of it is to go", () =>
    Effect.gen(function* () {
      const log = new SessionLog({ ...makeMemory(), append: () => Effect.never }, "s", Effect.runFork)
      const stream = log.of("1")
      stream.append(event(0))
      for (const [waiting, patience] of [
        [stream.after(-1), "10 seconds"],
        [log.close, "1 second"]
      ] as const) {
        const fiber = yield* Effect.forkChild(Effect.exit(waiting as Effect.Effect<unknown, unknown>), {
          startImmediately: true
        })
        yield* TestClock.adjust("900 millis")
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust(patience)
        assert.strictEqual(Exit.isFailure(yield* Fiber.join(fiber)), patience === "10 seconds")
      }
    })
  )

  it.effect("has a bounded number of streams to forget, and forgets again when it has caught up", () =>
    Effect.gen(function* () {
      const gate = Latch.makeUnsafe(false)
      let forgotten = 0
      const store = { ...makeMemory(), append: () => gate.await, forget: () => Effect.sync(() => void forgotten++) }
      const log = new SessionLog(store, "s", Effect.runFork)
      log.of("0").append(event(0))
      yield* Effect.yieldNow
      for (let stream = 0; stream < 10_000; stream++) log.forget(`${stream}`)
      gate.openUnsafe()
      yield* Effect.exit(log.of("0").after(-1))
      assert.isAtMost(forgotten, 5000)
      forgotten = 0
      log.forget("1")
      yield* Effect.exit(log.of("0").after(-1))
      assert.strictEqual(forgotten, 1)
    })
  )
})
