/** Rules 3, 4 and 6: register before running, cancel by signal, compare ids. */
import * as McpError from "@effect-mcp/protocol/McpError"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Latch } from "effect"
import { cancel, request, serve, type Served, quiesce, success } from "../support/wire.ts"

describe("Inbound requests", () => {
  it.effect("A synchronously answered request is forgotten", () =>
    Effect.gen(function* () {
      const { receive, messages, peer } = yield* serve(() => Effect.succeed({ done: true }))
      receive(request(1))
      assert.deepStrictEqual(messages(), [success(1, { done: true })])
      assert.deepStrictEqual(yield* peer.inFlight, [])
    })
  )

  it.effect(`A handler finds its own request in flight from its first step`, () =>
    Effect.gen(function* () {
      const { receive, messages, peer } = yield* serve((exchange) => exchange.peer.inFlight)
      receive(request("a", "look"))
      assert.deepInclude(messages()[0].result[0], { id: "a", method: "look", state: "running" })
      assert.deepStrictEqual(yield* peer.inFlight, [])
    })
  )

  it.effect(`Cancelling during a handler's first step ends it without an answer`, () =>
    Effect.gen(function* () {
      let finalized = false
      const served = yield* serve((exchange) =>
        Effect.suspend(() => {
          served.receive(cancel(exchange.request.id))
          return Effect.never
        }).pipe(Effect.ensuring(Effect.sync(() => (finalized = true))))
      )
      served.receive(request(1))
      yield* quiesce
      assert.isTrue(finalized)
      assert.deepStrictEqual(served.messages(), [])
      assert.deepStrictEqual(yield* served.peer.inFlight, [])
    })
  )

  it.effect(`A request cancelled during its only step gets no answer`, () =>
    Effect.gen(function* () {
      const served: Served = yield* serve((exchange) => Effect.sync(() => served.receive(cancel(exchange.request.id))))
      served.receive(request(1))
      yield* quiesce
      assert.deepStrictEqual(served.messages(), [])
      assert.deepStrictEqual(yield* served.peer.inFlight, [])
    })
  )

  it.effect(`A request waiting for a permit starts when the running request ends`, () =>
    Effect.gen(function* () {
      const served: Served = yield* serve(
        (exchange) =>
          Effect.sync(() => {
            if (exchange.request.id === 1) served.receive(request(2))
            return served.messages().length
          }),
        { inFlight: 1 }
      )
      served.receive(request(1))
      yield* quiesce
      assert.deepStrictEqual(served.messages(), [success(1, 0), success(2, 1)])
    })
  )

  it.effect("Requests waiting for a permit are limited in bytes", () =>
    Effect.gen(function* () {
      const latch = Latch.makeUnsafe(false)
      const { receive, messages } = yield* serve(() => Effect.as(latch.await, {}), { inFlight: 1 })
      const large = { text: "x".repeat(30 * 1024 * 1024) }
      receive(request(1))
      for (const id of [2, 3, 4]) receive(request(id, "work", large))
      assert.deepStrictEqual(
        messages().map(({ error, id }) => [id, error?.code]),
        [[4, McpError.LimitExceeded]]
      )
      receive(cancel(2))
      receive(request(5, "work", large))
      latch.openUnsafe()
      yield* quiesce
      assert.deepStrictEqual(
        messages().map(({ id }) => id),
        [4, 1, 3, 5]
      )
    })
  )

  it.effect("A handler that throws before it returns an effect is answered with -32603", () =>
    Effect.gen(function* () {
      const { receive, messages } = yield* serve(() => {
        throw new Error("secret")
      })
      receive(request(1))
      assert.strictEqual(messages()[0].error.code, -32603)
      assert.notInclude(JSON.stringify(messages()), "secret")
    })
  )
})

