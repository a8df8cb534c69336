/** Subscriptions that the server or the client ends. */
import * as McpClient from "@effect-mcp/client/McpClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import { quiesce } from "../support/connected.ts"
import * as Modern from "../support/modern.ts"
import { recovering } from "../support/recovering.ts"
import { endOf, following, subscribes, tags, updated } from "../support/watching.ts"

describe("2026-07-28 watches ended by the server", () => {
  const listening = Effect.fnUntraced(function* (reconnect?: McpClient.Options["reconnect"]) {
    const subscriptions = yield* Modern.subscriptions(true)
    const answers = { "subscriptions/listen": subscriptions.answer }
    const connected = yield* Modern.connected({ answers }, { reconnect })
    return { ...connected, ...subscriptions }
  })

  const ends: ReadonlyArray<
    readonly [string, (subscription: Modern.Subscription, cancel: (id: unknown) => void) => void]
  > = [
    ["with its answer", ({ end }) => end()],
    ["with a cancellation", ({ id }, cancel) => cancel(id)],
    ["with both, the answer first", ({ end, id }, cancel) => (end(), cancel(id))],
    ["with both, the cancellation first", ({ end, id }, cancel) => (cancel(id), end())]
  ]
  it.effect.each(ends)("A watch ended by the server %s is renewed on the same connection", ([, end]) =>
    Effect.gen(function* () {
      const { client, next, opened, server } = yield* listening()
      const [one, two] = [yield* following(client.watchResource("a:b")), yield* following(client.watchResource("a:b"))]
      const first = yield* next
      assert.deepStrictEqual(yield* tags(one, 1), ["Watching"])
      end(first, (requestId) => server.peer.notify("notifications/cancelled", { requestId }))
      const second = yield* next
      assert.notStrictEqual(second.id, first.id)
      assert.deepStrictEqual(second.filter, { resourceSubscriptions: ["a:b"] })
      assert.deepStrictEqual(yield* tags(one, 1), ["Watching"])
      first.tell(updated, { uri: "a:b" })
      second.tell(updated, { uri: "a:b" })
      assert.deepStrictEqual(yield* tags(one, 1), ["Updated"])
      assert.deepStrictEqual(yield* tags(two, 3), ["Watching", "Watching", "Updated"])
      yield* quiesce
      assert.strictEqual((yield* one.waiting) + (yield* two.waiting) + (yield* opened), 0)
      // A subscription that the server has ended is not cancelled.
      assert.notInclude(Modern.methods(server), "notifications/cancelled")
    })
  )

  it.effect("A watch that the server always ends immediately is reopened with growing delays, then abandoned", () =>
    Effect.gen(function* () {
      const { client, next, opened } = yield* listening({ attempts: 5, delay: "1 second", maxDelay: "3 seconds" })
      const watch = yield* following(client.watchResource("a:b"))
      ;(yield* next).end()
      ;(yield* next).end()
      for (const wait of [1, 2, 3]) {
        yield* quiesce
        yield* TestClock.adjust(wait * 500 - 1)
        assert.strictEqual(yield* opened, 0)
        yield* TestClock.adjust(wait * 500 + 1)
        yield* quiesce
        ;(yield* next).end()
      }
      yield* quiesce
      yield* TestClock.adjust("3 seconds")
      ;(yield* next).end()
      const error = yield* endOf(watch)
      assert.deepInclude(error, { _tag: "Closed", message: "The server ended the subscription" })
      const again = yield* following(client.watchResource("a:b"))
      assert.strictEqual((yield* again.next)._tag, "Watching")
    })
  )

  it.effect("A watch that ends while waiting to resubscribe sends nothing", () =>
    Effect.gen(function* () {
      const { client, next, opened, server } = yield* listening()
      const watch = yield* following(client.watchResource("a:b"))
      ;(yield* next).end()
      ;(yield* next).end()
      yield* quiesce
      yield* Fiber.interrupt(watch.fiber)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* opened, 0)
      assert.notInclude(Modern.methods(server), "notifications/cancelled")
    })
  )

  it.effect("List changes are resubscribed once for all change streams", () =>
    Effect.gen(function* () {
      const { client, next, opened } = yield* listening()
      const tools = yield* following(client.toolChanges)
      const prompts = yield* following(client.promptChanges)
      const resources = yield* following(client.resourceChanges)
      ;(yield* next).end()
      const second = yield* next
      for (const { next } of [tools, prompts, resources]) yield* next
      second.tell("notifications/prompts/list_changed")
      yield* prompts.next
      yield* quiesce
      assert.strictEqual(yield* opened, 0)
      for (const { waiting } of [tools, prompts, resources]) assert.strictEqual(yield* waiting, 0)
    })
  )

  it.effect("A subscription the server keeps ending ends the change streams", () =>
    Effect.gen(function* () {
      const { client, next } = yield* listening({ attempts: 2 })
      const tools = yield* following(client.toolChanges)
      for (let n = 0; n < 3; n++) {
        ;(yield* next).end()
        yield* quiesce
        yield* TestClock.adjust("1 second")
      }
      assert.isTrue(Exit.isSuccess(yield* Fiber.join(tools.fiber)))
    })
  )
})

it.effect("Closing a client ends its watches without resubscribing", () =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const { client, tries } = yield* recovering({ script: () => ({ answers: subscribes }) }).pipe(Scope.provide(scope))
    const watch = yield* following(client.watchResource("a:b"))
    const tools = yield* following(client.toolChanges)
    yield* watch.next
    yield* Scope.close(scope, Exit.void)
    assert.strictEqual((yield* endOf(watch))._tag, "Closed")
    assert.isTrue(Exit.isSuccess(yield* Fiber.join(tools.fiber)))
    assert.strictEqual(tries(), 1)
  })
)

it.effect("A single-connection client resubscribes while its connection lasts", () =>
  Effect.gen(function* () {
    const subscriptions = yield* Modern.subscriptions(true)
    const server = yield* Modern.make({ answers: { "subscriptions/listen": subscriptions.answer } })
    const client = yield* McpClient.connect(server.transport)
    const watch = yield* following(client.watchResource("a:b"))
    ;(yield* subscriptions.next).end()
    assert.deepStrictEqual(yield* tags(watch, 2), ["Watching", "Watching"])
    server.end()
    assert.strictEqual((yield* endOf(watch))._tag, "Closed")
  })
)
