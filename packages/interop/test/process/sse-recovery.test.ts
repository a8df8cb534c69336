/** A client over HTTP with SSE whose streams are cut, and whose server goes away and returns. */
import { NodeHttpServer } from "@effect/platform-node"
import { McpClient } from "@effect-mcp/client"
import { Resources, Tool, Tools } from "@effect-mcp/core"
import { McpServer } from "@effect-mcp/server"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, PubSub, Queue, Schema, Scope, Stream } from "effect"
import { FetchHttpClient, HttpServer } from "effect/http"
import { createServer } from "node:http"
import { listening } from "../support/our-client.ts"
import * as TcpProxy from "../support/tcp-proxy.ts"

const uri = "test://watched"
const Pay = Tool.make("pay", {
  description: "Must not run twice.",
  input: { n: Schema.Int },
  output: { n: Schema.Int }
})
const Park = Tool.make("park", { description: "Runs until its client has gone." })

/** State that outlives the servers. */
const makeWorld = Effect.gen(function* () {
  const changes = yield* PubSub.unbounded<void>()
  const parked = yield* Queue.unbounded<void>()
  const left = yield* Queue.unbounded<void>()
  const runs: Array<number> = []
  const features = Layer.mergeAll(
    Tools.layer(Pay, ({ n }) =>
      Effect.sync(() => {
        runs.push(n)
        return { n }
      })
    ),
    Tools.layer(Park, () =>
      Effect.andThen(Queue.offer(parked, undefined), Effect.never).pipe(
        Effect.onInterrupt(() => Queue.offer(left, undefined))
      )
    ),
    Resources.layer({ uri, name: "watched" }, Effect.succeed("text"), Stream.fromPubSub(changes))
  )
  return { features, runs, parked, left, update: PubSub.publish(changes, undefined) }
})

/** A server in the scope, at the given port or a free one. */
const serve = Effect.fnUntraced(function* (features: Layer.Layer<never, never, McpServer.Registries>, port = 0) {
  const built = yield* Layer.build(
    McpServer.serveHttp(McpServer.layerSse({ path: "/sse", drain: "10 millis" }), {
      disableLogger: true,
      disableListenLog: true
    }).pipe(
      Layer.provideMerge(McpServer.layer({ name: "test", version: "0.0.0", features })),
      Layer.provideMerge(Layer.orDie(NodeHttpServer.layer(createServer, { port, host: "127.0.0.1" }))),
      Layer.fresh
    )
  )
  const { address } = Context.get(built, HttpServer.HttpServer)
  return {
    port: address._tag === "UnixPathAddress" ? 0 : address.port,
    sessions: Context.get(built, McpServer.McpServer).sessions
  }
})

const connect = (port: number, reconnect?: McpClient.Options["reconnect"]) =>
  Effect.map(
    Layer.build(
      Layer.provide(
        McpClient.layerSse({ url: `http://127.0.0.1:${port}/sse`, ...(reconnect && { reconnect }) }),
        FetchHttpClient.layer
      )
    ),
    (context) => Context.get(context, McpClient.McpClient)
  )

describe("Cut streams", () => {
  it.live("A cut stream fails its calls, the next call opens another, and nothing runs twice", () =>
    Effect.gen(function* () {
      const { features, left, parked, runs } = yield* makeWorld
      const server = yield* serve(features)
      const proxy = yield* TcpProxy.make(server.port)
      const client = yield* connect(proxy.port)
      for (let n = 0; n < 3; n++) {
        const waiting = yield* Effect.forkChild(Effect.flip(client.callToolByName("park")))
        yield* Queue.take(parked)
        proxy.cut()
        assert.strictEqual((yield* Fiber.join(waiting))._tag, "Closed")
        yield* Queue.take(left)
        assert.deepStrictEqual(yield* client.callTool(Pay, { n }), { n })
      }
      assert.deepStrictEqual(runs, [0, 1, 2])
      yield* Effect.repeat(server.sessions, { until: (sessions) => sessions.length === 1 })
    })
  )

  it.live("A cut stream does not end its watchers", () =>
    Effect.gen(function* () {
      const { features, update } = yield* makeWorld
      const proxy = yield* TcpProxy.make((yield* serve(features)).port)
      const client = yield* connect(proxy.port)
      const events = yield* listening(client.watchResource(uri))
      assert.strictEqual((yield* Queue.take(events))._tag, "Watching")
      for (let n = 0; n < 3; n++) {
        assert.isAbove(proxy.cut(), 0)
        // An update in between may or may not be missed, but this one arrives.
        yield* Queue.take(events)
        yield* client.ping
        yield* update
        yield* Queue.take(events)
      }
    })
  )
})

describe("Servers restarted on the same port", () => {
  it.live("A client reconnects to an HTTP with SSE server restarted on the same port", () =>
    Effect.gen(function* () {
      const { features, parked, runs } = yield* makeWorld
      const scope = yield* Scope.make()
      const { port } = yield* Scope.provide(serve(features), scope)
      const client = yield* connect(port, { attempts: 20 })
      const interrupted = yield* Effect.forkChild(Effect.flip(client.callToolByName("park")))
      yield* Queue.take(parked)
      yield* Scope.close(scope, Exit.void)
      // A read may be sent again, whether or not the end of the stream was noticed before.
      const early = yield* Effect.forkChild(client.readResourceText(uri), { startImmediately: true })
      yield* serve(features, port)
      assert.strictEqual(yield* Fiber.join(early), "text")
      assert.include(["Closed", "McpError"], (yield* Fiber.join(interrupted))._tag)
      assert.deepStrictEqual(yield* client.callTool(Pay, { n: 1 }), { n: 1 })
      assert.deepStrictEqual(runs, [1])
    })
  )
})