describe("Duplicate in-flight ids", () => {
  it.effect(
    "A duplicate in-flight id never disturbs the first request",
    () =>
      Effect.gen(function* () {
        const latch = Latch.makeUnsafe(false)
        let runs = 0
        const { receive, messages, dropped } = yield* serve(() =>
          Effect.suspend(() => {
            runs++
            return Effect.as(latch.await, { run: runs })
          })
        )
        receive(request(7))
        receive(request(7))
        receive(request(7, "ping"))
        yield* quiesce
        assert.strictEqual(runs, 1)
        assert.strictEqual(dropped.length, 2)
        latch.openUnsafe()
        yield* quiesce
        assert.deepStrictEqual(messages(), [success(7, { run: 1 })])
      }),
    verifies("json-rpc.request.id-unique")
  )

  it.effect("A duplicate id never disturbs a first request still waiting for a permit", () =>
    Effect.gen(function* () {
      const latch = Latch.makeUnsafe(false)
      const { receive, messages } = yield* serve(() => Effect.as(latch.await, {}), { inFlight: 1 })
      receive(request(1))
      receive(request(2))
      receive(request(2))
      latch.openUnsafe()
      yield* quiesce
      assert.deepStrictEqual(messages(), [success(1), success(2)])
    })
  )

  it.effect("An id can be reused once the first request has been answered", () =>
    Effect.gen(function* () {
      const { receive, messages } = yield* serve(() => Effect.succeed({}))
      receive(request(1))
      receive(request(1))
      assert.deepStrictEqual(messages(), [success(1), success(1)])
    })
  )

  it.effect("A duplicate id is still rejected while the first request's finalizers run", () =>
    Effect.gen(function* () {
      const latch = Latch.makeUnsafe(false)
      const { receive, messages, dropped } = yield* serve(() => Effect.ensuring(Effect.never, latch.await))
      receive(request(1))
      receive(cancel(1))
      receive(request(1))
      assert.strictEqual(dropped.length, 1)
      latch.openUnsafe()
      yield* quiesce
      assert.deepStrictEqual(messages(), [])
    })
  )
})

describe("Ids", () => {
  const ids = [0, "", 1, "1"]

  it.effect(
    'The ids 0, "", 1 and "1" are different requests',
    () =>
      Effect.gen(function* () {
        const latch = Latch.makeUnsafe(false)
        const { receive, messages, dropped } = yield* serve(({ request: { id } }) => Effect.as(latch.await, { id }))
        for (const id of ids) receive(request(id))
        latch.openUnsafe()
        yield* quiesce
        assert.deepStrictEqual(
          messages(),
          ids.map((id) => success(id, { id }))
        )
        assert.deepStrictEqual(dropped, [])
      }),
    verifies("json-rpc.response.same-id", "json-rpc.request.id-type")
  )

  for (const id of ids) {
    it.effect(`Cancelling the id ${JSON.stringify(id)} ends only that request`, () =>
      Effect.gen(function* () {
        const { receive, peer } = yield* serve(() => Effect.never)
        for (const each of ids) receive(request(each))
        receive(cancel(id))
        yield* quiesce
        assert.deepStrictEqual(
          (yield* peer.inFlight).map((entry) => entry.id),
          ids.filter((each) => each !== id)
        )
      })
    )
  }

  it.effect(
    "Null, fraction, object, array and boolean ids are rejected",
    () =>
      Effect.gen(function* () {
        const { receive, messages } = yield* serve(() => Effect.die("must not run"), { unreadableId: () => null })
        for (const id of [null, 1.5, {}, [1], true]) receive({ ...request(1), id })
        assert.deepStrictEqual(
          messages().map(({ id, error }) => [id, error.code]),
          Array.from({ length: 5 }, () => [null, -32600])
        )
      }),
    verifies("json-rpc.request.id-not-null")
  )
})

