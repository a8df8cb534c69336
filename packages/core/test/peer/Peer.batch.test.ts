/** JSON-RPC batches, which 2025-03-26 receives: one array in, at most one array out. */
import * as McpError from "@effect-mcp/protocol/McpError"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Latch } from "effect"
import type { Options } from "../../src/peer/Peer.ts"
import { cancel, notification, request, serve, quiesce, success } from "../support/wire.ts"

const options: Options = { batches: () => true, unreadableId: () => null }
const byId = (messages: ReadonlyArray<any>) => messages.map(({ id, error }) => [id, error?.code])

describe("Batches", () => {
  it.effect(
    "Every message in a batch is handled, and the answers are sent in one array",
    () =>
      Effect.gen(function* () {
        const served = yield* serve(({ request: { params } }) => Effect.succeed({ n: params?.n }), options)
        const asking = yield* Effect.forkChild(served.peer.request("ask"), { startImmediately: true })
        served.receive([
          request(1, "work", { n: 1 }),
          notification("notifications/initialized"),
          success(1, { from: "batch" }),
          request(2, "ping"),
          request("x", "work", { n: 2 })
        ])
        yield* quiesce
        assert.deepStrictEqual(yield* Fiber.join(asking), { from: "batch" })
        assert.deepStrictEqual(served.notified, ["notifications/initialized"])
        assert.deepStrictEqual(served.messages().slice(1), [[success(1, { n: 1 }), success(2), success("x", { n: 2 })]])
      }),
    verifies("json-rpc.batch.receive")
  )

  it.effect("A batch is answered once its last request has an answer", () =>
    Effect.gen(function* () {
      const latch = Latch.makeUnsafe(false)
      const { receive, messages } = yield* serve(
        ({ request: { method } }) => (method === "slow" ? Effect.as(latch.await, {}) : Effect.succeed({})),
        options
      )
      receive([request(1, "slow"), request(2)])
      yield* quiesce
      assert.deepStrictEqual(messages(), [])
      latch.openUnsafe()
      yield* quiesce
      assert.deepStrictEqual(messages(), [[success(2), success(1)]])
    })
  )

  it.effect("A batch of only notifications and answers gets no answer", () =>
    Effect.gen(function* () {
      const { receive, messages } = yield* serve(() => Effect.succeed({}), options)
      receive([notification("a"), notification("b"), success(44)])
      yield* quiesce
      assert.deepStrictEqual(messages(), [])
    })
  )

  it.effect("An empty batch gets a single error, not an array", () =>
    Effect.gen(function* () {
      const { receive, messages } = yield* serve(() => Effect.succeed({}), options)
      receive([])
      assert.deepStrictEqual(byId(messages()), [[null, -32600]])
    })
  )

  it.effect("Each invalid member gets a separate error", () =>
    Effect.gen(function* () {
      const { receive, messages } = yield* serve(() => Effect.succeed({}), options)
      receive([1, "x", [], { jsonrpc: "2.0", id: 5 }, { jsonrpc: "2.0", id: 6, method: 6 }, request(7)])
      yield* quiesce
      assert.deepStrictEqual(byId(messages()[0]), [
        [null, -32600],
        [null, -32600],
        [null, -32600],
        [5, -32600],
        [6, -32600],
        [7, undefined]
      ])
    })
  )

  it.effect("A malformed answer in a batch fails its request and gets no answer", () =>
    Effect.gen(function* () {
      const served = yield* serve(() => Effect.succeed({}), options)
      const asking = yield* Effect.forkChild(Effect.flip(served.peer.request("ask")), { startImmediately: true })
      served.receive([{ jsonrpc: "2.0", id: 1, error: "no" }])
      yield* quiesce
      assert.strictEqual((yield* Fiber.join(asking))._tag, "McpError")
      assert.strictEqual(served.messages().length, 1)
    })
  )

  it.effect("A batch is answered without its cancelled members", () =>
    Effect.gen(function* () {
      const latch = Latch.makeUnsafe(false)
      const { receive, messages } = yield* serve(() => Effect.as(latch.await, {}), { ...options, inFlight: 2 })
      // 3 waits for a permit when it is cancelled.
      receive([request(1), request(2), request(3)])
      receive(cancel(2))
      receive(cancel(3))
      latch.openUnsafe()
      yield* quiesce
      assert.deepStrictEqual(messages(), [[success(1)]])
    })
  )

  it.effect("A batch whose members are all cancelled gets no answer", () =>
    Effect.gen(function* () {
      const { receive, messages, peer } = yield* serve(() => Effect.never, options)
      receive([request(1), cancel(1)])
      receive([request(2)])
      receive(cancel(2))
      yield* quiesce
      assert.deepStrictEqual(messages(), [])
      assert.deepStrictEqual(yield* peer.inFlight, [])
    })
  )

  it.effect("A duplicate id in a batch is answered once", () =>
    Effect.gen(function* () {
      const latch = Latch.makeUnsafe(false)
      const { receive, messages, dropped } = yield* serve(() => Effect.as(latch.await, {}), options)
      receive([request(1), request(1)])
      latch.openUnsafe()
      yield* quiesce
      assert.deepStrictEqual(messages(), [[success(1)]])
      assert.strictEqual(dropped.length, 1)
    })
  )

  it.effect("A batch does not wait for an already in-flight request with the same id", () =>
    Effect.gen(function* () {
      const { receive, messages } = yield* serve(
        ({ request: { method } }) => (method === "stay" ? Effect.never : Effect.succeed({})),
        options
      )
      receive(request(1, "stay"))
      receive([request(1), request(2)])
      yield* quiesce
      assert.deepStrictEqual(messages(), [[success(2)]])
    })
  )

  it.effect("A batch with non-JSON results is still answered", () =>
    Effect.gen(function* () {
      const { receive, messages } = yield* serve(
        ({ request: { params } }) => Effect.succeed(params?.bad === true ? { bad: 1n } : {}),
        options
      )
      receive([request(1, "work", { bad: true }), request(2), request(3, "work", { bad: true })])
      yield* quiesce
      assert.deepStrictEqual(byId(messages()[0]), [
        [1, -32603],
        [2, undefined],
        [3, -32603]
      ])
    })
  )

  it.effect("Every member of a batch is answered, even if interrupted, rejected or crashed", () =>
    Effect.gen(function* () {
      const { receive, peer, messages } = yield* serve(
        ({ request: { method } }) => (method === "die" ? Effect.die("x") : Effect.never),
        { ...options, inFlight: 2, pending: 1 }
      )
      receive([request(1, "die"), request(2, "die")])
      receive(request("other"))
      receive([request(3), request(4), request(5)])
      yield* quiesce
      peer.interrupt("Draining")
      yield* quiesce
      const [died, interrupted] = messages().filter((message) => Array.isArray(message))
      assert.deepStrictEqual(byId(died!), [
        [1, -32603],
        [2, -32603]
      ])
      assert.sameDeepMembers(byId(interrupted!), [
        [3, McpError.Interrupted],
        [4, McpError.Interrupted],
        [5, McpError.LimitExceeded]
      ])
    })
  )

  it.effect("Progress and questions from a batch's handlers are sent before its answers", () =>
    Effect.gen(function* () {
      const { receive, messages } = yield* serve(
        ({ request: { id }, sink }) =>
          Effect.sync(() => {
            sink.send({ jsonrpc: "2.0", method: "notifications/progress", params: { progress: 1 } }, "data", id)
            return {}
          }),
        options
      )
      receive([request(1)])
      yield* quiesce
      assert.deepStrictEqual(
        messages().map((message) => (Array.isArray(message) ? "answers" : message.method)),
        ["notifications/progress", "answers"]
      )
    })
  )

  it.effect("A batch with more members than the in-flight limit is rejected as a whole", () =>
    Effect.gen(function* () {
      let runs = 0
      const { receive, messages } = yield* serve(() => Effect.sync(() => (runs++, {})), {
        ...options,
        inFlight: 2,
        pending: 2
      })
      receive(Array.from({ length: 5 }, () => 1))
      receive(Array.from({ length: 5 }, (_, id) => request(id)))
      assert.deepStrictEqual(byId(messages()), [
        [null, -32600],
        [null, -32600]
      ])
      assert.strictEqual(runs, 0)
    })
  )

  it.effect("A batch is rejected with one error if the revision has no batches", () =>
    Effect.gen(function* () {
      const { receive, messages } = yield* serve(() => Effect.die("must not run"))
      receive([request(1), request(2)])
      assert.strictEqual(messages().length, 1)
      assert.strictEqual(messages()[0].error.code, -32600)
      assert.notProperty(messages()[0], "id")
    })
  )
})
