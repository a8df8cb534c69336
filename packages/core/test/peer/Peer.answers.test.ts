/** Answers to requests: results, typed errors, defects and limits. */
import * as McpError from "@effect-mcp/protocol/McpError"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Latch } from "effect"
import { cancel, request, serve, quiesce, success } from "../support/wire.ts"

describe("Answers", () => {
  it.effect(
    "An answer contains its handler's result or typed error",
    () =>
      Effect.gen(function* () {
        const { receive, messages } = yield* serve(({ request: { method } }) =>
          method === "good"
            ? Effect.succeed({ ok: true })
            : Effect.fail(new McpError.McpError({ code: -32602, message: "no", data: { why: 1 } }))
        )
        receive(request(1, "good"))
        receive(request(2, "bad"))
        assert.deepStrictEqual(messages(), [
          success(1, { ok: true }),
          { jsonrpc: "2.0", id: 2, error: { code: -32602, message: "no", data: { why: 1 } } }
        ])
      }),
    verifies("json-rpc.response.result-or-error", "json-rpc.error.code-and-message", "json-rpc.error.code-integer")
  )

  it.effect("A defect is answered with a bare -32603, and the peer continues", () =>
    Effect.gen(function* () {
      const { receive, messages } = yield* serve(({ request: { method } }) =>
        method === "die" ? Effect.die(new Error("secret")) : Effect.succeed({})
      )
      receive(request(1, "die"))
      receive(request(2))
      yield* quiesce
      assert.deepStrictEqual(messages(), [
        { jsonrpc: "2.0", id: 1, error: { code: -32603, message: "Internal error" } },
        success(2)
      ])
    })
  )

  const cyclic: Record<string, unknown> = {}
  cyclic.self = cyclic
  const notJson: ReadonlyArray<readonly [name: string, value: unknown]> = [
    ["a BigInt", 1n],
    ["a cycle", cyclic],
    ["undefined", undefined],
    ["a function", () => 1],
    ["a symbol", Symbol("s")],
    ["an object with a throwing toJSON", { toJSON: () => assert.fail("secret") }],
    ["an object whose toJSON returns nothing", { toJSON: () => undefined }]
  ]
  for (const [name, value] of notJson) {
    it.effect(`A result that is ${name} is answered with -32603`, () =>
      Effect.gen(function* () {
        const { receive, messages } = yield* serve(() => Effect.succeed(value))
        receive(request(1))
        assert.deepStrictEqual(messages(), [
          { jsonrpc: "2.0", id: 1, error: { code: -32603, message: "Internal error" } }
        ])
      })
    )
  }

  it.effect("An error with non-JSON data is answered with -32603", () =>
    Effect.gen(function* () {
      const { receive, messages } = yield* serve(() =>
        Effect.fail(new McpError.McpError({ code: 1, message: "m", data: 1n }))
      )
      receive(request(1))
      assert.strictEqual(messages()[0].error.code, -32603)
    })
  )

  it.effect(
    "A notification, known or unknown, is never answered",
    () =>
      Effect.gen(function* () {
        const { receive, messages, notified } = yield* serve(() => Effect.succeed({}))
        receive({ jsonrpc: "2.0", method: "notifications/initialized" })
        receive({ jsonrpc: "2.0", method: "nonsense" })
        receive({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 99, progress: 1 } })
        receive({ jsonrpc: "2.0", method: "notifications/progress" })
        yield* quiesce
        assert.deepStrictEqual(messages(), [])
        assert.deepStrictEqual(notified, ["notifications/initialized", "nonsense"])
      }),
    verifies("json-rpc.notification.no-response")
  )
})