describe("Cancellation", () => {
  it.effect(
    "Cancelling ends the handler, releases its resources and suppresses its answer",
    () =>
      Effect.gen(function* () {
        let released = 0
        const { push, messages, peer } = yield* serve(() =>
          Effect.scoped(
            Effect.andThen(
              Effect.addFinalizer(() => Effect.sync(() => released++)),
              Effect.never
            )
          )
        )
        push(request(1))
        push(cancel(1))
        yield* quiesce
        assert.strictEqual(released, 1)
        assert.deepStrictEqual(messages(), [])
        assert.deepStrictEqual(yield* peer.inFlight, [])
      }),
    verifies(
      "cancellation.receiver.stops",
      "cancellation.receiver.frees-resources",
      "cancellation.receiver.no-response"
    )
  )

  it.effect("Cancelling does not block the reader behind a stuck finalizer", () =>
    Effect.gen(function* () {
      const latch = Latch.makeUnsafe(false)
      const { push, take, messages } = yield* serve(({ request: { method } }) =>
        method === "stuck" ? Effect.ensuring(Effect.never, latch.await) : Effect.succeed({})
      )
      push(request(1, "stuck"))
      push(cancel(1))
      push(request(2))
      push(request(3, "ping"))
      assert.deepStrictEqual([yield* take, yield* take], [success(2), success(3)])
      latch.openUnsafe()
      yield* quiesce
      assert.strictEqual(messages().length, 2)
    })
  )

  it.effect("A cancelled request waiting for a permit never runs", () =>
    Effect.gen(function* () {
      const latch = Latch.makeUnsafe(false)
      const ran: Array<unknown> = []
      const { receive, messages } = yield* serve(
        ({ request: { id } }) => Effect.suspend(() => (ran.push(id), Effect.as(latch.await, {}))),
        { inFlight: 1 }
      )
      receive(request(1))
      receive(request(2))
      receive(cancel(2))
      latch.openUnsafe()
      yield* quiesce
      assert.deepStrictEqual(ran, [1])
      assert.deepStrictEqual(messages(), [success(1)])
    })
  )

  it.effect("Cancelling an uninterruptible handler still suppresses its answer", () =>
    Effect.gen(function* () {
      const latch = Latch.makeUnsafe(false)
      const { receive, messages } = yield* serve(() => Effect.uninterruptible(Effect.as(latch.await, {})))
      receive(request(1))
      receive(cancel(1))
      latch.openUnsafe()
      yield* quiesce
      assert.deepStrictEqual(messages(), [])
    })
  )

  it.effect(
    "Cancelling an unknown or answered request, or without an id, is ignored",
    () =>
      Effect.gen(function* () {
        const { receive, messages, peer } = yield* serve(({ request: { method } }) =>
          method === "stay" ? Effect.never : Effect.succeed({})
        )
        receive(request(1))
        receive(request(2, "stay"))
        receive(cancel(1))
        receive(cancel("2"))
        receive(cancel(null))
        receive(cancel([2]))
        receive({ jsonrpc: "2.0", method: "notifications/cancelled" })
        yield* quiesce
        assert.deepStrictEqual(messages(), [success(1)])
        assert.strictEqual((yield* peer.inFlight).length, 1)
      }),
    verifies(
      "cancellation.invalid.unknown-id-ignored",
      "cancellation.invalid.completed-ignored",
      "cancellation.invalid.malformed-ignored",
      "cancellation.race.graceful"
    )
  )

  it.effect(
    "Cancelling initialize is ignored",
    () =>
      Effect.gen(function* () {
        const latch = Latch.makeUnsafe(false)
        const { receive, messages } = yield* serve(() => Effect.as(latch.await, {}))
        receive(request(1, "initialize"))
        receive(cancel(1))
        latch.openUnsafe()
        yield* quiesce
        assert.deepStrictEqual(messages(), [success(1)])
      }),
    verifies("cancellation.initialize-not-cancelled")
  )

  it.effect("Cancelling a local request only notifies the role", () =>
    Effect.gen(function* () {
      const { peer, receive, notified } = yield* serve(() => Effect.never)
      const asking = yield* Effect.forkChild(peer.request("ask"), { startImmediately: true })
      receive(cancel(1))
      receive(cancel(2))
      receive(cancel("1"))
      assert.deepStrictEqual(notified, ["notifications/cancelled"])
      receive(success(1, "answer"))
      assert.strictEqual(yield* Fiber.join(asking), "answer")
    })
  )

  it.effect("Cancelling an id in use on both sides ends the sender's request", () =>
    Effect.gen(function* () {
      const { peer, receive, notified } = yield* serve(() => Effect.never)
      yield* Effect.forkChild(peer.request("ask"), { startImmediately: true })
      receive(request(1))
      receive(cancel(1))
      yield* quiesce
      assert.deepStrictEqual(notified, [])
      assert.deepStrictEqual(yield* peer.inFlight, [])
      assert.strictEqual(peer.outstanding(), 1)
    })
  )
})
