/** Progress of one request: reports that are sent, reports that are dropped, and a wire that does not move. */
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Latch } from "effect"
import { TestClock } from "effect/testing"
import * as Progress from "../../src/request/Progress.ts"
import { quiesce } from "../support/wire.ts"

/** A wire that can be stopped; `sent` contains the values it accepted. */
const wire = (token: string | number | undefined = 0) => {
  const ready = Latch.makeUnsafe(true)
  const sent: Array<any> = []
  let writable = true
  const move = (moves: boolean) => {
    writable = moves
    if (moves) ready.openUnsafe()
    else ready.closeUnsafe()
  }
  const service = Progress.make({
    token,
    writable: () => writable,
    ready: ready.await,
    send: (event) => void sent.push(event)
  })
  return { sent, move, service, report: service.report, values: () => sent.map(({ progress }) => progress) }
}

describe("Progress reports", () => {
  it.effect(
    "A report is sent with the request's token, regardless of the token's type",
    () =>
      Effect.gen(function* () {
        for (const token of [0, "", 7, "7"]) {
          const { sent, report } = wire(token)
          yield* report(1, { total: 2, message: "half" })
          yield* report(2)
          assert.deepStrictEqual(sent, [
            { progressToken: token, progress: 1, total: 2, message: "half" },
            { progressToken: token, progress: 2 }
          ])
        }
      }),
    verifies("progress.token.from-active-request")
  )

  it.effect("A report is not sent for a request without a token", () =>
    Effect.gen(function* () {
      const sent: Array<unknown> = []
      const service = Progress.make({
        token: undefined,
        writable: () => false,
        ready: Effect.never,
        send: (event) => void sent.push(event)
      })
      assert.isFalse(service.wanted)
      yield* service.report(1)
      assert.deepStrictEqual(sent, [])
    })
  )

  it.effect(
    "A report that does not increase is dropped",
    () =>
      Effect.gen(function* () {
        const { report, values } = wire()
        for (const value of [-5, 0, 0, -1, 0.5, NaN, 0.5, 2, 1, Infinity, 3]) yield* report(value)
        assert.deepStrictEqual(values(), [-5, 0, 0.5, 2, 3])
      }),
    verifies("progress.value.increases")
  )

  it.effect("A report suspends the handler while the connection has no room", () =>
    Effect.gen(function* () {
      const { report, values, move } = wire()
      move(false)
      const fiber = yield* Effect.forkChild(report(1), { startImmediately: true })
      yield* TestClock.adjust("4 seconds")
      assert.isUndefined(fiber.pollUnsafe())
      assert.deepStrictEqual(values(), [])
      move(true)
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(values(), [1])
    })
  )

  it.effect(
    "A report waits at most the stall time, and the latest value is sent later",
    () =>
      Effect.gen(function* () {
        const { report, values, move } = wire()
        move(false)
        const moved = Latch.makeUnsafe(false)
        const handler = yield* Effect.forkChild(
          Effect.gen(function* () {
            for (let value = 1; value <= 1000; value++) yield* report(value)
            yield* moved.await
            yield* report(1001)
          }),
          { startImmediately: true }
        )
        yield* TestClock.adjust("5 seconds")
        assert.deepStrictEqual(values(), [])
        move(true)
        yield* quiesce
        assert.deepStrictEqual(values(), [1000])
        moved.openUnsafe()
        yield* Fiber.join(handler)
        assert.deepStrictEqual(values(), [1000, 1001])
      }),
    verifies("progress.rate-limited")
  )

  it.effect("A report waits again when the connection stalls again", () =>
    Effect.gen(function* () {
      const { report, values, move } = wire()
      move(false)
      const first = yield* Effect.forkChild(report(1), { startImmediately: true })
      move(true)
      yield* Fiber.join(first)
      move(false)
      const second = yield* Effect.forkChild(report(2), { startImmediately: true })
      yield* quiesce
      assert.isUndefined(second.pollUnsafe())
      move(true)
      yield* Fiber.join(second)
      assert.deepStrictEqual(values(), [1, 2])
    })
  )

  it.effect("A waiting report is never sent after a newer one", () =>
    Effect.gen(function* () {
      const { report, values, move } = wire()
      move(false)
      const fibers = [1, 2, 3].map((value) => Effect.forkChild(report(value), { startImmediately: true }))
      const waiting = yield* Effect.all(fibers)
      move(true)
      yield* report(4)
      yield* Fiber.joinAll(waiting)
      assert.deepStrictEqual(
        values(),
        values().toSorted((a, b) => a - b)
      )
      assert.strictEqual(values().at(-1), 4)
    })
  )

  it.effect(
    "The report kept during a stall is never sent after a newer one",
    () =>
      Effect.gen(function* () {
        const ready = Latch.makeUnsafe(false)
        const sent: Array<number> = []
        let writable = false
        const { report } = Progress.make({
          token: 1,
          writable: () => writable,
          ready: ready.await,
          send: ({ progress }) => void sent.push(progress)
        })
        const handler = yield* Effect.forkChild(
          Effect.gen(function* () {
            yield* report(1)
            yield* report(2)
            // The wire has room before the waiting reports are notified.
            writable = true
            yield* report(3)
            ready.openUnsafe()
            return yield* Effect.never
          }),
          { startImmediately: true }
        )
        yield* TestClock.adjust(Progress.stallTime)
        yield* quiesce
        yield* report(4)
        assert.deepStrictEqual(sent, [3, 4])
        yield* Fiber.interrupt(handler)
      }),
    verifies("progress.value.increases")
  )

  it.effect("A report leaves no fiber behind if its handler ends during a stall", () =>
    Effect.gen(function* () {
      const { report, values, move } = wire()
      move(false)
      const handler = yield* Effect.forkChild(report(1), { startImmediately: true })
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(handler)
      move(true)
      yield* quiesce
      assert.deepStrictEqual(values(), [])
    })
  )
})
