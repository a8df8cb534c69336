/** The log lines of `McpServer.serveHttp`. */
import { McpServer } from "@effect-mcp/server"
import { NodeHttpServer } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Logger, Stream } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { createServer } from "node:http"

const listener = Layer.orDie(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }))

describe("McpServer.serveHttp", () => {
  it.live("Only the failing request is logged", () =>
    Effect.gen(function* () {
      const logged: Array<string> = []
      const logger = Logger.map(Logger.formatLogFmt, (line) => void logged.push(line))
      const routes = Layer.mergeAll(
        McpServer.layerHttp({ path: "/mcp" }),
        HttpRouter.add("GET", "/well", HttpServerResponse.text("well")),
        HttpRouter.add("GET", "/broken", Effect.die(new Error("no database"))),
        HttpRouter.add(
          "GET",
          "/stream",
          HttpServerResponse.stream(Stream.concat(Stream.make(new Uint8Array(1)), Stream.never))
        )
      )
      const context = yield* Layer.build(
        McpServer.serveHttp(routes, { disableListenLog: true }).pipe(
          Layer.provide(McpServer.layer({ name: "test", version: "1", features: Layer.empty })),
          Layer.provideMerge(listener),
          Layer.provideMerge(Logger.layer([logger]))
        )
      )
      const base = HttpServer.formatAddress(Context.get(context, HttpServer.HttpServer).address)
      const statusOf = (path: string) => Effect.promise(async () => (await fetch(`${base}${path}`)).status)
      const statuses = yield* Effect.forEach(["/well", "/nothing", "/broken?key=secret"], statusOf)
      assert.deepStrictEqual(statuses, [200, 404, 500])
      yield* Effect.promise(async () => {
        const leaving = new AbortController()
        const { body } = await fetch(`${base}/stream`, { signal: leaving.signal })
        await body?.getReader().read()
        leaving.abort()
      })
      assert.strictEqual(yield* statusOf("/well"), 200)
      assert.lengthOf(logged, 1)
      assert.include(logged[0], "An HTTP request failed")
      assert.include(logged[0], "no database")
      assert.include(logged[0], "http.url=/broken")
      assert.notInclude(logged[0], "secret")
    }).pipe(Effect.scoped)
  )
})
