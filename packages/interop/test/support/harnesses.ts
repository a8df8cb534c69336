/** Wires to the reference server other than memory: a separate process, a Unix socket, HTTP, and a gateway. */
import { compileCache } from "@effect-mcp/spec/compileCache"
import { NodeHttpServer, NodeServices, NodeSocket, NodeSocketServer } from "@effect/platform-node"
import { Fetch, Http, McpClient, Sse, Stdio } from "@effect-mcp/client"
import { McpServer } from "@effect-mcp/server"
import * as Socket from "../../../server/src/socket/Socket.ts"
import { Memory } from "@effect-mcp/core"
import { Gateway } from "@effect-mcp/gateway"
import { serve } from "@effect-mcp/interop/reference/node"
import { type Harness, McpTest } from "@effect-mcp/testing"
import { Context, Effect, Layer, Logger } from "effect"
import { FetchHttpClient, HttpServer } from "effect/http"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { serverFile } from "./official.ts"

/** Starts the reference server itself, whatever the features. */
export const stdio: Harness.Harness = {
  name: "stdio",
  connect: (_features, { version }, options) =>
    Effect.flatMap(Layer.build(NodeServices.layer), (services) =>
      Effect.provideContext(
        McpClient.open(
          Stdio.open({
            command: process.execPath,
            args: [serverFile, "--stdio", "--revision", version],
            env: compileCache
          }),
          { revisions: [version], ...options?.client }
        ),
        services
      )
    )
}

let sockets = 0

export const socket: Harness.Harness = {
  name: "a Unix socket",
  connect: (features, { version }, options) =>
    Effect.gen(function* () {
      const path = join(tmpdir(), `effect-mcp-${process.pid}-${++sockets}.sock`)
      const server = McpServer.layer({ name: "test", version: "0.0.0", ...options?.server, features })
      const built = yield* Layer.build(Layer.mergeAll(server, Layer.orDie(NodeSocketServer.layer({ path }))))
      yield* Effect.forkScoped(Effect.provideContext(Socket.serve(), built))
      const connector = Effect.flatMap(NodeSocket.makeNet({ path }), (one) => Socket.transport(one))
      return yield* McpClient.open(connector, { revisions: [version], ...options?.client })
    })
}

/** Serves features with `endpoint`, and returns the URL and the layers that its client needs. */
const served = Effect.fnUntraced(function* <E, R>(
  features: Layer.Layer<never, E, R>,
  endpoint: Layer.Layer<never, never, McpServer.McpServer | HttpServer.HttpServer>,
  options: Partial<McpServer.Options<never, never>> | undefined,
  path: string
) {
  const server = McpServer.layer({ name: "test", version: "0.0.0", ...options, features })
  const built = yield* Layer.build(
    endpoint.pipe(
      Layer.provide(server),
      Layer.provideMerge(Layer.orDie(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }))),
      Layer.merge(FetchHttpClient.layer)
    )
  )
  const { address } = Context.get(built, HttpServer.HttpServer)
  const port = address._tag === "UnixPathAddress" ? 0 : address.port
  return { built, url: `http://127.0.0.1:${port}${path}` }
})

const quiet = { disableLogger: true, disableListenLog: true }

/** Supports the stateful revisions. */
export const sse: Harness.Harness = {
  name: "HTTP with SSE",
  connect: (features, { version }, options) =>
    Effect.gen(function* () {
      const endpoint = McpServer.serveHttp(McpServer.layerSse({ path: "/sse" }), quiet)
      const { built, url } = yield* served(features, endpoint, options?.server, "/sse")
      const connector = Effect.provideContext(Sse.open({ url }), built)
      return yield* McpClient.open(connector, { revisions: [version], ...options?.client })
    })
}

export const http: Harness.Harness = {
  name: "Streamable HTTP",
  connect: (features, { version }, options) =>
    Effect.gen(function* () {
      const endpoint = McpServer.serveHttp(McpServer.layerHttp({ path: "/mcp" }), quiet)
      const { built, url } = yield* served(features, endpoint, options?.server, "/mcp")
      const connector = Effect.provideContext(Http.open({ url }), built)
      return yield* McpClient.open(connector, { revisions: [version], ...options?.client })
    })
}

/** Without a router. */
export const node: Harness.Harness = {
  name: "node:http",
  connect: (features, { version }, options) =>
    Effect.gen(function* () {
      const server = yield* Layer.build(
        McpServer.layer({ name: "test", version: "0.0.0", ...options?.server, features })
      )
      const url = `http://127.0.0.1:${yield* serve(Layer.merge(Layer.succeedContext(server), Logger.layer([])), { path: "/mcp" })}/mcp`
      const connector = Effect.provide(Http.open({ url }), FetchHttpClient.layer)
      return yield* McpClient.open(connector, { revisions: [version], ...options?.client })
    })
}

/** A Worker's handler called without a network, because any `fetch` is a wire. */
export const web: Harness.Harness = {
  name: "fetch alone",
  connect: (features, { version }, options) =>
    Effect.gen(function* () {
      const server = yield* Layer.build(
        McpServer.layer({ name: "test", version: "0.0.0", ...options?.server, features })
      )
      const { handler } = yield* Effect.acquireRelease(
        Effect.sync(() =>
          McpServer.toWebHandler(Layer.merge(Layer.succeedContext(server), Logger.layer([])), { path: "/mcp" })
        ),
        ({ dispose }) => Effect.promise(dispose)
      )
      const fetch: typeof globalThis.fetch = (input, init) => handler(new Request(input, init))
      const connector = Fetch.open({ url: "http://localhost/mcp", fetch })
      return yield* McpClient.open(connector, { revisions: [version], ...options?.client })
    })
}

/** A gateway in front of the server, both in memory; it uses the same revision on both sides. */
export const gateway: Harness.Harness = {
  name: "a gateway",
  connect: (features, revision, options) =>
    Effect.gen(function* () {
      const server = McpServer.layer({ name: "test", version: "0.0.0", ...options?.server, features })
      const behind = Context.get(yield* Layer.build(server), McpServer.McpServer)
      const connector = Effect.gen(function* () {
        const [client, end] = yield* Memory.pair()
        yield* behind.connect(end)
        return client
      })
      const built = yield* Layer.build(Gateway.layer({ connector }))
      return yield* Effect.provideContext(McpTest.join(revision, options), built)
    })
}
