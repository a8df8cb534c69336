/**
 * The rate limit of requests about tasks, per caller: on by default, and never too low for clients that respect the interval.
 */
import * as McpError from "@effect-mcp/protocol/McpError"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as Tasks from "../../src/Tasks.ts"
import * as Client from "../support/client.ts"
import * as Session from "../support/session.ts"
import { tool } from "../support/tools.ts"

const wait = tool("wait", "optional", () => Effect.never)
const features = (options?: Tasks.Options) => Layer.merge(wait, Tasks.layer(options))
const burst = 2000

interface Caller {
  readonly request: (method: string, params?: object) => Effect.Effect<unknown, unknown>
}

/** Number of requests rejected by the rate limit. Any other failure counts as an answer. */
const refusedOf = (caller: Caller, method: string, taskId: unknown, count: number) =>
  Effect.gen(function* () {
    let refused = 0
    for (let n = 0; n < count; n++) {
      yield* Effect.catch(caller.request(method, { taskId }), (error) =>
        Effect.sync(() => {
          if (error instanceof McpError.McpError && error.code === McpError.LimitExceeded) refused++
        })
      )
    }
    return refused
  })

/** A server with the options, a caller with a task, and another caller. */
const callers = {
  "2025-11-25": (options?: Tasks.Options, server = {}) =>
    Effect.gen(function* () {
      const made = yield* Client.serve(features(options), server)
      const caller = yield* Session.connect(made)
      return { caller, other: yield* Session.connect(made), taskId: (yield* caller.start("wait"))["taskId"] }
    }),
  "2026-07-28": (options?: Tasks.Options, server = {}) =>
    Effect.gen(function* () {
      const made = yield* Client.serve(features(options), server)
      const caller = yield* Client.connect(made)
      return { caller, other: yield* Client.connect(made), taskId: (yield* caller.call("wait"))["taskId"] }
    })
}
const methods = {
  "2025-11-25": ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel"],
  "2026-07-28": ["tasks/get", "tasks/update", "tasks/cancel"]
}

describe.each(["2025-11-25", "2026-07-28"] as const)("Task requests in %s", (version) => {
  for (const method of methods[version]) {
    it.effect(
      `A caller over its burst of ${method} requests is rejected with a retry time`,
      () =>
        Effect.gen(function* () {
          const { caller, other } = yield* callers[version]()
          assert.strictEqual(yield* refusedOf(caller, method, "unknown", burst), 0)
          const error: any = yield* Effect.flip(Effect.asVoid(caller.request(method, { taskId: "unknown" })))
          assert.deepInclude(error, {
            code: McpError.LimitExceeded,
            data: { limit: "rateLimit", allowed: 1000, retryAfterMs: 1 }
          })
          assert.strictEqual(yield* refusedOf(other, method, "unknown", 1), 0)
          yield* TestClock.adjust("1 second")
          assert.strictEqual(yield* refusedOf(caller, method, "unknown", 1001), 1)
        }),
      version === "2025-11-25" ? verifies("tasks.security.rate-limited") : {}
    )
  }

  it.effect("A caller polling 64 tasks at the interval is never rejected", () =>
    Effect.gen(function* () {
      const { caller, taskId } = yield* callers[version]({ pollInterval: "10 millis" })
      for (let time = 0; time < 1000; time += 10) {
        assert.strictEqual(yield* refusedOf(caller, "tasks/get", taskId, 64), 0)
        yield* TestClock.adjust(10)
      }
    })
  )

  it.effect("Task requests use the server's rate limit, if it has one", () =>
    Effect.gen(function* () {
      const few = yield* callers[version]({}, { rateLimit: { "tasks/get": 1 } })
      assert.strictEqual(yield* refusedOf(few.caller, "tasks/get", few.taskId, 5), 3)
      for (const rateLimit of [false, { "tasks/get": undefined }]) {
        const free = yield* callers[version]({}, { rateLimit })
        assert.strictEqual(yield* refusedOf(free.caller, "tasks/get", free.taskId, burst + 1), 0)
      }
    })
  )
})
