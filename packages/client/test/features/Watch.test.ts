import type { ClientError, WatchEvent } from "@effect-mcp/client/McpClient"
import * as McpError from "@effect-mcp/protocol/McpError"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Queue, Stream } from "effect"
import { TestClock } from "effect/testing"
import { connected, versions } from "../support/connected.ts"
import type { Scripted } from "../support/scripted.ts"

const answers = { "resources/subscribe": () => ({}), "resources/unsubscribe": () => ({}) }
const updated = (server: Scripted, uri: string) => server.peer.notify("notifications/resources/updated", { uri })
const subscriptions = (server: Scripted) =>
  [...server.requests("resources/subscribe"), ...server.requests("resources/unsubscribe")].map(
    ({ method, params }) => `${method.slice("resources/".length)} ${String(params?.uri)}`
  )

/** Runs a watch in a fiber and returns its events one by one. */
const watching = (stream: Stream.Stream<WatchEvent, ClientError>) =>
  Effect.gen(function* () {
    const events = yield* Queue.unbounded<WatchEvent>()
    const fiber = yield* Effect.forkChild(
      Effect.exit(Stream.runForEach(stream, (event) => Queue.offer(events, event))),
      { startImmediately: true }
    )
    return { next: Queue.take(events), fiber, waiting: Effect.map(Queue.size(events), (size) => size > 0) }
  })

