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

describe("A watch over 2026-07-28", () => {
  it.effect("A watch is a subscription for as long as a watcher runs, and cancelled in the end", () =>
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

  it.effect("A watch begins when the server has acknowledged, and not before", () =>
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

  it.effect("A watch is a single subscription for any number of watchers, until the last watcher leaves", () =>
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
    "A watch gets the updates of its own subscription alone, whatever their URI is",
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
    "A watch takes subscription ids as they are: no similar id is its own",
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

  it.effect("A watch gets the updates of a server that leaves out the subscription id", () =>
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
    "A watch fails when it is not granted: %j",
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

  it.effect("A watch sends no request where the server did not declare subscriptions of resources", () =>
    Effect.gen(function* () {
      const { client, server } = yield* Modern.listening({ capabilities: { resources: {} } })
      assert.strictEqual((yield* Effect.flip(Stream.runDrain(client.watchResource("a:b"))))._tag, "CapabilityMissing")
      assert.strictEqual(server.requests("subscriptions/listen").length, 0)
    })
  )

  it.effect("A watch fails at once when the acknowledgement is malformed", () =>
    Effect.gen(function* () {
      const { client, next } = yield* Modern.listening({ granting: false })
      const watch = yield* following(client.watchResource("a:b"))
      ;(yield* next).acknowledge("everything")
      assert.strictEqual((yield* endOf(watch))._tag, "InvalidResult")
    })
  )

  it.effect("A watch fails when nothing is acknowledged in time, and cancels its request", () =>
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

  it.effect("A watch stays open however long nothing happens", () =>
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

  it.effect("A watch fails with the server's error, and may be tried again", () =>
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
    ["by its answer", ({ end }) => end()],
    ["by a cancellation", ({ id }, cancel) => cancel(id)],
    ["by both, the answer first", ({ end, id }, cancel) => (end(), cancel(id))],
    ["by both, the cancellation first", ({ end, id }, cancel) => (cancel(id), end())]
  ]
  it.effect.each(ends)(
    "A watch ends with Closed when the server ends it %s, if reconnection is off",
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
        // It is over: there is nothing to cancel.
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

  it.effect("A watch loses no update that follows the acknowledgement at once", () =>
    Effect.gen(function* () {
      const { client, next } = yield* Modern.listening({ granting: false })
      const watch = yield* following(client.watchResource("a:b"))
      const { acknowledge, tell } = yield* next
      acknowledge()
      tell(updated, { uri: "a:b" })
      // The first event already says: read it again.
      assert.strictEqual((yield* watch.next)._tag, "Watching")
      yield* quiesce
      tell(updated, { uri: "a:b/c" })
      const seen: McpClient.WatchEvent = yield* watch.next
      assert.strictEqual(seen._tag, "Updated")
    })
  )

  it.effect("A watcher that leaves before the acknowledgement cancels its subscription", () =>
    Effect.gen(function* () {
      const { client, next, server } = yield* Modern.listening({ granting: false })
      const watch = yield* following(client.watchResource("a:b"))
      const { id } = yield* next
      yield* Fiber.interrupt(watch.fiber)
      assert.strictEqual((yield* server.notification).params?.requestId, id)
    })
  )
})

it.effect("A client of 2026-07-28 that closes ends its watches and requests with Closed", () =>
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

describe("Changes of lists over 2026-07-28", () => {
  it.effect("changesReady waits until the server acknowledges the subscription of the streams", () =>
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

  it.effect("changesReady fails if the server refuses the subscription", () =>
    Effect.gen(function* () {
      const refused = () => Effect.fail(McpError.invalidParams("no lists"))
      const { client } = yield* Modern.connected({ answers: { "subscriptions/listen": refused } })
      assert.deepInclude(yield* Effect.flip(client.changesReady), { code: -32602, message: "no lists" })
    })
  )
})
