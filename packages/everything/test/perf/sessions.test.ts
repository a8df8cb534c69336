/** What sessions cost in memory: left in the middle of things, and idle over HTTP. */
import { assert, describe, it } from "@effect/vitest"
import { Console, Effect } from "effect"
import { idle } from "../support/idle-sessions.ts"
import { leave } from "../support/left-sessions.ts"

const kibibyte = 1024

describe("The memory of sessions", () => {
  it.live("The memory of a thousand sessions that were left in the middle of requests is free again", () =>
    Effect.gen(function* () {
      const { after, before, count } = yield* leave("large")
      assert.strictEqual(count, 1000)
      // One session is many times that; what the engine still compiles and caches is less.
      assert.isBelow(after.heap - before.heap, count * 3 * kibibyte)
    })
  )

  it.live("An idle session over HTTP takes less than 4 KiB, and the memory is free again after expiry", () =>
    Effect.gen(function* () {
      const count = 10_000
      const measured = yield* idle(count)
      const each = (measured.idle.heap - measured.before.heap) / count / kibibyte
      yield* Console.log(`An idle session over HTTP: ${each.toFixed(1)} KiB of heap`)
      assert.isBelow(each, 4)
      // What the engine still compiles and caches: a tenth of a session each would be more.
      assert.isBelow(measured.after.heap - measured.before.heap, (count * kibibyte) / 4)
    })
  )
})
