/** Streams that can be listened to are the streams they say they are. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Stream } from "effect"
import * as Listen from "../../src/transport/Listen.ts"

/** Something to listen to, and how often it was. */
const source = () => {
  let take: ((item: number) => void) | undefined
  let over: (how: Effect.Effect<void, string>) => void = () => {}
  const stats = { listening: 0, stopped: 0 }
  const stream = Listen.make<number, string>((listener) =>
    Effect.onInterrupt(
      Effect.callback<void, string>((resume) => {
        stats.listening++
        take = listener
        over = resume
      }),
      () => Effect.sync(() => stats.stopped++)
    )
  )
  return {
    stream,
    stats,
    say: (...items: ReadonlyArray<number>) => items.forEach((item) => take?.(item)),
    end: (how: Effect.Effect<void, string>) => over(how)
  }
}

const ends = [Effect.void, Effect.fail("broken"), Effect.die("defect")] as const
const each = <A>(stream: Stream.Stream<A, string>, seen: Array<A>) =>
  Listen.forEach(stream, (item) => void seen.push(item))

describe("a stream that can be listened to", () => {
  it.effect("gives the same items and the same end when it pushes and when it is pulled", () =>
    Effect.gen(function* () {
      for (const end of ends) {
        for (const derived of [
          (stream: Stream.Stream<number, string>) => stream,
          (stream: Stream.Stream<number, string>) => Listen.flatMap(stream, (n) => (n === 2 ? [] : [n, n * 10]))
        ]) {
          const runs = [
            (stream: Stream.Stream<number, string>, seen: Array<number>) => each(derived(stream), seen),
            // An ordinary stream, since it is another.
            (stream: Stream.Stream<number, string>, seen: Array<number>) =>
              each(
                Stream.map(derived(stream), (n) => n),
                seen
              ),
            (stream: Stream.Stream<number, string>, seen: Array<number>) =>
              each(derived(Stream.map(stream, (n) => n)), seen)
          ]
          const outcomes: Array<unknown> = []
          for (const run of runs) {
            const { say, stream, end: finish } = source()
            const seen: Array<number> = []
            const fiber = yield* Effect.forkChild(run(stream, seen), { startImmediately: true })
            yield* Effect.yieldNow
            say(1, 2, 3)
            yield* Effect.yieldNow
            say(4)
            finish(end)
            const exit = yield* Fiber.await(fiber)
            outcomes.push([seen, Exit.isSuccess(exit) ? "end" : Cause.squash(exit.cause)])
          }
          assert.deepStrictEqual(outcomes[1], outcomes[0])
          assert.deepStrictEqual(outcomes[2], outcomes[0])
        }
      }
    })
  )

  it.effect("hands over each item in the very call that brought it", () =>
    Effect.gen(function* () {
      const { say, stream } = source()
      const seen: Array<number> = []
      yield* Effect.forkChild(
        each(
          Listen.flatMap(stream, (n) => [n]),
          seen
        ),
        { startImmediately: true }
      )
      say(1)
      assert.deepStrictEqual(seen, [1])
    })
  )

  it.effect("is no longer listened to when that is interrupted", () =>
    Effect.gen(function* () {
      const { stats, stream } = source()
      const fiber = yield* Effect.forkChild(each(stream, []), { startImmediately: true })
      assert.deepStrictEqual(stats, { listening: 1, stopped: 0 })
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(stats, { listening: 1, stopped: 1 })
    })
  )

  it.effect("leaves out nothing that was put around it", () =>
    Effect.gen(function* () {
      const { end, say, stream } = source()
      const seen: Array<number> = []
      const fiber = yield* Effect.forkChild(
        each(
          Stream.filter(stream, (n) => n > 1),
          seen
        ),
        { startImmediately: true }
      )
      yield* Effect.yieldNow
      say(1, 2)
      end(Effect.void)
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(seen, [2])
    })
  )
})
