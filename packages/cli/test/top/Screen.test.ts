import { assert, describe, it } from "@effect/vitest"
import type { Snapshot } from "@effect-mcp/operate/Admin"
import { type Cause, Effect, Fiber, Option, Queue, Terminal } from "effect"
import { TestClock } from "effect/testing"
import { code, CommandFailure } from "../../src/terminal/Exit.ts"
import { plain } from "../../src/terminal/Style.ts"
import type { AdminEndpoint } from "../../src/top/Endpoint.ts"
import * as Screen from "../../src/top/Screen.ts"

const snapshot: Snapshot = { time: 0, draining: false, sessions: [], requests: [] }
const away = new CommandFailure({ code: code.connection, message: "The admin endpoint cannot be reached" })

/** An endpoint that is away at times. */
const endpointOf = (isAway: () => boolean): AdminEndpoint => ({
  snapshot: Effect.suspend(() => (isAway() ? Effect.fail(away) : Effect.succeed(snapshot))),
  recent: () => Effect.undefined,
  interrupt: () => Effect.succeed(true),
  level: () => Effect.void,
  messages: () => Effect.succeed([]),
  drain: () => Effect.succeed(true)
})

describe("Screen", () => {
  it.effect("The view goes on when the endpoint was away", () =>
    Effect.gen(function* () {
      const keys = yield* Queue.unbounded<Terminal.UserInput, Cause.Done>()
      let shown = ""
      let isAway = false
      const terminal = Terminal.make({
        columns: Effect.succeed(200),
        rows: Effect.succeed(24),
        size: Effect.die("not asked for"),
        readLine: Effect.die("not asked for"),
        readInput: Effect.succeed(keys),
        display: (text) => Effect.sync(() => void (shown = text))
      })
      const view = Screen.show(
        endpointOf(() => isAway),
        {},
        "1 second",
        plain
      )
      const running = yield* Effect.forkChild(Effect.provideService(view, Terminal.Terminal, terminal), {
        startImmediately: true
      })
      isAway = true
      yield* TestClock.adjust("1 second")
      assert.include(shown, "The admin endpoint cannot be reached. Trying again")
      isAway = false
      yield* TestClock.adjust("1 second")
      assert.notInclude(shown, "Trying again")
      yield* Queue.offer(keys, {
        input: Option.some("q"),
        key: { name: "q", ctrl: false, meta: false, shift: false }
      })
      yield* Fiber.join(running)
    })
  )
})
