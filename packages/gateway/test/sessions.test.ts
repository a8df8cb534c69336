/** Unrequested notifications and subscriptions of a session with a gateway. */
import { Memory, Peer, Tool, Tools } from "@effect-mcp/core"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpServer from "@effect-mcp/server/McpServer"
import { StateSeal } from "@effect-mcp/server/StateSeal"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer, PubSub, Queue, Stream } from "effect"
import * as Gateway from "../src/Gateway.ts"
import { Behind, join, layer } from "./support/gateway.ts"
import { everything, post } from "./support/post.ts"

const stateful = Revision.get("2025-11-25")!

describe.each([stateful, Revision.get("2026-07-28")!])("Sessions in front of $version", (upstream) => {
  const test = <A, E>(title: string, body: Effect.Effect<A, E, any>) =>
    it.effect(title, () => Effect.provide(Effect.scoped(body), Layer.fresh(layer(upstream))) as Effect.Effect<A, E>)

  test(
    "A session subscribes upstream once, however often its client subscribes",
    Effect.gen(function* () {
      const client = yield* join(stateful)
      const { updates } = yield* Behind
      const heard = yield* Queue.unbounded<string>()
      yield* Effect.forkScoped(
        Stream.runForEach(client.resourceUpdates, (uri) => Queue.offer(heard, uri)),
        { startImmediately: true }
      )
      yield* client.subscribeResource("test://news")
      yield* client.subscribeResource("test://news")
      yield* PubSub.publish(updates, undefined)
      assert.strictEqual(yield* Queue.take(heard), "test://news")
      yield* client.unsubscribeResource("test://news")
      yield* client.subscribeResource("test://news")
      yield* PubSub.publish(updates, undefined)
      assert.strictEqual(yield* Queue.take(heard), "test://news")
      yield* client.unsubscribeResource("test://news")
      yield* client.unsubscribeResource("test://news")
      yield* PubSub.publish(updates, undefined)
      yield* client.ping
      assert.strictEqual(yield* Queue.size(heard), 0)
    })
  )

  test(
    "A session cannot subscribe to a missing resource",
    Effect.gen(function* () {
      const client = yield* join(stateful)
      const error = yield* Effect.flip(client.subscribeResource("test://nowhere"))
      // A server without sessions does not report the reason.
      assert.deepInclude(error, { _tag: "McpError", code: upstream === stateful ? -32002 : -32601 })
    })
  )
})

it.effect("A server's message outside any request reaches the session", () =>
  Effect.gen(function* () {
    const connector = Effect.gen(function* () {
      const [client, server] = yield* Memory.pair()
      yield* Peer.make(server, {
        request: ({ request: { method } }) =>
          Effect.succeed(
            method === "initialize"
              ? {
                  protocolVersion: "2025-11-25",
                  capabilities: { logging: {} },
                  serverInfo: { name: "x", version: "0" }
                }
              : {}
          ),
        notification: ({ method }, _envelope, peer) => {
          if (method === "notifications/initialized")
            peer.notify("notifications/message", { level: "info", data: "up", extra: { kept: true } })
        }
      })
      return client
    })
    const said = yield* Queue.unbounded<unknown>()
    const body = join(stateful, {
      onAnnouncement: ({ method, params }) => void Queue.offerUnsafe(said, [method, params])
    })
    yield* Effect.provide(
      Effect.scoped(
        Effect.gen(function* () {
          yield* body
          assert.deepStrictEqual(yield* Queue.take(said), [
            "notifications/message",
            { level: "info", data: "up", extra: { kept: true } }
          ])
        })
      ),
      Gateway.layer({ connector, client: { revisions: ["2025-11-25"] } })
    )
  })
)

it.effect("A server of the other era is detected only once", () =>
  Effect.gen(function* () {
    const add = Tools.layer(Tool.make("hello", { description: "Greets." }), () => Effect.succeed("hello"))
    const server = McpServer.layer({ name: "modern", version: "0", features: add, revisions: ["2026-07-28"] })
    const behind = Context.get(yield* Layer.build(server), McpServer.McpServer)
    let opened = 0
    const connector = Effect.gen(function* () {
      opened++
      const [client, end] = yield* Memory.pair()
      yield* behind.connect(end)
      return client
    })
    const body = Effect.gen(function* () {
      const one = yield* join(stateful)
      assert.deepStrictEqual((yield* one.callToolByName("hello")).content, [{ type: "text", text: "hello" }])
      assert.strictEqual(opened, 2)
      const two = yield* join(stateful)
      assert.strictEqual(two.serverInfo.name, "modern")
      assert.strictEqual(opened, 3)
    })
    yield* Effect.provide(Effect.scoped(body), Gateway.layer({ connector }))
  })
)

