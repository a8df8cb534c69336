import { McpClient } from "@effect-mcp/client"
import { Tool, Tools } from "@effect-mcp/core"
import { Nodes } from "@effect-mcp/nodes"
import { Health } from "@effect-mcp/operate"
import * as Revision from "@effect-mcp/protocol/Revision"
import { McpServer } from "@effect-mcp/server"
import { Tasks } from "@effect-mcp/tasks"
import * as Memory from "@effect-mcp/tasks/internal/memory"
import { TaskStore } from "@effect-mcp/tasks/TaskStore"
import { NodesUnavailable } from "@effect-mcp/server/Nodes"
import * as McpTest from "@effect-mcp/testing/McpTest"
import { assert, describe, it } from "@effect/vitest"
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { Context, Deferred, Effect, Exit, Fiber, Latch, Layer, Logger, Scope } from "effect"
import { FetchHttpClient, HttpClient, type HttpServer } from "effect/http"
import { TestClock } from "effect/testing"
import { listener, portOf } from "../support/served.ts"

const features = Tools.layer(Tool.make("hello", { description: "Greets" }), () => Effect.succeed("Hello"))
const server = McpServer.layer({ name: "test", version: "1", features })
const silent = Logger.layer([])

const serve = <E>(
  checks: Layer.Layer<never, E, Health.Health>,
  tools = features,
  server = McpServer.layer({ name: "test", version: "1", features: tools })
) => {
  const routes = Layer.mergeAll(McpServer.layerHttp({ path: "/mcp" }), Health.layerRoutes(), checks)
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
  it.live("Health is 200 once the server is built and all checks pass", () =>
    Effect.gen(function* () {
      const context = yield* Layer.build(serve(Health.layerCheck("store", Effect.void)))
      assert.deepStrictEqual(yield* get(context, "/healthz"), { status: 200, body: { status: "ok" } })
      assert.deepStrictEqual(yield* get(context, "/readyz"), {
        status: 200,
        body: { status: "ready", checks: [{ name: "store", status: "ok", critical: false }] }
      })
    }).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer))
  )

  it.live("Health is 503 while the nodes' database is down", () =>
    Effect.gen(function* () {
      let isDown = false
      const network = new Nodes.Network()
      const store = network.store.bind(network)
      network.store = (times) => {
        const steps = store(times)
        const down = Effect.fail(new NodesUnavailable({ message: "down" }))
        return { ...steps, alive: (nodes) => Effect.suspend(() => (isDown ? down : steps.alive(nodes))) }
      }
      const node = Layer.provide(
        McpServer.layer({ name: "test", version: "1", features }),
        Layer.orDie(Nodes.layerMemory(network, { lease: "20 seconds" }))
      )
      const context = yield* Layer.build(serve(Layer.empty, features, node))
      const ready = yield* get(context, "/readyz")
      isDown = true
      const failing = yield* get(context, "/readyz")
      const reported = (status: string) => [{ name: "nodes", status, critical: true }]
      assert.deepStrictEqual(ready, { status: 200, body: { status: "ready", checks: reported("ok") } })
      assert.deepStrictEqual(failing, { status: 503, body: { status: "failing", checks: reported("failed") } })
    }).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer))
  )

  it.effect("Health is degraded while the task store does not answer", () =>
    Effect.gen(function* () {
      let isDown = false
      const memory = yield* Layer.build(Memory.layer())
      const store = Context.get(memory, TaskStore)
      const durable = Context.add(memory, TaskStore, {
        ...store,
        outlives: true,
        get: (id, owner) => Effect.suspend(() => (isDown ? Effect.never : store.get(id, owner)))
      })
      const features = Layer.provide(Tasks.layerStore(), Layer.succeedContext(durable))
      const health = Health.layer({ cache: 0 })
      const context = yield* Layer.build(
        Layer.provideMerge(Layer.fresh(McpServer.layer({ name: "test", version: "1", features })), health)
      )
      const { report } = Context.get(context, Health.Health)
      const reported = (status: "failed" | "ok") => [{ name: "tasks", status, critical: false }]
      assert.deepStrictEqual(yield* report, { status: "ready", checks: reported("ok") })
      isDown = true
      const late = yield* Effect.forkChild(report)
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* Fiber.join(late), { status: "degraded", checks: reported("failed") })
    }).pipe(Effect.provide(silent))
  )

  it.live("Health is degraded if a check fails and 503 if a critical one does, without a reason", () =>
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

  it.live("Health is 503 as soon as the endpoints drain", () =>
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
  it.live("Two calls without options report the same servers' health", () =>
    Effect.gen(function* () {
      const routes = Layer.mergeAll(McpServer.layerHttp({ path: "/mcp" }), Health.layerRoutes())
      const context = yield* Layer.build(
        McpServer.serveHttp(routes, { disableLogger: true, disableListenLog: true }).pipe(
          Layer.provide(Layer.provide(server, Health.layer())),
          Layer.provide(Health.layer()),
          Layer.provideMerge(listener),
          Layer.provide(silent)
        )
      )
      assert.strictEqual((yield* get(context, "/readyz")).status, 200)
    }).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer))
  )

  it.effect("A warning is logged once if health is queried and no server reports to it", () =>
    Effect.gen(function* () {
      const said: Array<unknown> = []
      const { report } = yield* Health.Health
      const logger = Logger.make(({ message }) => void said.push(message))
      yield* Effect.provide(Effect.andThen(report, report), Logger.layer([logger]))
      assert.lengthOf(said, 1)
      assert.include(String(said[0]), "provide Health.layer() to McpServer.layer")
    }).pipe(Effect.provide(Health.layer({ cache: 0 })))
  )

  it.effect.each([
    ["throws", Effect.sync(() => assert.fail("a check"))],
    ["never ends", Effect.never],
    ["cannot be interrupted", Effect.uninterruptible(Effect.never)]
  ] as const)("A check that %s counts as failed", ([, check]) =>
    Effect.gen(function* () {
      const { report } = yield* Health.Health
      yield* Layer.build(
        Layer.mergeAll(server, Health.layerCheck("bad", check), Health.layerCheck("good", Effect.void))
      )
      for (const _ of [1, 2]) {
        const reported = yield* Effect.forkChild(report, { startImmediately: true })
        yield* TestClock.adjust("5 seconds")
        assert.deepStrictEqual((yield* Fiber.join(reported)).checks, [
          { name: "bad", status: "failed", critical: false },
          { name: "good", status: "ok", critical: false }
        ])
      }
    }).pipe(Effect.scoped, Effect.provide([Health.layer({ cache: 0 }), silent]))
  )

  it.effect("A late check runs again once it has ended", () =>
    Effect.gen(function* () {
      let runs = 0
      const slow = Latch.makeUnsafe(false)
      const { report } = yield* Health.Health
      const check = Effect.suspend(() => (runs++ === 0 ? Effect.uninterruptible(slow.await) : Effect.void))
      yield* Layer.build(Layer.mergeAll(server, Health.layerCheck("slow", check)))
      const first = yield* Effect.forkChild(report, { startImmediately: true })
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(first)
      assert.strictEqual((yield* report).status, "degraded")
      assert.strictEqual(runs, 1)
      slow.openUnsafe()
      yield* quiesce
      assert.strictEqual((yield* report).status, "ready")
    }).pipe(Effect.scoped, Effect.provide([Health.layer({ cache: 0 }), silent]))
  )

  it.effect("Health is starting before a server is built and after it ends", () =>
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
  it.effect("A ping fails with the status if the server is not ready", () =>
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
