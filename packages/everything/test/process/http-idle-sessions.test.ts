/** Idle sessions over HTTP leave nothing behind once they have expired. */
import { scaled } from "@effect-mcp/spec/Scale"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { idle } from "../support/idle-sessions.ts"

const count = scaled(500, 10_000)

it.live("Idle sessions over HTTP are a fiber each, and nothing is left once they have expired", () =>
  Effect.gen(function* () {
    const measured = yield* idle(count)
    const { after, before } = measured
    assert.deepStrictEqual([before.sessions, measured.idle.sessions, after.sessions], [0, count, 0])
    // And two that look after all of them.
    assert.isAtMost(measured.idle.fibers - before.fibers, count + 2)
    // A fiber of the start may still end after the first look.
    assert.isAtMost(after.fibers, before.fibers)
  })
)
