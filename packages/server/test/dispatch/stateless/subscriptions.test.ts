/** `subscriptions/listen`: one long-running request that streams notifications. */
import { Principal, Resources, Tool, Tools } from "@effect-mcp/core"
import type { ResourceRegistry } from "@effect-mcp/core/Resources"
import type { ToolRegistry } from "@effect-mcp/core/Tools"
import type { Sink } from "@effect-mcp/core/Transport"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import type { ChangeNotifier } from "../../../src/session/ChangeNotifier.ts"
import * as Features from "@effect-mcp/server/internal/Features"
import { Limits } from "@effect-mcp/server/Limits"
import * as Middleware from "@effect-mcp/server/Middleware"
import { listen } from "../../../src/dispatch/SubscriptionsListen.ts"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { type Context, Deferred, Effect, Exit, Fiber, Layer, Queue, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { connect, serve, quiesce } from "../../support/raw.ts"
import { join, modern, open } from "../../support/modern.ts"

const tool = (name: string) => Tools.layer(Tool.make(name, { description: "" }), () => Effect.succeed(name))
const all = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }

/** A resource that changes when the test asks, and counts its watchers. */
const watched = Effect.gen(function* () {
  const changes = yield* Queue.unbounded<number>()
  let watchers = 0
  const stream = Stream.unwrap(
    Effect.as(
      Effect.acquireRelease(
        Effect.sync(() => watchers++),
        () => Effect.sync(() => watchers--)
      ),
      Stream.fromQueue(changes)
    )
  )
  const features = (uri: string, visible?: (principal: Principal.Principal["Service"]) => boolean) =>
    Resources.layer(
      { uri, name: "it", ...(visible === undefined ? undefined : { visible }) },
      Effect.succeed("x"),
      stream
    )
  const change = Effect.andThen(Queue.offer(changes, 1), quiesce)
  return { features, change, watchers: () => watchers }
})

/** Features that a test changes while they are served. */
const registries = Effect.gen(function* () {
  let found: Context.Context<ToolRegistry | ResourceRegistry> | undefined
  const layer = Layer.effectDiscard(
    Effect.contextWith((context: Context.Context<ToolRegistry | ResourceRegistry>) =>
      Effect.sync(() => {
        found = context
      })
    )
  )
  const add = (features: Layer.Layer<never, never, ToolRegistry | ResourceRegistry>) =>
    Effect.andThen(Effect.provideContext(Layer.build(features), found!), quiesce)
  return { layer, add }
})

