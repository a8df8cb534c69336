/** A server behind Streamable HTTP: the stream of a question or a log decides which request it belongs to. */
import { NodeHttpServer } from "@effect/platform-node"
import * as Http from "@effect-mcp/client/Http"
import { Extension, Extensions, Memory, Peer } from "@effect-mcp/core"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import type * as Revision from "@effect-mcp/protocol/Revision"
import * as McpServer from "@effect-mcp/server/McpServer"
import { assert, layer } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer, Schema } from "effect"
import { FetchHttpClient, HttpServer } from "effect/http"
import { createServer } from "node:http"
import * as Gateway from "../src/Gateway.ts"
import { Behind, behind } from "./support/gateway.ts"
import { everything, post } from "./support/post.ts"

const served = (server: typeof behind) =>
  McpServer.serveHttp(McpServer.layerHttp({ path: "/mcp" }), { disableLogger: true, disableListenLog: true }).pipe(
    Layer.provide(server),
    Layer.provideMerge(Layer.orDie(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })))
  )

const gateway = (upstream: Revision.Version, server = behind) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const { address } = Context.get(yield* Layer.build(served(server)), HttpServer.HttpServer)
      const url = `http://127.0.0.1:${address._tag === "UnixPathAddress" ? 0 : address.port}/mcp`
      return Gateway.layer({ connector: Http.open({ url }), client: { revisions: [upstream] } })
    })
  ).pipe(Layer.provideMerge(Behind.layer), Layer.provide(FetchHttpClient.layer))

const Named = Extension.make("com.example/named", {
  requests: {
    get: Extension.request("com.example/named/get", { params: { name: Schema.String }, nameParam: "name" })
  }
})
const named = McpServer.layer({
  name: "named",
  version: "1",
  features: Extensions.layer(Named, { requests: { get: () => Effect.succeed({}) } })
})

layer(gateway("2026-07-28", named), { excludeTestServices: true })(
  "A method known only to the server behind HTTP, in 2026-07-28",
  (it) => {
    it.effect("Mcp-Name of an unknown method is forwarded and checked by the server", () =>
      Effect.gen(function* () {
        const { method } = Named.requests.get
        const capabilities = { extensions: { [Named.id]: {} } }
        const send = (name: string) =>
          post(
            method,
            { name: "mine" },
            {
              capabilities,
              envelope: {
                headers: { "mcp-protocol-version": "2026-07-28", "mcp-method": method, "mcp-name": name }
              }
            }
          )
        assert.propertyVal((yield* send("mine")).result, "resultType", "complete")
        assert.propertyVal((yield* send("yours")).error, "code", -32020)
      })
    )
  }
)

/** One manual wire to the gateway in 2026-07-28: each answer as it arrives, and the messages next to the answers. */
const wire = Effect.gen(function* () {
  const { connect } = yield* McpServer.McpServer
  const [mine, theirs] = yield* Memory.pair()
  yield* connect(theirs)
  const said: Array<unknown> = []
  const peer = yield* Peer.make(mine, {
    request: () => Effect.die("The gateway asks in its answers"),
    notification: ({ params }) => void said.push(params)
  })
  const call = (name: string, args: object, meta: object = {}): Effect.Effect<any, Peer.RequestError> =>
    peer.request("tools/call", {
      name,
      arguments: args,
      _meta: {
        [Meta.protocolVersion]: "2026-07-28",
        [Meta.clientInfo]: { name: "by hand", version: "0" },
        [Meta.clientCapabilities]: everything,
        ...meta
      }
    })
  return { call, said }
})

// 2024-11-05 to 2025-06-18 behave the same.
layer(gateway("2025-11-25"), { excludeTestServices: true })("Calls on one connection to an HTTP server", (it) => {
  it.effect("Concurrent calls on one connection each receive their own questions", () =>
    Effect.gen(function* () {
      const { call } = yield* wire
      const names = ["one", "two", "three"]
      const replies = yield* Effect.forEach(names, (first) => call("greet", { first }), { concurrency: "unbounded" })
      assert.deepStrictEqual(
        replies.map(({ inputRequests }) => Object.values<any>(inputRequests).map(({ params }) => params.message)),
        names.map((name) => [`${name}?`])
      )
    })
  )

  it.effect("Concurrent calls on one connection each receive their own logs", () =>
    Effect.gen(function* () {
      const { call, said } = yield* wire
      const { started } = yield* Behind
      const older = yield* Effect.forkChild(call("hang", {}))
      yield* Deferred.await(started)
      yield* call("talk", {}, { [Meta.logLevel]: "debug" })
      assert.deepStrictEqual(said, [{ level: "warning", logger: "talker", data: { said: "something" } }])
      yield* Fiber.interrupt(older)
    })
  )
})
