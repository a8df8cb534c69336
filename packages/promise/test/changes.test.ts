/** Announcements of updates, and subscriptions that end. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { Changes } from "../src/server/changes.ts"

describe("Server announcements", () => {
  it.effect("Updates reach only streams for their URI and leave no subscription once those have ended", () =>
    Effect.gen(function* () {
      const changes = new Changes()
      const seen: Array<string> = []
      const watch = (uri: string, name: string) =>
        Effect.forkChild(
          Stream.runForEach(changes.of(uri), () => Effect.sync(() => seen.push(name))),
          { startImmediately: true }
        )
      const first = yield* watch("a:1", "first")
      const second = yield* watch("a:1", "second")
      const other = yield* watch("a:2", "other")
      yield* quiesce
      changes.announce("a:1")
      yield* quiesce
      yield* Fiber.interrupt(first)
      changes.announce("a:1")
      changes.announce("a:3")
      yield* quiesce
      assert.deepStrictEqual(seen, ["first", "second", "second"])
      assert.strictEqual(changes.size, 2)
      yield* Fiber.interrupt(second)
      yield* Fiber.interrupt(other)
      assert.strictEqual(changes.size, 0)
    })
  )
})