describe.each(versions)("Watches over %s", (version) => {
  it.effect("A watch emits Watching, then every update, and finally unsubscribes", () =>
    Effect.gen(function* () {
      const { client, server } = yield* connected({ version, answers })
      const watch = yield* watching(client.watchResource("file:///a"))
      assert.deepStrictEqual(yield* watch.next, { _tag: "Watching", uri: "file:///a" })
      assert.deepStrictEqual(subscriptions(server), ["subscribe file:///a"])
      updated(server, "file:///a")
      assert.deepStrictEqual(yield* watch.next, { _tag: "Updated", uri: "file:///a" })
      yield* Fiber.interrupt(watch.fiber)
      yield* client.ping
      assert.deepStrictEqual(subscriptions(server), ["subscribe file:///a", "unsubscribe file:///a"])
    })
  )

  it.effect("Closing a watch waits for the answer to its unsubscribe", () =>
    Effect.gen(function* () {
      const told = yield* Deferred.make<void>()
      const unsubscribed = { "resources/unsubscribe": () => Effect.as(Deferred.await(told), {}) }
      const { client, server } = yield* connected({ version, answers: { ...answers, ...unsubscribed } })
      const watch = yield* watching(client.watchResource("file:///a"))
      yield* watch.next
      const ending = yield* Effect.forkChild(Fiber.interrupt(watch.fiber), { startImmediately: true })
      yield* client.ping
      assert.deepStrictEqual(subscriptions(server), ["subscribe file:///a", "unsubscribe file:///a"])
      assert.isUndefined(ending.pollUnsafe())
      yield* Deferred.succeed(told, undefined)
      yield* Fiber.join(ending)
    })
  )

  it.effect("Closing a watch waits at most a second for the answer", () =>
    Effect.gen(function* () {
      const mute = { "resources/unsubscribe": () => Effect.never }
      const { client } = yield* connected({ version, answers: { ...answers, ...mute } })
      const watch = yield* watching(client.watchResource("file:///a"))
      yield* watch.next
      const ending = yield* Effect.forkChild(Fiber.interrupt(watch.fiber), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(ending)
    })
  )

  it.effect("All watchers share one subscription until the last one leaves", () =>
    Effect.gen(function* () {
      const { client, server } = yield* connected({ version, answers })
      const [one, two] = [
        yield* watching(client.watchResource("file:///a")),
        yield* watching(client.watchResource("file:///a"))
      ]
      yield* one.next
      yield* two.next
      updated(server, "file:///a")
      assert.strictEqual((yield* one.next)._tag, "Updated")
      assert.strictEqual((yield* two.next)._tag, "Updated")
      yield* Fiber.interrupt(one.fiber)
      yield* client.ping
      assert.deepStrictEqual(subscriptions(server), ["subscribe file:///a"])
      updated(server, "file:///a")
      assert.strictEqual((yield* two.next)._tag, "Updated")
      yield* Fiber.interrupt(two.fiber)
      const again = yield* watching(client.watchResource("file:///a"))
      yield* again.next
      assert.deepStrictEqual(
        server.heard.flatMap((message) =>
          "method" in message && message.method.includes("subscribe") ? [message.method] : []
        ),
        ["resources/subscribe", "resources/unsubscribe", "resources/subscribe"]
      )
    })
  )

  it.effect("A watch receives updates of its resource and the resource's parts only", () =>
    Effect.gen(function* () {
      const { client, server } = yield* connected({ version, answers })
      const folder = yield* watching(client.watchResource("file:///a"))
      const other = yield* watching(client.watchResource("file:///ab"))
      yield* folder.next
      yield* other.next
      updated(server, "file:///a/b.txt")
      assert.deepStrictEqual(yield* folder.next, { _tag: "Updated", uri: "file:///a/b.txt" })
      updated(server, "file:///ab")
      assert.deepStrictEqual(yield* other.next, { _tag: "Updated", uri: "file:///ab" })
      assert.isFalse(yield* folder.waiting)
      assert.isFalse(yield* other.waiting)
    })
  )

  it.effect("A watch receives an update that matches no watched URI", () =>
    Effect.gen(function* () {
      const { client, server } = yield* connected({ version, answers })
      const watch = yield* watching(client.watchResource("db://table"))
      yield* watch.next
      updated(server, "row:17")
      assert.deepStrictEqual(yield* watch.next, { _tag: "Updated", uri: "row:17" })
    })
  )

  it.effect("A watch fails if the server rejects it, and can be retried", () =>
    Effect.gen(function* () {
      let attempts = 0
      const { client } = yield* connected({
        version,
        answers: {
          ...answers,
          "resources/subscribe": () => (attempts++ === 0 ? Effect.fail(McpError.invalidParams("No")) : {})
        }
      })
      assert.strictEqual((yield* Effect.flip(Stream.runDrain(client.watchResource("file:///a"))))._tag, "McpError")
      const watch = yield* watching(client.watchResource("file:///a"))
      assert.strictEqual((yield* watch.next)._tag, "Watching")
    })
  )

  it.effect("A watch fails when the connection ends", () =>
    Effect.gen(function* () {
      const { client, server } = yield* connected({ version, answers })
      const watch = yield* watching(client.watchResource("file:///a"))
      yield* watch.next
      server.end()
      const exit = yield* Fiber.join(watch.fiber)
      assert.isTrue(Exit.isFailure(exit))
      yield* client.awaitClosed
      assert.strictEqual((yield* Effect.flip(client.ping))._tag, "Closed")
    })
  )

  it.effect("Subscribe and unsubscribe are also available as plain requests", () =>
    Effect.gen(function* () {
      const { client, server } = yield* connected({ version, answers })
      const first = yield* Effect.forkChild(Stream.runHead(client.resourceUpdates), { startImmediately: true })
      yield* client.subscribeResource("file:///a")
      updated(server, "file:///a")
      assert.deepStrictEqual(yield* Fiber.join(first), yield* Stream.runHead(Stream.make("file:///a")))
      yield* client.unsubscribeResource("file:///a")
      assert.deepStrictEqual(subscriptions(server), ["subscribe file:///a", "unsubscribe file:///a"])
    })
  )
})

it.effect("A watcher that leaves while subscribing cancels the subscription", () =>
  Effect.gen(function* () {
    const reached = yield* Deferred.make<void>()
    const { client, server } = yield* connected({
      answers: { "resources/subscribe": () => Effect.andThen(Deferred.succeed(reached, undefined), Effect.never) }
    })
    const watch = yield* watching(client.watchResource("file:///a"))
    yield* Deferred.await(reached)
    yield* Fiber.interrupt(watch.fiber)
    yield* server.notification
    assert.strictEqual((yield* server.notification).method, "notifications/cancelled")
  })
)
