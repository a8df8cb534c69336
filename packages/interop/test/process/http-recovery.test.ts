/** A client over real HTTP whose sessions, streams and servers go away. */
import { NodeHttpServer } from "@effect/platform-node"
import { McpClient } from "@effect-mcp/client"
import { Resources, Tool, Tools } from "@effect-mcp/core"
import type { ToolFailure } from "@effect-mcp/core/Tools"
import { McpServer } from "@effect-mcp/server"
import type { Version } from "@effect-mcp/protocol/Revision"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, PubSub, Queue, Schema, Scope, Stream } from "effect"
import { FetchHttpClient, HttpServer } from "effect/http"
import { createServer } from "node:http"
import * as TcpProxy from "../support/tcp-proxy.ts"

type Kind = "Streamable HTTP" | "HTTP with SSE"

const sessions: ReadonlyArray<Version> = ["2025-03-26", "2025-06-18", "2025-11-25"]
const wires: ReadonlyArray<readonly [Version, Kind]> = [
  ...[...sessions, "2026-07-28" as const].map((version) => [version, "Streamable HTTP"] as const),
  ["2024-11-05", "HTTP with SSE"]
]
const uri = "test://watched"

const Pay = Tool.make("pay", {
  description: "Must not run twice.",
  input: { n: Schema.Int },
  output: { n: Schema.Int }
})
const Park = Tool.make("park", { description: "Runs until it is let go.", output: { runs: Schema.Int } })

/** State that outlives the servers: how often each payment ran, and the changes. */
const makeWorld = Effect.gen(function* () {
  const changes = yield* PubSub.unbounded<void>()
  const parked = yield* Queue.unbounded<Deferred.Deferred<void>>()
  const runs = new Map<number, number>()
  let parks = 0
  const features = Layer.mergeAll(
    Tools.layer(Pay, ({ n }) =>
      Effect.sync(() => {
        runs.set(n, (runs.get(n) ?? 0) + 1)
        return { n }
      })
    ),
    Tools.layer(Park, () =>
      Effect.gen(function* () {
        const go = yield* Deferred.make<void>()
        const run = ++parks
        yield* Queue.offer(parked, go)
        yield* Deferred.await(go)
        return { runs: run }
      })
    ),
    Resources.layer({ uri, name: "watched" }, Effect.succeed("text"), Stream.fromPubSub(changes))
  )
  return { features, runs, parked, update: PubSub.publish(changes, undefined) }
})

type World = Effect.Success<typeof makeWorld>

const quiet = { disableLogger: true, disableListenLog: true }

/** A server in the scope, at the given port or a free one. */
const serve = Effect.fnUntraced(function* (features: World["features"], kind: Kind, port = 0) {
  const endpoint =
    kind === "HTTP with SSE"
      ? McpServer.serveHttp(McpServer.layerSse({ path: "/mcp", drain: "100 millis" }), quiet)
      : McpServer.serveHttp(McpServer.layerHttp({ path: "/mcp", drain: "100 millis" }), quiet)
  const built = yield* Layer.build(
    endpoint.pipe(
      Layer.provide(McpServer.layer({ name: "test", version: "0.0.0", features })),
      Layer.provideMerge(
        Layer.orDie(
          NodeHttpServer.layer(createServer, { port, host: "127.0.0.1", gracefulShutdownTimeout: "100 millis" })
        )
      ),
      Layer.fresh
    )
  )
  const { address } = Context.get(built, HttpServer.HttpServer)
  return address._tag === "UnixPathAddress" ? 0 : address.port
})

/** Messages that the client sends, by method and session. */
interface Traffic {
  readonly sent: Map<string, number>
  session: string | undefined
}

const connect = Effect.fnUntraced(function* (port: number, options: McpClient.Options, kind: Kind = "Streamable HTTP") {
  const traffic: Traffic = { sent: new Map(), session: undefined }
  const counting: typeof fetch = async (input, init) => {
    const body = init?.body instanceof Uint8Array ? new TextDecoder().decode(init.body) : undefined
    const name = body === undefined ? (init?.method ?? "GET") : (JSON.parse(body) as { method?: string }).method
    if (name !== undefined) traffic.sent.set(name, (traffic.sent.get(name) ?? 0) + 1)
    const response = await fetch(input, init)
    traffic.session = response.headers.get("mcp-session-id") ?? traffic.session
    return response
  }
  const url = `http://127.0.0.1:${port}/mcp`
  const layer =
    kind === "HTTP with SSE" ? McpClient.layerSse({ url, ...options }) : McpClient.layerHttp({ url, ...options })
  const context = yield* Layer.build(
    layer.pipe(Layer.provide(FetchHttpClient.layer), Layer.provide(Layer.succeed(FetchHttpClient.Fetch, counting)))
  )
  return { client: Context.get(context, McpClient.McpClient), traffic }
})

