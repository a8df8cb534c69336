/** Waiters for changes of a task, whose reads may coincide with the store's poll. */
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Option } from "effect"
import { Changes, type Look } from "../../src/sql/Changes.ts"

const id = "t"
const none: Option.Option<string> = Option.none()

describe("Change waiters", () => {
  it.effect("A waiter reads again if a change arrives during its first read", () =>
    Effect.gen(function* () {
      const changes = new Changes()
      const read = yield* Deferred.make<void>()
      let looks = 0
      const look = Effect.suspend((): Effect.Effect<Look<string>> => {
        looks++
        // The first read returns version 1, and ends after the poll has seen version 2.
        if (looks === 1) return Effect.as(Deferred.await(read), { version: 1, found: none })
        return Effect.succeed({ version: 2, found: Option.some("answer") })
      })
      const waiter = yield* Effect.forkChild(changes.until(id, look), { startImmediately: true })
      changes.polled([{ id, version: 2 }])
      yield* Deferred.succeed(read, undefined)
      yield* quiesce
      assert.deepStrictEqual(waiter.pollUnsafe(), Exit.succeed("answer"))
      assert.strictEqual(looks, 2)
    })
  )

  it.effect("A waiter reads again if another waiter saw a newer version before the poll", () =>
    Effect.gen(function* () {
      const changes = new Changes()
      let version = 1
      const answer = Effect.sync((): Look<string> => ({
        version,
        found: version === 1 ? none : Option.some("answer")
      }))
      const end = Effect.sync((): Look<string> => ({ version, found: none }))
      const first = yield* Effect.forkChild(changes.until(id, answer), { startImmediately: true })
      version = 2
      yield* Effect.forkChild(changes.until(id, end), { startImmediately: true })
      changes.polled([{ id, version: 2 }])
      yield* quiesce
      assert.deepStrictEqual(first.pollUnsafe(), Exit.succeed("answer"))
    })
  )
})
