import { Tool, Tools } from "@effect-mcp/core"
import { Admin, Telemetry } from "@effect-mcp/operate"
import * as Revision from "@effect-mcp/protocol/Revision"
import { McpServer } from "@effect-mcp/server"
import { McpClient } from "@effect-mcp/client"
import { assert, describe, it } from "@effect/vitest"
import {
  Context,
  Deferred,
  Effect,
  Exit,
  Fiber,
  Layer,
  Logger,
  Metric,
  Option,
  Redacted,
  Schema,
  Scope,
  Stream
} from "effect"
import { FetchHttpClient, HttpClient, HttpRouter, HttpServerRequest } from "effect/http"
import { listener, portOf } from "../support/served.ts"

const token = "token-of-the-operator"

const Hang = Tool.make("hang", { description: "Hangs", input: { secret: Schema.String } })
const Fails = Tool.make("fails", { description: "Fails" })

const start = Effect.fnUntraced(function* (scope: Scope.Scope) {
  const began = yield* Deferred.make<void>()
  const features = Layer.mergeAll(
    Tools.layer(Hang, () => Effect.andThen(Deferred.succeed(began, undefined), Effect.never)),
    Tools.layer(Fails, () => Effect.fail(new Tools.ToolFailure({ message: "no" })))
  )
  const observed = Layer.mergeAll(Admin.layerHistory({ capacity: 20 }), Telemetry.layer())
  const routes = Layer.merge(McpServer.layerHttp({ path: "/mcp" }), Admin.layer({ token: Redacted.make(token) }))
  const context = yield* Scope.provide(
    Layer.build(
      McpServer.serveHttp(routes, { disableLogger: true, disableListenLog: true }).pipe(
        Layer.provide(Layer.provide(McpServer.layer({ name: "test", version: "1", features }), observed)),
        Layer.provide(observed),
        Layer.provideMerge(listener),
        Layer.provide(Logger.layer([])),
        // Separate from the metrics of other tests.
        Layer.provide(Layer.succeed(Metric.MetricRegistry, new Map()))
      )
    ),
    scope
  )
  const url = `http://127.0.0.1:${portOf(context)}`
  return { began, url }
})

const headers = { authorization: `Bearer ${token}` }
const get = <A>(url: string, schema: Schema.Codec<A>) =>
  Effect.gen(function* () {
    const response = yield* HttpClient.get(url, { headers })
    assert.strictEqual(response.status, 200)
    const json = yield* response.json
    assert.notInclude(JSON.stringify(json), "swordfish")
    return yield* Schema.decodeUnknownEffect(schema)(json)
  })

/** Streams the snapshots that the endpoint sends. */
const follow = (url: string) =>
  Stream.unwrap(Effect.map(HttpClient.get(`${url}/admin/changes`, { headers }), ({ stream }) => stream)).pipe(
    Stream.decodeText(),
    Stream.splitLines,
    Stream.mapEffect((line) => Schema.decodeUnknownEffect(Admin.Snapshot)(JSON.parse(line)))
  )

const clientOf = (url: string, version: Revision.Version) =>
  Effect.map(Layer.build(McpClient.layerHttp({ url: `${url}/mcp`, revisions: [version] })), (context) =>
    Context.get(context, McpClient.McpClient)
  )

describe.each(Revision.all.filter(({ version }) => version !== "2024-11-05"))(
  "Admin endpoint of an HTTP server in $version",
  ({ era, version }) => {
    it.live("A snapshot is sent at once and after each change, until shutdown", () =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const { began, url } = yield* start(scope)
        const seen = yield* Deferred.make<void>()
        const gone = yield* Deferred.make<void>()
        let wasThere = false
        const followed = yield* follow(url).pipe(
          Stream.runForEach(({ requests }) => {
            const isThere = requests.some(({ target }) => target === "hang")
            wasThere ||= isThere
            if (isThere) return Deferred.succeed(seen, undefined)
            return wasThere ? Deferred.succeed(gone, undefined) : Effect.void
          }),
          Effect.exit,
          Effect.forkChild
        )
        const { callTool } = yield* clientOf(url, version)
        const call = yield* Effect.forkChild(callTool(Hang, { secret: "swordfish" }))
        yield* Deferred.await(began)
        yield* Deferred.await(seen)
        yield* Fiber.interrupt(call)
        yield* Deferred.await(gone)
        yield* Scope.close(scope, Exit.void)
        assert.strictEqual((yield* Fiber.join(followed))._tag, "Success")
      }).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer))
    )

    it.live("A session's ended requests are kept and its metrics are summed", () =>
      Effect.gen(function* () {
        const { url } = yield* start(yield* Scope.Scope)
        const client = yield* clientOf(url, version)
        yield* client.callToolByName("fails")
        yield* Effect.exit(client.callToolByName("missing"))
        const { sessions } = yield* get(`${url}/admin/requests`, Admin.Snapshot)
        const query = era === "stateful" ? `?session=${sessions[0]?.id}` : ""
        const Past = Schema.Struct({ ended: Schema.Array(Admin.Ended) })
        const { ended } = yield* get(`${url}/admin/history${query}`, Past)
        const calls = ended.flatMap(({ code, method, outcome, target }) =>
          method === "tools/call" ? [[target, outcome, code]] : []
        )
        assert.deepStrictEqual(calls, [
          ["fails", "tool_failed", undefined],
          ["missing", "failed", -32602]
        ])
        assert.isTrue(ended.every(({ from, to }) => from <= to))
        const { metrics } = yield* get(`${url}/admin/metrics`, Admin.Figures)
        const operations = metrics["mcp.server.operation.duration"]
        assert(operations?.type === "histogram")
        assert.isAtLeast(operations.count, 2)
        assert.strictEqual(operations.buckets.at(-1)?.[1], operations.count)
        assert.deepInclude(metrics["mcp.server.active_sessions"], { type: "gauge", value: sessions.length })
      }).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer))
    )
  }
)

