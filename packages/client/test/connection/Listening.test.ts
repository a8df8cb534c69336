import * as McpClient from "@effect-mcp/client/McpClient"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { quiesce } from "../support/connected.ts"
import * as Modern from "../support/modern.ts"
import { endOf, following, updated } from "../support/watching.ts"

describe("Watches over 2026-07-28", () => {
  it.effect("A watch holds a subscription while it has watchers", () =>
    Effect.gen(function* () {
      const { client, next, server } = yield* Modern.listening()
      const watch = yield* following(client.watchResource("file:///a"))
      const subscription = yield* next
      assert.deepStrictEqual(subscription.filter, { resourceSubscriptions: ["file:///a"] })
      assert.deepStrictEqual(yield* watch.next, { _tag: "Watching", uri: "file:///a" })
      subscription.tell(updated, { uri: "file:///a" })
      assert.deepStrictEqual(yield* watch.next, { _tag: "Updated", uri: "file:///a" })
      yield* Fiber.interrupt(watch.fiber)
      const { method, params } = yield* server.notification
      assert.strictEqual(method, "notifications/cancelled")
      assert.strictEqual(params?.requestId, subscription.id)
    })
  )

  it.effect("A watch starts only once the server acknowledges it", () =>
    Effect.gen(function* () {
      const { client, next } = yield* Modern.listening({ granting: false })
      const watch = yield* following(client.watchResource("file:///a"))
      const subscription = yield* next
      yield* quiesce
      assert.strictEqual(yield* watch.waiting, 0)
      subscription.acknowledge()
      assert.strictEqual((yield* watch.next)._tag, "Watching")
    })
  )

  it.effect("All watchers share one subscription until the last one leaves", () =>
    Effect.gen(function* () {
      const { client, next, server } = yield* Modern.listening()
      const [one, two] = [yield* following(client.watchResource("a:b")), yield* following(client.watchResource("a:b"))]
      const subscription = yield* next
      yield* one.next
      yield* two.next
      subscription.tell(updated, { uri: "a:b" })
      assert.strictEqual((yield* one.next)._tag, "Updated")
      assert.strictEqual((yield* two.next)._tag, "Updated")
      yield* Fiber.interrupt(one.fiber)
      yield* client.ping
      subscription.tell(updated, { uri: "a:b" })
      assert.strictEqual((yield* two.next)._tag, "Updated")
      yield* Fiber.interrupt(two.fiber)
      yield* server.notification
      assert.strictEqual(server.requests("subscriptions/listen").length, 1)
      assert.deepStrictEqual(Modern.methods(server).slice(-1), ["notifications/cancelled"])
    })
  )

  it.effect(
    "A watch receives only its own subscription's updates, regardless of URI",
    () =>
      Effect.gen(function* () {
        const { client, next } = yield* Modern.listening()
        const a = yield* following(client.watchResource("db://a"))
        const first = yield* next
        const b = yield* following(client.watchResource("db://b"))
        const second = yield* next
        yield* a.next
        yield* b.next
        assert.notStrictEqual(first.id, second.id)
        first.tell(updated, { uri: "row:17" })
        second.tell(updated, { uri: "db://a" })
        assert.deepStrictEqual(yield* a.next, { _tag: "Updated", uri: "row:17" })
        assert.deepStrictEqual(yield* b.next, { _tag: "Updated", uri: "db://a" })
        assert.strictEqual(yield* a.waiting, 0)
        assert.strictEqual(yield* b.waiting, 0)
      }),
    verifies("subscriptions.stdio.correlated")
  )

  it.effect(
    "Subscription ids are compared exactly, including their type",
    () =>
      Effect.gen(function* () {
        const { client, next, server } = yield* Modern.listening({ granting: false })
        const watch = yield* following(client.watchResource("a:b"))
        const all = yield* following(client.resourceUpdates)
        const { acknowledge, id, tell } = yield* next
        for (const other of [0, "", String(id), -Number(id), null, Number(id) + 1]) {
          const _meta = { [Meta.subscriptionId]: other }
          server.peer.notify("notifications/subscriptions/acknowledged", { _meta, notifications: {} })
          server.peer.notify(updated, { _meta, uri: "a:b" })
          server.peer.notify("notifications/cancelled", { requestId: other })
        }
        yield* client.ping
        yield* quiesce
        assert.strictEqual(yield* watch.waiting, 0)
        assert.strictEqual(yield* all.waiting, 0)
        acknowledge()
        assert.strictEqual((yield* watch.next)._tag, "Watching")
        tell(updated, { uri: "a:b" })
        assert.strictEqual((yield* watch.next)._tag, "Updated")
        assert.strictEqual(yield* all.next, "a:b")
      }),
    verifies("subscriptions.stdio.correlated")
  )

  it.effect("A watch accepts updates without a subscription id", () =>
    Effect.gen(function* () {
      const { client, next, server } = yield* Modern.listening()
      const watch = yield* following(client.watchResource("a:b"))
      yield* next
      yield* watch.next
      server.peer.notify(updated, { uri: "a:b" })
      assert.deepStrictEqual(yield* watch.next, { _tag: "Updated", uri: "a:b" })
    })
  )

  it.effect.each([[{}], [{ resourceSubscriptions: [] }], [{ resourceSubscriptions: ["a:c"] }]] as const)(
    "A watch fails if it is not granted: %j",
    (granted) =>
      Effect.gen(function* () {
        const { client, next, server } = yield* Modern.listening({ granting: false })
        const watch = yield* following(client.watchResource("a:b"))
        const { acknowledge, id } = yield* next
        acknowledge(granted[0])
        assert.strictEqual((yield* endOf(watch))._tag, "CapabilityMissing")
        assert.strictEqual((yield* server.notification).params?.requestId, id)
      }),
    verifies("subscriptions.acknowledged.checked")
  )

  it.effect("A watch sends no request if the server did not declare resource subscriptions", () =>
    Effect.gen(function* () {
      const { client, server } = yield* Modern.listening({ capabilities: { resources: {} } })
      assert.strictEqual((yield* Effect.flip(Stream.runDrain(client.watchResource("a:b"))))._tag, "CapabilityMissing")
      assert.strictEqual(server.requests("subscriptions/listen").length, 0)
    })
  )

  it.effect("A watch fails immediately on a malformed acknowledgement", () =>
    Effect.gen(function* () {
      const { client, next } = yield* Modern.listening({ granting: false })
      const watch = yield* following(client.watchResource("a:b"))
      ;(yield* next).acknowledge("everything")
      assert.strictEqual((yield* endOf(watch))._tag, "InvalidResult")
    })
  )

  it.effect("A watch that is not acknowledged in time fails and cancels its request", () =>
    Effect.gen(function* () {
      const { client, next, server } = yield* Modern.listening({ granting: false })
      const watch = yield* following(client.watchResource("a:b"))
      const { id } = yield* next
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual((yield* endOf(watch))._tag, "Timeout")
      assert.strictEqual((yield* server.notification).params?.requestId, id)
      const again = yield* following(client.watchResource("a:b"))
      ;(yield* next).acknowledge()
      assert.strictEqual((yield* again.next)._tag, "Watching")
    })
  )

  it.effect("An idle watch stays open indefinitely", () =>
    Effect.gen(function* () {
      const { client, next } = yield* Modern.listening()
      const watch = yield* following(client.watchResource("a:b"))
      const { tell } = yield* next
      yield* watch.next
      yield* TestClock.adjust("2 days")
      tell(updated, { uri: "a:b" })
      assert.strictEqual((yield* watch.next)._tag, "Updated")
    })
  )

  it.effect("A watch fails with the server's error and can be retried", () =>
    Effect.gen(function* () {
      let attempts = 0
      const { answer } = yield* Modern.subscriptions(true)
      const { client } = yield* Modern.connected({
        answers: {
          "subscriptions/listen": (params, exchange) =>
            attempts++ === 0 ? Effect.fail(McpError.invalidParams("No")) : answer(params, exchange)
        }
      })
      assert.strictEqual((yield* Effect.flip(Stream.runDrain(client.watchResource("a:b"))))._tag, "McpError")
      const watch = yield* following(client.watchResource("a:b"))
      assert.strictEqual((yield* watch.next)._tag, "Watching")
    })
  )

  const ends: ReadonlyArray<
    readonly [string, (subscription: Modern.Subscription, cancel: (id: unknown) => void) => void]
  > = [
    ["with its answer", ({ end }) => end()],
    ["with a cancellation", ({ id }, cancel) => cancel(id)],
    ["with both, the answer first", ({ end, id }, cancel) => (end(), cancel(id))],
    ["with both, the cancellation first", ({ end, id }, cancel) => (cancel(id), end())]
  ]
  it.effect.each(ends)(
    "Without reconnection, a watch fails with Closed when the server ends it %s",
    ([, end]) =>
      Effect.gen(function* () {
        const { client, next, server } = yield* Modern.listening({ reconnect: false })
        const [one, two] = [
          yield* following(client.watchResource("a:b")),
          yield* following(client.watchResource("a:b"))
        ]
        const other = yield* following(client.watchResource("a:c"))
        const subscription = yield* next
        yield* next
        yield* one.next
        yield* two.next
        yield* other.next
        end(subscription, (requestId) => server.peer.notify("notifications/cancelled", { requestId }))
        assert.strictEqual((yield* endOf(one))._tag, "Closed")
        assert.strictEqual((yield* endOf(two))._tag, "Closed")
        yield* quiesce
        yield* client.ping
        // It has ended, so there is nothing to cancel.
        assert.notInclude(Modern.methods(server), "notifications/cancelled")
        assert.isUndefined(other.fiber.pollUnsafe())
        const again = yield* following(client.watchResource("a:b"))
        assert.strictEqual((yield* again.next)._tag, "Watching")
      }),
    verifies("cancellation.client.own-request")
  )

  it.effect("A watch fails with Closed when the connection ends", () =>
    Effect.gen(function* () {
      const { client, next, server } = yield* Modern.listening()
      const watch = yield* following(client.watchResource("a:b"))
      yield* next
      yield* watch.next
      server.end()
      const error = yield* endOf(watch)
      assert.strictEqual(error._tag, "Closed")
      assert.include(error.message, "connection")
    })
  )

  it.effect("A watch loses no update right after its acknowledgement", () =>
    Effect.gen(function* () {
      const { client, next } = yield* Modern.listening({ granting: false })
      const watch = yield* following(client.watchResource("a:b"))
      const { acknowledge, tell } = yield* next
      acknowledge()
      tell(updated, { uri: "a:b" })
      // The first event already asks for a new read.
      assert.strictEqual((yield* watch.next)._tag, "Watching")
      yield* quiesce
      tell(updated, { uri: "a:b/c" })
      const seen: McpClient.WatchEvent = yield* watch.next
      assert.strictEqual(seen._tag, "Updated")
    })
  )

  it.effect("Leaving a watch before the acknowledgement cancels its subscription", () =>
    Effect.gen(function* () {
      const { client, next, server } = yield* Modern.listening({ granting: false })
      const watch = yield* following(client.watchResource("a:b"))
      const { id } = yield* next
      yield* Fiber.interrupt(watch.fiber)
      assert.strictEqual((yield* server.notification).params?.requestId, id)
    })
  )
})

