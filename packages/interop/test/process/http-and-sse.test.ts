/** A server for old and new clients: HTTP with SSE next to Streamable HTTP, on one listener. */
import { NodeHttpServer } from "@effect/platform-node"
import { McpClient } from "@effect-mcp/client"
import { Tool, Tools } from "@effect-mcp/core"
import { McpServer } from "@effect-mcp/server"
import { since } from "@effect-mcp/spec/Requirement"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Schema } from "effect"
import { FetchHttpClient, HttpServer } from "effect/http"
import { createServer } from "node:http"

const Echo = Tool.make("echo", { description: "Says it again.", input: { text: Schema.String } })

const hello = [{ type: "text" as const, text: "hello" }]

const app = McpServer.serveHttp(
  Layer.merge(McpServer.layerHttp({ path: "/mcp" }), McpServer.layerSse({ path: "/sse" })),
  { disableLogger: true, disableListenLog: true }
).pipe(
  Layer.provide(
    McpServer.layer({
      name: "test",
      version: "1.0.0",
      features: Tools.layer(Echo, ({ text }) => Effect.succeed(text))
    })
  ),
  Layer.provideMerge(Layer.orDie(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })))
)

/** The revision that a client negotiates with the server, and the answer of `echo`. */
const use = <E>(client: Layer.Layer<McpClient.McpClient, E>) =>
  Effect.flatMap(McpClient.McpClient, (mcp) =>
    Effect.map(mcp.callTool(Echo, { text: "hello" }), ({ content }) => [mcp.revision.version, content])
  ).pipe(Effect.provide(client))

describe.each(since("2025-03-26"))("%s endpoints with HTTP with SSE alongside", (version) => {
  it.live(
    "The endpoint serves its own clients while 2024-11-05 clients use HTTP with SSE",
    () =>
      Effect.gen(function* () {
        const context = yield* Layer.build(Layer.fresh(app))
        const origin = HttpServer.formatAddress(Context.get(context, HttpServer.HttpServer).address)
        const streamable = McpClient.layerHttp({ url: `${origin}/mcp`, revisions: [version] })
        const sse = McpClient.layerSse({ url: `${origin}/sse`, revisions: ["2024-11-05"] })
        const both = [streamable, sse].map((client) => use(Layer.provide(client, FetchHttpClient.layer)))
        assert.deepStrictEqual(yield* Effect.all(both, { concurrency: 2 }), [
          [version, hello],
          ["2024-11-05", hello]
        ])
      }),
    verifies("http.compatibility.server-hosts-both")
  )
})