describe("Admin endpoint limits", () => {
  it.live("Only a limited number of the latest ended requests is kept", () =>
    Effect.gen(function* () {
      const { url } = yield* start(yield* Scope.Scope)
      const client = yield* clientOf(url, "2025-11-25")
      for (let i = 0; i < 30; i++) yield* Effect.exit(client.callToolByName(`missing-${i}`))
      const { sessions } = yield* get(`${url}/admin/requests`, Admin.Snapshot)
      const Past = Schema.Struct({ ended: Schema.Array(Admin.Ended) })
      const { ended } = yield* get(`${url}/admin/history?session=${sessions[0]?.id}`, Past)
      assert.deepStrictEqual(
        ended.map(({ target }) => target),
        Array.from({ length: 20 }, (_, i) => `missing-${i + 10}`)
      )
      const others = yield* get(`${url}/admin/history`, Past)
      assert.deepStrictEqual(others.ended, [])
    }).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer))
  )

  it.live("At most sixteen callers can follow, and a new one can once another leaves", () =>
    Effect.gen(function* () {
      const { url } = yield* start(yield* Scope.Scope)
      const status = () => Effect.map(HttpClient.get(`${url}/admin/changes`, { headers }), ({ status }) => status)
      const followed = yield* Effect.forEach(Array.from({ length: 16 }), () =>
        Effect.gen(function* () {
          const began = yield* Deferred.make<void>()
          const fiber = yield* Effect.forkChild(
            Stream.runForEach(follow(url), () => Deferred.succeed(began, undefined))
          )
          yield* Deferred.await(began)
          return fiber
        })
      )
      assert.strictEqual(yield* status(), 429)
      const [first] = followed
      assert(first !== undefined)
      yield* Fiber.interrupt(first)
      // The server learns of it when the connection is closed.
      const again = yield* Effect.repeat(status(), { until: (status) => status === 200 })
      assert.strictEqual(again, 200)
      yield* Fiber.interruptAll(followed)
    }).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer))
  )
})

describe("Followers", () => {
  it.live("At most 16 followers exist, even if no response is read yet, and an ended response makes room", () =>
    Effect.gen(function* () {
      const app = yield* HttpRouter.toHttpEffect(
        Admin.layer({ token: Redacted.make(token) }).pipe(
          Layer.provide(McpServer.layer({ name: "test", version: "1", features: Layer.empty }))
        )
      )
      const named = { ...headers, host: "127.0.0.1" }
      const asking = new Request("http://127.0.0.1/admin/changes", { headers: named })
      const request = HttpServerRequest.fromWeb(asking).modify({
        remoteAddress: Option.some("127.0.0.1")
      })
      /** Opens a response without reading it. Returns its status and a function that ends it. */
      const ask = Effect.gen(function* () {
        const scope = yield* Scope.make()
        const provided = Effect.provideService(app, HttpServerRequest.HttpServerRequest, request)
        const { status } = yield* Scope.provide(provided, scope)
        return { status, end: Scope.close(scope, Exit.void) }
      })
      const asked = yield* Effect.forEach(Array.from({ length: 18 }), () => ask)
      assert.deepStrictEqual(
        asked.map(({ status }) => status),
        [...Array.from({ length: 16 }, () => 200), 429, 429]
      )
      const [first, , ...rest] = asked
      yield* first?.end ?? Effect.void
      assert.strictEqual((yield* ask).status, 200)
      assert.strictEqual((yield* ask).status, 429)
      // A rejected caller has not taken a place.
      yield* rest.at(-1)?.end ?? Effect.void
      assert.strictEqual((yield* ask).status, 429)
    }).pipe(Effect.scoped, Effect.provide(Logger.layer([])))
  )
})