const following = <A, E>(stream: Stream.Stream<A, E>) =>
  Effect.gen(function* () {
    const events = yield* Queue.unbounded<A>()
    yield* Effect.forkScoped(Stream.runForEach(stream, (event) => Queue.offer(events, event)))
    return Queue.take(events)
  })

describe.each(sessions)("%s sessions ended by the server", (version) => {
  it.live(
    "An ended session is reopened once for all requests, and no request runs twice",
    () =>
      Effect.gen(function* () {
        const { features, runs } = yield* makeWorld
        const port = yield* serve(features, "Streamable HTTP")
        const { client, traffic } = yield* connect(port, { revisions: [version] })
        yield* client.callTool(Pay, { n: -1 })
        const { session } = traffic
        assert.isDefined(session)
        yield* Effect.promise(() =>
          fetch(`http://127.0.0.1:${port}/mcp`, {
            method: "DELETE",
            headers: { "mcp-session-id": session ?? "", "mcp-protocol-version": version }
          })
        )
        const all = Array.from({ length: 100 }, (_, n) => n)
        yield* Effect.forEach(all, (n) => client.callTool(Pay, { n }), { concurrency: "unbounded" })
        assert.strictEqual(traffic.sent.get("initialize"), 2)
        assert.notStrictEqual(traffic.session, session)
        assert.deepStrictEqual(
          [...runs.values()],
          Array.from({ length: 101 }, () => 1)
        )
      }),
    verifies("http.session.client-reinitializes")
  )
})

describe.each(wires)("%s servers over %s", (version, kind) => {
  it.live("A client reconnects to a server restarted on the same port", () =>
    Effect.gen(function* () {
      const { features, parked, runs } = yield* makeWorld
      const scope = yield* Scope.make()
      const port = yield* serve(features, kind).pipe(Scope.provide(scope))
      const { client } = yield* connect(port, { revisions: [version], reconnect: { attempts: 20 } }, kind)
      yield* client.callTool(Pay, { n: 0 })
      const interrupted = yield* Effect.forkChild(Effect.flip(client.callToolByName("park")))
      yield* Queue.take(parked)
      yield* Scope.close(scope, Exit.void)
      // A rejected request is sent again, whatever it is; on a stream that has not ended yet it may have been processed.
      const pays = kind === "Streamable HTTP"
      const request: Effect.Effect<unknown, McpClient.ClientError | ToolFailure> = pays
        ? client.callTool(Pay, { n: 1 })
        : client.readResource(uri)
      const early = yield* Effect.forkChild(request, { startImmediately: true })
      yield* serve(features, kind, port)
      yield* Fiber.join(early)
      assert.include(["Closed", "McpError"], (yield* Fiber.join(interrupted))._tag)
      yield* client.callTool(Pay, { n: 2 })
      assert.deepStrictEqual(
        [...runs],
        (pays ? [0, 1, 2] : [0, 2]).map((n) => [n, 1])
      )
    })
  )

  it.live("A server whose connections are all cut announces the next update to its watchers", () =>
    Effect.gen(function* () {
      const { features, update } = yield* makeWorld
      const proxy = yield* TcpProxy.make(yield* serve(features, kind))
      const { client } = yield* connect(proxy.port, { revisions: [version] }, kind)
      const next = yield* following(client.watchResource(uri))
      assert.strictEqual((yield* next)._tag, "Watching")
      yield* client.ping
      yield* update
      assert.strictEqual((yield* next)._tag, "Updated")
      for (let n = 0; n < 2; n++) {
        assert.isAbove(proxy.cut(), 0)
        yield* update
        const told = yield* next
        if (version === "2026-07-28" || kind === "HTTP with SSE") assert.strictEqual(told._tag, "Watching")
        // An update in between may or may not be missed, but this one arrives.
        yield* update
        yield* next
      }
    })
  )
})
