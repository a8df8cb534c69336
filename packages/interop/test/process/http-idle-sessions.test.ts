/** Idle sessions over HTTP leave nothing behind once they have expired. */
import { scaled } from "@effect-mcp/spec/Scale"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { idle } from "../support/idle-sessions.ts"

const count = scaled(500, 10_000)

it.live("An idle HTTP session is a single fiber, and nothing remains after it expires", () =>
  Effect.gen(function* () {
    const measured = yield* idle(count)
    const { after, before } = measured
    assert.deepStrictEqual([before.sessions, measured.idle.sessions, after.sessions], [0, count, 0])
    // And two that monitor all of them.
    assert.isAtMost(measured.idle.fibers - before.fibers, count + 2)
    // A fiber of the start may end only after the first measurement.
    assert.isAtMost(after.fibers, before.fibers)
  })
)
