/** Watches and listeners that outlive their connection. */
import type * as McpClient from "@effect-mcp/client/McpClient"
import * as McpError from "@effect-mcp/protocol/McpError"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { all, quiesce } from "../support/connected.ts"
import * as Modern from "../support/modern.ts"
import { broken, type Opened, type Plan, recovering, refused, until } from "../support/recovering.ts"
import { endOf, following, subscribes, tags, updated } from "../support/watching.ts"

describe.each(all)("Watches over a lost %s connection", (version) => {
  const subscribe = version === Modern.version ? "subscriptions/listen" : "resources/subscribe"
  const watching = (plan: Plan = {}, options?: McpClient.Options) =>
    recovering({ version, script: () => ({ answers: subscribes }), ...plan }, options)
  const tell = (server: Opened, uri = "a:b") => server.peer.notify(updated, { uri })

  it.effect(
    "A watch subscribes again on a new connection and asks for a fresh read",
    () =>
      Effect.gen(function* () {
        const { client, opened, server } = yield* watching()
        const watch = yield* following(client.watchResource("a:b"))
        const other = yield* following(client.watchResource("a:b"))
        assert.deepStrictEqual(yield* tags(watch, 1), ["Watching"])
        tell(server(0))
        assert.deepStrictEqual(yield* tags(watch, 1), ["Updated"])
        server(0).cut()
        assert.deepStrictEqual(yield* watch.next, { _tag: "Watching", uri: "a:b" })
        tell(server(1))
        assert.deepStrictEqual(yield* watch.next, { _tag: "Updated", uri: "a:b" })
        assert.deepStrictEqual(yield* tags(other, 4), ["Watching", "Updated", "Watching", "Updated"])
        assert.strictEqual(opened.length, 2)
        assert.strictEqual(server(1).requests(subscribe).length, 1)
        assert.strictEqual((yield* watch.waiting) + (yield* other.waiting), 0)
      }),
    verifies("subscriptions.stdio.reopened")
  )

  it.effect("A watch unsubscribes on its own connection without opening another", () =>
    Effect.gen(function* () {
      const { client, server, tries } = yield* watching()
      const watch = yield* following(client.watchResource("a:b"))
      yield* watch.next
      server(0).end()
      yield* watch.next
      yield* Fiber.interrupt(watch.fiber)
      yield* quiesce
      assert.include(
        Modern.methods(server(1)),
        version === Modern.version ? "notifications/cancelled" : "resources/unsubscribe"
      )
      server(1).end()
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(tries(), 2)
    })
  )

  it.effect("A watch fails with Closed if no connection can be opened, and can be retried", () =>
    Effect.gen(function* () {
      const { client, server } = yield* watching(
        {
          script: (n) => (n === 0 || n > 3 ? { answers: subscribes } : refused)
        },
        { reconnect: { attempts: 3 } }
      )
      const watch = yield* following(client.watchResource("a:b"))
      yield* watch.next
      server(0).cut()
      yield* quiesce
      yield* TestClock.adjust("1 minute")
      assert.deepInclude(yield* endOf(watch), { _tag: "Closed", cause: refused })
      const again = yield* following(client.watchResource("a:b"))
      assert.strictEqual((yield* again.next)._tag, "Watching")
    })
  )

  it.effect("A watch fails with the next server's error if that server rejects it", () =>
    Effect.gen(function* () {
      const no = () => Effect.fail(McpError.invalidParams("No"))
      const { client, server } = yield* watching({
        script: (n) => ({ answers: n === 0 ? subscribes : { [subscribe]: no } })
      })
      const watch = yield* following(client.watchResource("a:b"))
      yield* watch.next
      server(0).cut()
      assert.deepInclude(yield* endOf(watch), { _tag: "McpError", message: "No" })
    })
  )

  it.effect("A watch subscribes again if its connection is lost while subscribing", () =>
    Effect.gen(function* () {
      const { client, server } = yield* watching({
        script: (n) => ({ answers: n === 0 ? { [subscribe]: () => Effect.never } : subscribes })
      })
      const watch = yield* following(client.watchResource("a:b"))
      yield* until(() => server(0).requests(subscribe).length === 1)
      server(0).cut()
      assert.strictEqual((yield* watch.next)._tag, "Watching")
      yield* quiesce
      assert.strictEqual(yield* watch.waiting, 0)
    })
  )

  it.effect("A watch survives a server that crashes on every subscription, up to the maximum attempts", () =>
    Effect.gen(function* () {
      const { client, opened } = yield* watching({}, { reconnect: { attempts: 4 } })
      const watch = yield* following(client.watchResource("a:b"))
      for (let n = 0; n < 5; n++) {
        yield* until(() => opened[n]?.requests(subscribe).length === 1)
        yield* quiesce
        opened[n]?.cut()
        yield* quiesce
        yield* TestClock.adjust("4 seconds")
      }
      assert.deepInclude(yield* endOf(watch), { _tag: "Closed", cause: broken })
      assert.strictEqual(opened.length, 5)
      assert.deepStrictEqual(
        yield* tags(watch, 5),
        Array.from({ length: 5 }, () => "Watching" as const)
      )
    })
  )

  it.effect("A watch that lasts or receives updates survives any number of lost connections", () =>
    Effect.gen(function* () {
      const { client, opened, server } = yield* watching({}, { reconnect: { attempts: 2 } })
      const watch = yield* following(client.watchResource("a:b"))
      for (let n = 0; n < 8; n++) {
        yield* until(() => opened[n]?.requests(subscribe).length === 1)
        assert.strictEqual((yield* watch.next)._tag, "Watching")
        // By an update, or by staying open for a while.
        if (n % 2 === 0) {
          tell(server(n))
          assert.strictEqual((yield* watch.next)._tag, "Updated")
        } else yield* TestClock.adjust("5 seconds")
        server(n).cut()
        yield* quiesce
        yield* TestClock.adjust("1 second")
      }
      assert.isUndefined(watch.fiber.pollUnsafe())
    })
  )

  it.effect("After a lost connection, each list-change stream emits one event and listens again", () =>
    Effect.gen(function* () {
      const { client, opened, server } = yield* watching()
      const tools = yield* following(client.toolChanges)
      const prompts = yield* following(client.promptChanges)
      yield* quiesce
      yield* client.ping
      server(0).cut()
      yield* tools.next
      yield* prompts.next
      server(1).peer.notify("notifications/tools/list_changed")
      yield* tools.next
      yield* quiesce
      assert.strictEqual((yield* tools.waiting) + (yield* prompts.waiting), 0)
      assert.strictEqual(opened.length, 2)
    })
  )

  it.effect("A change stream waits for the next connection while none can be opened", () =>
    Effect.gen(function* () {
      const { client, server, tries } = yield* watching(
        {
          script: (n) => (n === 0 || n > 2 ? {} : refused)
        },
        { reconnect: { attempts: 2 } }
      )
      const tools = yield* following(client.toolChanges)
      yield* quiesce
      yield* client.ping
      server(0).cut()
      yield* quiesce
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(tries(), 3)
      assert.isUndefined(tools.fiber.pollUnsafe())
      assert.strictEqual(yield* tools.waiting, 0)
      yield* client.ping
      yield* tools.next
      server(0).peer.notify("notifications/tools/list_changed")
      yield* quiesce
      assert.strictEqual(yield* tools.waiting, 0)
    })
  )
})
