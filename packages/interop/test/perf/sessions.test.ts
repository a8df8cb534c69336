/** Memory cost of sessions: abandoned in the middle of requests, and idle over HTTP. */
import { assert, describe, it } from "@effect/vitest"
import { Console, Effect } from "effect"
import { idle } from "../support/idle-sessions.ts"
import { leave } from "../support/left-sessions.ts"

const kibibyte = 1024

describe("Session memory", () => {
  it.live("The memory of a thousand abandoned sessions is freed", () =>
    Effect.gen(function* () {
      const { after, before, count } = yield* leave("large")
      assert.strictEqual(count, 1000)
      // One session takes many times that. The rest is code that the engine still compiles and caches.
      assert.isBelow(after.heap - before.heap, count * 3 * kibibyte)
    })
  )

  it.live("An idle HTTP session takes less than 4 KiB, which is freed after it expires", () =>
    Effect.gen(function* () {
      const count = 10_000
      const measured = yield* idle(count)
      const each = (measured.idle.heap - measured.before.heap) / count / kibibyte
      yield* Console.log(`An idle session over HTTP: ${each.toFixed(1)} KiB of heap`)
      assert.isBelow(each, 4)
      // Code that the engine still compiles and caches: a tenth of a session each would be more.
      assert.isBelow(measured.after.heap - measured.before.heap, (count * kibibyte) / 4)
    })
  )
})