/**
 * Opens a state synchronously. The real seal uses other threads; here, the first of two concurrent requests stays first.
 */
const unsealed = Layer.succeed(StateSeal, {
  seal: (journal) => Effect.succeed(JSON.stringify(journal)),
  open: (state) => Effect.succeed({ journal: JSON.parse(state), jti: state, expires: Infinity })
})

describe("Sessionless requests", () => {
  const test = <A, E>(title: string, body: Effect.Effect<A, E, Layer.Success<ReturnType<typeof layer>>>) =>
    it.effect(title, () => Effect.provide(body, Layer.provide(Layer.fresh(layer(stateful)), unsealed)))

  test(
    "A repeated retry gets the same answer from a call that runs once",
    Effect.gen(function* () {
      const call = { name: "greet", arguments: { first: "Ada" } }
      const answers = ({ inputRequests, requestState }: any) => ({
        ...call,
        requestState,
        inputResponses: Object.fromEntries(
          Object.keys(inputRequests).map((key) => [key, { action: "accept", content: { name: "x" } }])
        )
      })
      const first = yield* post("tools/call", call)
      const second = yield* post("tools/call", answers(first.result))
      const retry = post("tools/call", answers(second.result))
      const replies = yield* Effect.all([retry, retry], { concurrency: "unbounded" })
      assert.deepStrictEqual(
        replies.map(({ result }) => result.content),
        [[{ type: "text", text: "x and x" }], [{ type: "text", text: "x and x" }]]
      )
      assert.deepStrictEqual((yield* Behind).calls, ["greeted x and x"])
    })
  )

  test(
    "A sessionless request is validated against the current tools",
    Effect.gen(function* () {
      const call = (name: string) =>
        post(
          "tools/call",
          { name, arguments: {} },
          {
            capabilities: everything,
            envelope: {
              headers: {
                "mcp-protocol-version": "2026-07-28",
                "mcp-method": "tools/call",
                "mcp-name": name,
                "mcp-param-region": "north"
              }
            }
          }
        )
      assert.strictEqual((yield* call("odd")).error.code, -32020)
      assert.isDefined((yield* call("grow")).result)
      assert.isDefined((yield* call("late")).result)
    })
  )

  test(
    "A sessionless request cannot use session subscriptions",
    Effect.gen(function* () {
      const { error } = yield* post("resources/subscribe", { uri: "test://news" })
      assert.strictEqual(error.code, -32601)
    })
  )
})

it.effect("A subscription ends with a result when the gateway shuts down", () =>
  Effect.gen(function* () {
    const dispatch = McpServer.dispatch(yield* McpServer.McpServer)
    const messages = yield* Queue.unbounded<any>()
    const request = JsonRpc.request(7, "subscriptions/listen", {
      notifications: { toolsListChanged: true, resourceSubscriptions: ["test://news", "test://nowhere"] },
      _meta: {
        [Meta.protocolVersion]: "2026-07-28",
        [Meta.clientInfo]: { name: "x", version: "0" },
        [Meta.clientCapabilities]: {}
      }
    })
    const sink = {
      send: (message: unknown) => void Queue.offerUnsafe(messages, message),
      writable: () => true,
      ready: Effect.void
    }
    const closing = yield* Deferred.make<void>()
    const fiber = yield* Effect.forkChild(dispatch(request, {}, sink, { closing: Deferred.await(closing) }))
    const acknowledged = yield* Queue.take(messages)
    assert.deepStrictEqual(acknowledged.params.notifications, {
      toolsListChanged: true,
      resourceSubscriptions: ["test://news"]
    })
    yield* Deferred.succeed(closing, undefined)
    assert.deepInclude(yield* Queue.take(messages), { id: 7 })
    yield* Fiber.join(fiber)
  }).pipe(Effect.provide(Layer.fresh(layer(stateful))))
)