describe("Limits", () => {
  it.effect("Requests run up to the number of permits, in order of arrival", () =>
    Effect.gen(function* () {
      const latches = new Map<unknown, Latch.Latch>()
      const started: Array<unknown> = []
      const { receive, peer, messages } = yield* serve(
        ({ request: { id } }) =>
          Effect.suspend(() => {
            started.push(id)
            const latch = Latch.makeUnsafe(false)
            latches.set(id, latch)
            return Effect.as(latch.await, {})
          }),
        { inFlight: 2, pending: 10 }
      )
      for (const id of [1, 2, 3, 4]) receive(request(id))
      assert.deepStrictEqual(started, [1, 2])
      assert.deepStrictEqual(
        (yield* peer.inFlight).map(({ id, state }) => [id, state]),
        [
          [1, "running"],
          [2, "running"],
          [3, "pending"],
          [4, "pending"]
        ]
      )
      latches.get(2)?.openUnsafe()
      yield* quiesce
      assert.deepStrictEqual(started, [1, 2, 3])
      receive(cancel(1))
      yield* quiesce
      assert.deepStrictEqual(started, [1, 2, 3, 4])
      assert.deepStrictEqual(messages(), [success(2)])
    })
  )

  it.effect("Requests are rejected while the queue behind the permits is full", () =>
    Effect.gen(function* () {
      const latch = Latch.makeUnsafe(false)
      const { receive, messages } = yield* serve(() => Effect.as(latch.await, {}), { inFlight: 1, pending: 2 })
      for (const id of [1, 2, 3, 4, 5]) receive(request(id))
      assert.deepStrictEqual(
        messages().map(({ id, error }) => [id, error.code]),
        [
          [4, McpError.LimitExceeded],
          [5, McpError.LimitExceeded]
        ]
      )
      latch.openUnsafe()
      yield* quiesce
      receive(request(4))
      assert.deepStrictEqual(
        messages()
          .slice(2)
          .map(({ id }) => id),
        [1, 2, 3, 4]
      )
    })
  )

  it.effect("A long queue of synchronous handlers does not overflow", () =>
    Effect.gen(function* () {
      const latch = Latch.makeUnsafe(false)
      const { receive, messages, peer } = yield* serve(
        ({ request: { id } }) => (id === 0 ? Effect.as(latch.await, {}) : Effect.succeed({})),
        { inFlight: 1, pending: 20_000 }
      )
      for (let id = 0; id <= 20_000; id++) receive(request(id))
      latch.openUnsafe()
      yield* peer.idle
      assert.strictEqual(messages().length, 20_001)
    })
  )

  it.effect("A peer is idle if no request runs or waits for a permit", () =>
    Effect.gen(function* () {
      const latch = Latch.makeUnsafe(false)
      const { receive, messages, peer } = yield* serve(
        () => Effect.andThen(Effect.yieldNow, Effect.as(latch.await, {})),
        { inFlight: 1 }
      )
      yield* peer.idle
      for (const id of [1, 2, 3]) receive(request(id))
      const idle = yield* Effect.forkChild(peer.idle, { startImmediately: true })
      yield* quiesce
      assert.isUndefined(idle.pollUnsafe())
      latch.openUnsafe()
      yield* quiesce
      assert.isDefined(idle.pollUnsafe())
      assert.strictEqual(messages().length, 3)
    })
  )

  it.effect("A peer is busy while a request waits behind a handler that ends immediately", () =>
    Effect.gen(function* () {
      const latches = [1, 2, 3].map((id) => Latch.makeUnsafe(id === 2))
      const { receive, messages, peer } = yield* serve(
        ({ request: { id } }) => Effect.as(latches[Number(id) - 1]!.await, {}),
        { inFlight: 1 }
      )
      for (const id of [1, 2, 3]) receive(request(id))
      const idle = yield* Effect.forkChild(peer.idle, { startImmediately: true })
      latches[0]!.openUnsafe()
      yield* quiesce
      assert.deepStrictEqual(messages(), [success(1), success(2)])
      assert.isUndefined(idle.pollUnsafe())
      latches[2]!.openUnsafe()
      yield* quiesce
      assert.isDefined(idle.pollUnsafe())
    })
  )
})

describe("Subscriptions", () => {
  const options = {
    inFlight: 1,
    pending: 2,
    isSubscription: ({ method }: { readonly method: string }) => method === "listen"
  }

  it.effect("Subscriptions take no permit, and a peer is idle while they run", () =>
    Effect.gen(function* () {
      const { receive, messages, peer } = yield* serve(
        ({ request: { method } }) => (method === "listen" ? Effect.never : Effect.succeed({})),
        options
      )
      receive(request("l1", "listen"))
      receive(request("l2", "listen"))
      receive(request(1))
      assert.deepStrictEqual(messages(), [success(1)])
      yield* peer.idle
      assert.strictEqual((yield* peer.inFlight).length, 2)
    })
  )

  it.effect("subscriptionsEnded waits for all subscriptions but not for other requests", () =>
    Effect.gen(function* () {
      const latches = { l1: yield* Deferred.make<void>(), l2: yield* Deferred.make<void>() }
      const { receive, messages, peer } = yield* serve(
        ({ request: { id } }) =>
          id === "l1" || id === "l2" ? Effect.as(Deferred.await(latches[id]), {}) : Effect.never,
        options
      )
      yield* peer.subscriptionsEnded
      receive(request(1))
      receive(request("l1", "listen"))
      receive(request("l2", "listen"))
      const seen: Array<unknown> = []
      const ended = yield* Effect.forkChild(
        Effect.map(peer.subscriptionsEnded, () => seen.push(...messages())),
        { startImmediately: true }
      )
      yield* Deferred.succeed(latches.l1, undefined)
      yield* quiesce
      assert.isUndefined(ended.pollUnsafe())
      yield* Deferred.succeed(latches.l2, undefined)
      yield* Fiber.join(ended)
      assert.deepStrictEqual(seen, [success("l1"), success("l2")])
    })
  )

  it.effect("Subscriptions start even if every permit is taken, and are limited like waiting requests", () =>
    Effect.gen(function* () {
      const { receive, messages, peer } = yield* serve(() => Effect.never, options)
      receive(request(1))
      for (const id of ["l1", "l2", "l3"]) receive(request(id, "listen"))
      assert.deepStrictEqual(
        messages().map(({ id, error }) => [id, error.code]),
        [["l3", McpError.LimitExceeded]]
      )
      receive(cancel("l1"))
      yield* quiesce
      receive(request("l4", "listen"))
      assert.sameMembers(
        (yield* peer.inFlight).map(({ id }) => id),
        [1, "l2", "l4"]
      )
    })
  )

  it.effect("Ending a subscription frees no permit for a waiting request", () =>
    Effect.gen(function* () {
      const started: Array<unknown> = []
      const { receive } = yield* serve(
        ({ request: { id } }) => Effect.suspend(() => (started.push(id), Effect.never)),
        options
      )
      receive(request(1))
      receive(request("l1", "listen"))
      receive(request(2))
      receive(cancel("l1"))
      yield* quiesce
      assert.deepStrictEqual(started, [1, "l1"])
      receive(cancel(1))
      yield* quiesce
      assert.deepStrictEqual(started, [1, "l1", 2])
    })
  )
})