it.effect("Closing a 2026-07-28 client ends its watches and requests with Closed", () =>
  Effect.gen(function* () {
    const subscriptions = yield* Modern.subscriptions(true)
    const scope = yield* Scope.make()
    const server = yield* Modern.make({ answers: { "subscriptions/listen": subscriptions.answer } })
    const client = yield* McpClient.connect(server.transport).pipe(Scope.provide(scope))
    const watch = yield* following(client.watchResource("a:b"))
    yield* watch.next
    yield* Scope.close(scope, Exit.void)
    assert.strictEqual((yield* endOf(watch))._tag, "Closed")
    assert.strictEqual((yield* Effect.flip(client.ping))._tag, "Closed")
  })
)

describe("List change readiness over 2026-07-28", () => {
  it.effect("changesReady waits for the server to acknowledge the streams' subscription", () =>
    Effect.gen(function* () {
      const { client, next, opened } = yield* Modern.listening({ granting: false })
      const changes = yield* following(client.toolChanges)
      const ready = yield* Effect.forkChild(client.changesReady, { startImmediately: true })
      const subscription = yield* next
      yield* quiesce
      assert.isUndefined(ready.pollUnsafe())
      subscription.acknowledge()
      yield* Fiber.join(ready)
      subscription.tell("notifications/tools/list_changed")
      yield* changes.next
      assert.strictEqual(yield* opened, 0)
    })
  )

  it.effect("changesReady fails if the server rejects the subscription", () =>
    Effect.gen(function* () {
      const refused = () => Effect.fail(McpError.invalidParams("no lists"))
      const { client } = yield* Modern.connected({ answers: { "subscriptions/listen": refused } })
      assert.deepInclude(yield* Effect.flip(client.changesReady), { code: -32602, message: "no lists" })
    })
  )
})