describe("subscriptions/listen", () => {
  it.effect(
    "subscriptions/listen first acknowledges the granted notifications under its request id (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const { features } = yield* watched
        const client = yield* open(Layer.merge(tool("a"), features("menu://today")))
        const listening = yield* client.listen({
          ...all,
          resourceSubscriptions: ["menu://today", "menu://today", "menu://unknown"]
        })
        assert.deepStrictEqual(listening.messages(), [
          {
            jsonrpc: "2.0",
            method: "notifications/subscriptions/acknowledged",
            params: {
              // The server has no prompts, so it has nothing to announce about them.
              notifications: {
                toolsListChanged: true,
                resourcesListChanged: true,
                resourceSubscriptions: ["menu://today"]
              },
              _meta: { [Meta.subscriptionId]: listening.id }
            }
          }
        ])
      }),
    verifies(
      "subscriptions.acknowledged.first",
      "subscriptions.acknowledged.subset",
      "subscriptions.acknowledged.nothing-before"
    )
  )

  it.effect(
    "subscriptions/listen sends only the notifications its filter names, each with its id (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const { change, features } = yield* watched
        const { add, layer } = yield* registries
        const client = yield* open(Layer.mergeAll(layer, tool("a"), features("menu://today")))
        const none = yield* client.listen({})
        const tools = yield* client.listen({ toolsListChanged: true, resourcesListChanged: false })
        const menu = yield* client.listen({ resourceSubscriptions: ["menu://today"] })
        yield* add(tool("b"))
        yield* change
        const methods = (listening: typeof none) =>
          listening.messages().map(({ method, params }) => [method, params.uri].filter((part) => part !== undefined))
        assert.deepStrictEqual(methods(none), [["notifications/subscriptions/acknowledged"]])
        assert.deepStrictEqual(methods(tools), [
          ["notifications/subscriptions/acknowledged"],
          ["notifications/tools/list_changed"]
        ])
        assert.deepStrictEqual(methods(menu), [
          ["notifications/subscriptions/acknowledged"],
          ["notifications/resources/updated", "menu://today"]
        ])
        // Every message has the id of its subscription.
        for (const { method, params } of client.received) {
          if (method !== undefined) assert.isDefined(params._meta[Meta.subscriptionId], method)
        }
      }),
    verifies("subscriptions.filter.only-requested", "meta.notification.subscription")
  )

  it.effect(
    "A subscription to the resource list is notified of a new resource (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const { features } = yield* watched
        const { add, layer } = yield* registries
        const client = yield* open(Layer.merge(layer, features("menu://today")))
        const listening = yield* client.listen({ resourcesListChanged: true })
        const told = () =>
          listening.messages().filter(({ method }) => method === "notifications/resources/list_changed")
        assert.strictEqual(told().length, 0)
        yield* add(features("menu://tomorrow"))
        assert.strictEqual(told().length, 1)
      }),
    verifies("resources.list-changed.sent")
  )

  it.effect("subscriptions/listen coalesces a burst of changes into one notification", () =>
    Effect.gen(function* () {
      const { add, layer } = yield* registries
      const client = yield* open(Layer.merge(layer, tool("a")))
      const listening = yield* client.listen(all)
      yield* add(Layer.mergeAll(...(["b", "c", "d", "e"].map(tool) as [ReturnType<typeof tool>])))
      assert.strictEqual(listening.messages().length, 2)
      yield* add(tool("f"))
      assert.strictEqual(listening.messages().length, 3)
    })
  )

  it.effect("Subscriptions with the same filter can share a connection and end independently", () =>
    Effect.gen(function* () {
      const { change, features, watchers } = yield* watched
      const client = yield* open(features("menu://today"))
      const filter = { resourceSubscriptions: ["menu://today"] }
      const one = yield* client.listen(filter)
      const two = yield* client.listen(filter)
      assert.notStrictEqual(one.id, two.id)
      assert.strictEqual(watchers(), 1)
      yield* change
      yield* one.cancel
      yield* change
      assert.strictEqual(one.messages().length, 2)
      assert.strictEqual(two.messages().length, 3)
    })
  )

  it.effect(
    "A subscriptions/listen cancelled by the client gets no answer and leaks nothing (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const { change, features, watchers } = yield* watched
        const { add, layer } = yield* registries
        const client = yield* open(Layer.mergeAll(layer, tool("a"), features("menu://today")))
        for (let i = 0; i < 5; i++) {
          const listening = yield* client.listen({ ...all, resourceSubscriptions: ["menu://today"] })
          assert.strictEqual(watchers(), 1)
          yield* listening.cancel
          assert.strictEqual(watchers(), 0)
          assert.strictEqual(listening.messages().length, 1)
        }
        assert.deepStrictEqual(yield* client.session.peer.inFlight, [])
        const before = client.received.length
        yield* add(tool("b"))
        yield* change
        assert.strictEqual(client.received.length, before)
      }),
    verifies("stdio.cancel.nothing-more", "stdio.cancel.stops")
  )

  const ending = Effect.fnUntraced(function* (
    features: Layer.Layer<never, never, ToolRegistry | Middleware.MiddlewareRegistry>
  ) {
    const server = yield* serve({ features })
    const serving = yield* Scope.make()
    const wire = yield* connect(
      { ...server, connect: (transport, options) => Scope.provide(server.connect(transport, options), serving) },
      { handshake: false }
    )
    return { client: modern(wire), close: Scope.close(serving, Exit.void) }
  })

  it.effect(
    "subscriptions/listen sends its result before the cancellation, even with slow middleware (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const slow = Middleware.layer((request, next) =>
          Effect.tap(next, () => (request.method === "subscriptions/listen" ? Effect.sleep("900 millis") : Effect.void))
        )
        const { client, close } = yield* ending(Layer.merge(tool("a"), slow))
        const listening = yield* client.listen(all)
        const closing = yield* Effect.forkChild(close, { startImmediately: true })
        yield* quiesce
        assert.strictEqual(listening.messages().length, 1)
        yield* TestClock.adjust("900 millis")
        yield* Fiber.join(closing)
        yield* quiesce
        const [, answer, cancelled] = listening.messages()
        assert.strictEqual(answer.result.resultType, "complete")
        assert.strictEqual(cancelled.method, "notifications/cancelled")
      })
  )

  it.effect("subscriptions/listen delays shutdown by at most a second (2026-07-28)", () =>
    Effect.gen(function* () {
      const stuck = Middleware.layer((request, next) =>
        request.method === "subscriptions/listen" ? Effect.andThen(next, Effect.never) : next
      )
      const { client, close } = yield* ending(Layer.merge(tool("a"), stuck))
      yield* client.listen(all)
      const closing = yield* Effect.forkChild(close, { startImmediately: true })
      yield* quiesce
      assert.isUndefined(closing.pollUnsafe())
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(closing)
    })
  )

  it.effect(
    "On shutdown, subscriptions/listen sends a result and then a cancellation (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const { client, close } = yield* ending(tool("a"))
        const one = yield* client.listen(all)
        const two = yield* client.listen({})
        yield* Effect.forkChild(Effect.exit(client.call("a")))
        yield* quiesce
        yield* close
        yield* quiesce
        for (const listening of [one, two]) {
          const [, answer, cancelled, ...rest] = listening.messages()
          assert.deepStrictEqual(rest, [])
          assert.strictEqual(answer.id, listening.id)
          assert.strictEqual(answer.result.resultType, "complete")
          assert.deepInclude(answer.result._meta, { [Meta.subscriptionId]: listening.id })
          assert.isDefined(answer.result._meta[Meta.serverInfo])
          assert.strictEqual(cancelled.method, "notifications/cancelled")
          assert.strictEqual(cancelled.params.requestId, listening.id)
          assert.isTrue(Exit.isSuccess(yield* Fiber.await(listening.fiber)))
        }
        assert.strictEqual(client.notes("notifications/cancelled").length, 2)
      }),
    verifies(
      "subscriptions.end.answered",
      "subscriptions.end.id",
      "cancellation.server.subscription",
      "cancellation.server.nothing-else"
    )
  )

  it.effect("subscriptions/listen needs no permit and blocks neither requests nor draining", () =>
    Effect.gen(function* () {
      const server = yield* serve({ features: tool("a"), limits: { inFlight: 1, pending: 3 }, drain: "1 minute" })
      const serving = yield* Scope.make()
      const wire = yield* connect(
        { ...server, connect: (transport, options) => Scope.provide(server.connect(transport, options), serving) },
        { handshake: false }
      )
      const client = modern(wire)
      for (let i = 0; i < 3; i++) yield* client.listen(all)
      assert.strictEqual((yield* client.call("a")).content[0].text, "a")
      const tooMany = yield* client.refused("subscriptions/listen", { notifications: {} })
      assert.strictEqual(tooMany.code, McpError.LimitExceeded)
      // The clock does not move, so waiting would hang here.
      yield* Scope.close(serving, Exit.void)
    })
  )

  it.effect("subscriptions/listen grants at most 1024 resources and lists them", () =>
    Effect.gen(function* () {
      const client = yield* open(
        Resources.layerTemplate(
          { uriTemplate: "row://{id}", name: "row" },
          () => Effect.succeed("x"),
          () => Stream.never
        )
      )
      const uris = Array.from({ length: 1500 }, (_, i) => `row://${i}`)
      const listening = yield* client.listen({ resourceSubscriptions: uris })
      yield* Effect.repeat(quiesce, { times: 100 })
      const [{ params }] = listening.messages()
      assert.deepStrictEqual(params.notifications.resourceSubscriptions, uris.slice(0, 1024))
    })
  )

  it.effect("subscriptions/listen does not grant resources hidden from the caller", () =>
    Effect.gen(function* () {
      const { features } = yield* watched
      const hidden = features("secret://it", ({ subject }) => subject === "admin")
      const server = yield* serve({ features: hidden })
      const filter = { resourceSubscriptions: ["secret://it"] }
      const granted = Effect.fnUntraced(function* (subject: string) {
        const client = yield* join(server, { principal: { ...Principal.anonymous, subject } })
        return (yield* client.listen(filter)).messages()[0].params.notifications
      })
      assert.deepStrictEqual(yield* granted("guest"), {})
      assert.deepStrictEqual(yield* granted("admin"), filter)
    })
  )

  it.effect(
    "subscriptions/listen acknowledges before notifying about changes during startup (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const features = yield* Features.build(
          Layer.mergeAll(
            Resources.layer({ uri: "a:", name: "a" }, Effect.succeed(""), Stream.make(1)),
            Resources.layer({ uri: "b:", name: "b" }, Effect.succeed(""), Stream.make(1))
          )
        )
        const { resources } = features
        const sent: Array<any> = []
        const sink: Sink = { send: (message) => void sent.push(message), writable: () => true, ready: Effect.void }
        const listeners = new Set<ChangeNotifier>()
        // Each subscription takes a while to start, while resources and lists change.
        const slow: typeof resources = {
          ...resources,
          subscribe: (uri, principal, subscriber) =>
            Effect.andThen(resources.subscribe(uri, principal, subscriber), () => {
              subscriber.resourceUpdated(uri)
              for (const listener of listeners) listener.listChanged("tools")
              return quiesce
            })
        }
        const options = {
          resources: slow,
          capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
          own: Effect.succeed([]),
          listeners,
          closing: Effect.never,
          limits: new Limits(),
          holder: { principal: Principal.anonymous, kept: 0 }
        }
        const request = { jsonrpc: "2.0", id: 1, method: "subscriptions/listen" } as const
        const notifications = { toolsListChanged: true, resourceSubscriptions: ["a:", "b:"] }
        yield* Effect.forkChild(
          listen(options, { request, envelope: {}, sink }, Principal.anonymous, { notifications }),
          { startImmediately: true }
        )
        yield* Effect.repeat(quiesce, { until: () => sent.length > 2 })
        assert.deepStrictEqual(
          sent.map(({ method, params }) => params.uri ?? method),
          ["notifications/subscriptions/acknowledged", "a:", "b:"]
        )
      }),
    verifies("subscriptions.acknowledged.nothing-before", "subscriptions.acknowledged.first")
  )

  it.effect("subscriptions/listen misses no update after its acknowledgement, even with a slow watcher", () =>
    Effect.gen(function* () {
      const started = yield* Deferred.make<void>()
      const changes = Stream.unwrap(Effect.as(Deferred.succeed(started, undefined), Stream.make(1, 2, 3)))
      const client = yield* open(Resources.layer({ uri: "a://b", name: "b" }, Effect.succeed("x"), changes))
      const listening = yield* client.listen({ resourceSubscriptions: ["a://b"] })
      yield* Deferred.await(started)
      yield* quiesce
      assert.strictEqual(listening.messages()[0].method, "notifications/subscriptions/acknowledged")
      assert.strictEqual(listening.messages()[1].method, "notifications/resources/updated")
    })
  )

  it.effect("subscriptions/listen unsubscribes from list changes however it ends", () =>
    Effect.gen(function* () {
      const { resources } = yield* Features.build(tool("a"))
      const { session } = yield* open(tool("a"))
      const listeners = new Set<ChangeNotifier>()
      const closing = yield* Deferred.make<void>()
      const limits = new Limits()
      const holder = { principal: Principal.anonymous, kept: 0 }
      const options = {
        resources,
        capabilities: {},
        own: Effect.succeed([]),
        listeners,
        closing: Deferred.await(closing),
        limits,
        holder
      }
      const exchange = {
        request: { jsonrpc: "2.0", id: 1, method: "subscriptions/listen" } as const,
        envelope: {},
        sink: session.peer.sink,
        peer: session.peer
      }
      const run = listen(options, exchange, Principal.anonymous, { notifications: {} })
      const cancelled = yield* Effect.forkChild(run, { startImmediately: true })
      const ended = yield* Effect.forkChild(run, { startImmediately: true })
      assert.strictEqual(listeners.size, 2)
      yield* Fiber.interrupt(cancelled)
      assert.strictEqual(listeners.size, 1)
      yield* Deferred.succeed(closing, undefined)
      yield* Fiber.join(ended)
      assert.strictEqual(listeners.size, 0)
      assert.strictEqual(holder.kept, 0)
    })
  )

  it.effect("subscriptions/listen without a filter is rejected as invalid", () =>
    Effect.gen(function* () {
      const client = yield* open(tool("a"))
      for (const notifications of [undefined, null, [], { toolsListChanged: "yes" }, { resourceSubscriptions: "a" }]) {
        const error = yield* client.refused("subscriptions/listen", { notifications })
        assert.strictEqual(error.code, McpError.InvalidParams, JSON.stringify(notifications))
      }
      assert.deepStrictEqual(yield* client.session.peer.inFlight, [])
    })
  )

  it.effect("subscriptions/listen and a stateful session on one connection are notified separately", () =>
    Effect.gen(function* () {
      const { change, features } = yield* watched
      const { add, layer } = yield* registries
      const server = yield* serve({ features: Layer.mergeAll(layer, tool("a"), features("menu://today")) })
      const wire = yield* connect(server)
      yield* wire.request("resources/subscribe", { uri: "menu://today" })
      const listening = yield* modern(wire).listen({ ...all, resourceSubscriptions: ["menu://today"] })
      yield* add(tool("b"))
      yield* change
      assert.strictEqual(listening.messages().length, 3)
      // The session gets its notification without an id.
      const own = wire.received.filter(
        ({ method, params }) => method?.startsWith("notifications/") && params?._meta === undefined
      )
      assert.deepStrictEqual(
        own.map(({ method }) => method),
        ["notifications/tools/list_changed", "notifications/resources/updated"]
      )
    })
  )
})
