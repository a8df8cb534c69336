import { McpClient } from "@effect-mcp/client"
import { Tool, Tools } from "@effect-mcp/core"
import { Health } from "@effect-mcp/operate"
import * as Revision from "@effect-mcp/protocol/Revision"
import { McpServer } from "@effect-mcp/server"
import * as McpTest from "@effect-mcp/testing/McpTest"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Logger, Scope } from "effect"
import { FetchHttpClient, HttpClient, type HttpServer } from "effect/http"
import { listener, portOf } from "../support/served.ts"

const features = Tools.layer(Tool.make("hello", { description: "Greets" }), () => Effect.succeed("Hello"))
const server = McpServer.layer({ name: "test", version: "1", features })
const silent = Logger.layer([])

const serve = <E>(checks: Layer.Layer<never, E, Health.Health>, tools = features) => {
  const routes = Layer.mergeAll(McpServer.layerHttp({ path: "/mcp" }), Health.layerRoutes(), checks)
  const server = McpServer.layer({ name: "test", version: "1", features: tools })
  return McpServer.serveHttp(routes, { disableLogger: true, disableListenLog: true }).pipe(
    Layer.provide(server),
    Layer.provideMerge(Health.layer({ cache: 0 })),
    Layer.provideMerge(listener),
    Layer.provide(silent)
  )
}

const place = (context: Context.Context<HttpServer.HttpServer>): string => {
  return `http://127.0.0.1:${portOf(context)}`
}

const get = Effect.fnUntraced(function* (context: Context.Context<HttpServer.HttpServer>, path: string) {
  const response = yield* HttpClient.get(place(context) + path)
  return { status: response.status, body: yield* response.json }
})

describe("Health over HTTP", () => {
  it.live("Health over HTTP is 200 where the server is built and all checks succeed", () =>
    Effect.gen(function* () {
      const context = yield* Layer.build(serve(Health.layerCheck("store", Effect.void)))
      assert.deepStrictEqual(yield* get(context, "/healthz"), { status: 200, body: { status: "ok" } })
      assert.deepStrictEqual(yield* get(context, "/readyz"), {
        status: 200,
        body: { status: "ready", checks: [{ name: "store", status: "ok", critical: false }] }
      })
    }).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer))
  )

  it.live(
    "Health over HTTP is degraded where a check fails, 503 where a critical check does, and tells no reason",
    () =>
      Effect.gen(function* () {
        let critical = false
        const secret = new Error("postgres://user:password@host")
        const context = yield* Layer.build(
          serve(
            Layer.merge(
              Health.layerCheck("cache", Effect.fail(secret)),
              Health.layerCheck(
                "database",
                Effect.suspend(() => (critical ? Effect.fail(secret) : Effect.void)),
                {
                  critical: true
                }
              )
            )
          )
        )
        const degraded = yield* get(context, "/readyz")
        assert.deepStrictEqual(
          [degraded.status, degraded.body],
          [
            200,
            {
              status: "degraded",
              checks: [
                { name: "cache", status: "failed", critical: false },
                { name: "database", status: "ok", critical: true }
              ]
            }
          ]
        )
        critical = true
        const failing = yield* get(context, "/readyz")
        assert.strictEqual(failing.status, 503)
        assert.notInclude(JSON.stringify(failing.body), "password")
        assert.strictEqual((yield* get(context, "/healthz")).status, 200)
      }).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer))
  )

  it.live("Health over HTTP is 503 from the moment that the endpoints drain", () =>
    Effect.gen(function* () {
      const began = yield* Deferred.make<void>()
      const may = yield* Deferred.make<void>()
      const waits = Tools.layer(Tool.make("waits", { description: "Waits" }), () =>
        Effect.as(Effect.andThen(Deferred.succeed(began, undefined), Deferred.await(may)), "done")
      )
      const scope = yield* Scope.make()
      const context = yield* Scope.provide(Layer.build(serve(Layer.empty, waits)), scope)
      const { callToolByName } = Context.get(
        yield* Layer.build(McpClient.layerHttp({ url: `${place(context)}/mcp` })),
        McpClient.McpClient
      )
      const call = yield* Effect.forkChild(callToolByName("waits"))
      yield* Deferred.await(began)
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      const { body, status } = yield* get(context, "/readyz")
      assert.deepStrictEqual([status, body], [503, { status: "draining", checks: [] }])
      assert.strictEqual((yield* get(context, "/healthz")).status, 200)
      yield* Deferred.succeed(may, undefined)
      assert.deepInclude((yield* Fiber.join(call)).content[0], { text: "done" })
      yield* Fiber.join(closing)
    }).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer))
  )
})

describe("Health", () => {
  it.effect("Health is starting before a server is built, and after its end", () =>
    Effect.gen(function* () {
      const { report } = yield* Health.Health
      assert.strictEqual((yield* report).status, "starting")
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* Layer.build(server)
          assert.strictEqual((yield* report).status, "ready")
        })
      )
      assert.strictEqual((yield* report).status, "starting")
    }).pipe(Effect.provide(Health.layer({ cache: 0 })))
  )
})

describe.each(Revision.stateful)("ping in $version", (revision) => {
  it.effect("A ping fails with the status where the server is not ready", () =>
    Effect.gen(function* () {
      const { drain } = yield* Health.Health
      const client = yield* McpTest.connect(Layer.merge(features, Health.layerPing), revision)
      yield* client.ping
      yield* drain
      const error = yield* Effect.flip(client.ping)
      assert.include(error.message, "The server is not ready: draining")
      assert.deepInclude((yield* client.callToolByName("hello")).content[0], { text: "Hello" })
    }).pipe(Effect.provide(Health.layer({ cache: 0 })))
  )
})
