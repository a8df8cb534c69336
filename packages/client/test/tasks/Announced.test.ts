/** Announcements of tasks: through a subscription in 2026-07-28, through unrequested notifications in 2025-11-25. */
import { verifies } from "@effect-mcp/spec/verifies"
import * as McpError from "@effect-mcp/protocol/McpError"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { quiesce } from "../support/connected.ts"
import { fork } from "../support/recovering.ts"
import * as Modern from "../support/modern.ts"
import { ended, serving, state, sum } from "../support/tasks.ts"

const working = ["working"] as const

describe("Announced tasks in 2026-07-28", () => {
  const version = Modern.version
  const subscribed = Effect.fnUntraced(function* (options: Partial<Parameters<typeof serving>[0]> = {}) {
    const { answer, next } = yield* Modern.subscriptions(true)
    const all = yield* serving({
      version,
      states: [working],
      ...options,
      answers: { "subscriptions/listen": answer, ...options.answers }
    })
    const call = yield* fork(all.client.callToolByName("add"))
    return { ...all, call, subscription: yield* next }
  })

  it.effect("An announced task ends without a read and closes its subscription", () =>
    Effect.gen(function* () {
      const { call, seen, server, subscription } = yield* subscribed()
      assert.deepStrictEqual(subscription.filter, { taskIds: ["t1"] })
      subscription.tell("notifications/tasks", state(version, "working", { taskId: "t2", statusMessage: "other" }))
      subscription.tell("notifications/tasks", state(version, "completed", { taskId: "t2", result: { content: [] } }))
      subscription.tell("notifications/tasks", { wrong: true })
      yield* quiesce
      assert.isUndefined(call.pollUnsafe())
      subscription.tell("notifications/tasks", state(version, "completed", { result: sum }))
      assert.deepStrictEqual((yield* Fiber.join(call)).structuredContent, { sum: 3 })
      yield* quiesce
      assert.strictEqual(seen.reads, 0)
      assert.include(Modern.methods(server), "notifications/cancelled")
    })
  )

  it.effect("An announced task is read after its interval, then once a minute", () =>
    Effect.gen(function* () {
      const { seen } = yield* subscribed()
      const reads = Effect.fnUntraced(function* (millis: number) {
        yield* quiesce
        yield* TestClock.adjust(millis)
        yield* quiesce
        return seen.reads
      })
      assert.deepStrictEqual([yield* reads(500), yield* reads(59_999), yield* reads(1)], [1, 1, 2])
    })
  )

  it.effect("At most four of a client's tasks have subscriptions", () =>
    Effect.gen(function* () {
      const { answer, opened } = yield* Modern.subscriptions(true)
      const { client, server } = yield* serving({
        version,
        states: [working],
        answers: { "subscriptions/listen": answer }
      })
      const [first] = yield* Effect.replicateEffect(fork(client.callToolByName("add")), 6)
      yield* quiesce
      assert.strictEqual(yield* opened, 4)
      assert.lengthOf(server.requests("tools/call"), 6)
      if (first !== undefined) yield* Fiber.interrupt(first)
      yield* fork(client.callToolByName("add"))
      yield* quiesce
      assert.strictEqual(yield* opened, 5)
    })
  )

  it.effect("A task falls back to polling if its subscription is rejected or not granted", () =>
    Effect.gen(function* () {
      const { client, seen } = yield* serving({ version, states: [working, working, ["completed", { result: sum }]] })
      yield* ended(yield* fork(client.callToolByName("add")))
      assert.strictEqual(seen.reads, 3)
      const refusing = yield* serving({
        version,
        answers: { "subscriptions/listen": () => McpError.methodNotFound("subscriptions/listen") }
      })
      yield* ended(yield* fork(refusing.client.callToolByName("add")))
      assert.strictEqual(refusing.seen.reads, 1)
    })
  )
})

describe("Announced tasks in 2025-11-25", () => {
  const version = "2025-11-25"

  it.effect(
    "A session task is polled, and its announced end ends the polling",
    () =>
      Effect.gen(function* () {
        const { client, seen, server } = yield* serving({ version, states: [working] })
        const call = yield* fork(client.callToolByName("add"))
        yield* quiesce
        // More often than the interval, without postponing the reads.
        for (let i = 0; i < 4; i++) {
          server.peer.notify("notifications/tasks/status", state(version, "working"))
          server.peer.notify("notifications/tasks/status", state(version, "completed", { taskId: "t2" }))
          yield* TestClock.adjust(250)
          yield* quiesce
        }
        assert.strictEqual(seen.reads, 2)
        server.peer.notify("notifications/tasks/status", state(version, "completed"))
        assert.deepStrictEqual((yield* Fiber.join(call)).structuredContent, { sum: 3 })
        assert.deepStrictEqual(
          server.requests("tasks/result").map(({ params }) => params),
          [{ taskId: "t1" }]
        )
      }),
    verifies("tasks.status.not-relied-on", "tasks.status.still-polls")
  )
})
