import { Resources, Tool, Tools } from "@effect-mcp/core"
import { Admin, Audit } from "@effect-mcp/operate"
import * as Revision from "@effect-mcp/protocol/Revision"
import { McpServer } from "@effect-mcp/server"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Logger, Queue, Redacted, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { ask, type Asked, bearer, post, readOnly, token } from "../support/admin.ts"
import { clientOf, initialize, listener, portOf } from "../support/served.ts"

/** A tool that hangs after reporting that it has begun. */
const Hang = Tool.make("hang", { description: "Hangs", input: { secret: Schema.String } })

const secretUri = "https://ada:swordfish@host/report?token=swordfish"

const start = Effect.gen(function* () {
  const began = yield* Deferred.make<void>()
  const interrupted = yield* Deferred.make<void>()
  const calls = yield* Queue.unbounded<void>()
  const begins = Effect.andThen(Queue.offer(calls, undefined), Deferred.succeed(began, undefined))
  const hangs = Effect.onInterrupt(Effect.andThen(begins, Effect.never), () => Deferred.succeed(interrupted, undefined))
  const lines: Array<string> = []
  const features = Layer.merge(
    Tools.layer(Hang, () => hangs),
    Resources.layer({ uri: secretUri, name: "report" }, hangs)
  )
  const context = yield* Layer.build(
    HttpRouter.serve(Admin.layer({ token: Redacted.make(token), readOnlyToken: Redacted.make(readOnly) }), {
      disableLogger: true,
      disableListenLog: true
    }).pipe(
      Layer.provideMerge(
        Layer.provide(
          McpServer.layer({ name: "test", version: "1", features }),
          Layer.provide(Audit.layer(), Audit.layerArray(lines))
        )
      ),
      Layer.provideMerge(listener),
      Layer.provide(Logger.layer([]))
    )
  )
  const port = portOf(context)
  const client = (revision: Revision.Version) => clientOf(context, revision, "stuck")
  return { port, client, began, calls, interrupted, lines }
})

const interrupt = (port: number, body: unknown, more: Asked = {}) => post(port, "interrupt", body, more)

describe.each(Revision.all)("Admin endpoint of a $version server", ({ version }) => {
  it.live("The audit trail distinguishes an operator's interrupt from a client's cancellation", () =>
    Effect.gen(function* () {
      const lines = yield* Effect.gen(function* () {
        const { calls, client, lines, port } = yield* start
        const { callTool } = yield* client(version)
        const call = yield* Effect.forkChild(Effect.flip(callTool(Hang, { secret: "swordfish" })))
        yield* Queue.take(calls)
        const { requests } = Schema.decodeUnknownSync(Admin.Snapshot)(JSON.parse((yield* ask(port)).text))
        yield* interrupt(port, { key: requests.find(({ target }) => target === "hang")?.key, reason: "It hangs" })
        yield* Fiber.join(call)
        const cancelled = yield* Effect.forkChild(callTool(Hang, { secret: "again" }))
        yield* Queue.take(calls)
        yield* Fiber.interrupt(cancelled)
        return lines
      }).pipe(Effect.scoped)
      const calls = lines.flatMap((line) => {
        const { details, method, outcome } = JSON.parse(line)
        return method === "tools/call" ? [[outcome, details]] : []
      })
      assert.deepStrictEqual(calls, [
        ["interrupted", { reason: "It hangs" }],
        ["cancelled", undefined]
      ])
    })
  )

  it.live("A stuck call is shown without its arguments and ended with a reason", () =>
    Effect.gen(function* () {
      const { began, client, interrupted, port } = yield* start
      const { callTool } = yield* client(version)
      const call = yield* Effect.forkChild(Effect.flip(callTool(Hang, { secret: "swordfish" })))
      yield* Deferred.await(began)
      const { status, text } = yield* ask(port)
      assert.strictEqual(status, 200)
      assert.notInclude(text, "swordfish")
      const { requests, sessions } = Schema.decodeUnknownSync(Admin.Snapshot)(JSON.parse(text))
      const stuck = requests.find(({ target }) => target === "hang")
      assert(stuck !== undefined)
      assert.deepInclude(stuck, { kind: "request", method: "tools/call", state: "running", transport: "memory" })
      assert.deepStrictEqual([stuck.client?.name, stuck.revision], ["stuck", version])
      assert.strictEqual(sessions[0]?.id, stuck.session)
      const answer = yield* interrupt(port, { key: stuck.key, reason: "It hangs" })
      assert.deepStrictEqual(JSON.parse(answer.text), { interrupted: true })
      yield* Deferred.await(interrupted)
      assert.include((yield* Fiber.join(call)).message, "It hangs")
      const again = yield* interrupt(port, { key: stuck.key, reason: "It hangs" })
      assert.deepStrictEqual(JSON.parse(again.text), { interrupted: false })
    }).pipe(Effect.scoped)
  )

  it.live("A resource read is shown without its URI's user and query", () =>
    Effect.gen(function* () {
      const { began, client, port } = yield* start
      const { readResource } = yield* client(version)
      yield* Effect.forkChild(Effect.exit(readResource(secretUri)))
      yield* Deferred.await(began)
      const { text } = yield* ask(port)
      const { requests } = Schema.decodeUnknownSync(Admin.Snapshot)(JSON.parse(text))
      assert.deepStrictEqual(
        requests.map(({ target }) => target),
        ["https://host/report"]
      )
    }).pipe(Effect.scoped)
  )
})

describe("Admin endpoint", () => {
  it.live("Missing or wrong tokens, other hosts, pages, proxies and read-only interrupts are rejected", () =>
    Effect.gen(function* () {
      const { port } = yield* start
      const statusOf = (asked: Asked) => Effect.map(ask(port, asked), ({ status }) => status)
      assert.strictEqual(yield* statusOf({ headers: {} }), 401)
      assert.strictEqual(yield* statusOf({ headers: bearer("token-of-another-program") }), 401)
      assert.strictEqual(yield* statusOf({ headers: bearer(`${token}x`) }), 401)
      assert.strictEqual(yield* statusOf({ headers: { ...bearer(token), host: "evil.example" } }), 403)
      assert.strictEqual(yield* statusOf({ headers: { ...bearer(token), origin: "https://evil.example" } }), 403)
      for (const name of ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip"]) {
        assert.strictEqual(yield* statusOf({ headers: { ...bearer(token), [name]: "127.0.0.1" } }), 403, name)
      }
      assert.strictEqual(yield* statusOf({ headers: bearer(readOnly) }), 200)
      const { status } = yield* interrupt(port, { key: "1", reason: "no" }, { headers: bearer(readOnly) })
      assert.strictEqual(status, 403)
    }).pipe(Effect.scoped)
  )

  it.live("An HTTP session's id is not shown, since it grants access", () =>
    Effect.gen(function* () {
      const server = McpServer.layer({ name: "test", version: "1", features: Layer.empty })
      const routes = Layer.merge(McpServer.layerHttp({ path: "/mcp" }), Admin.layer({ token: Redacted.make(token) }))
      const context = yield* Layer.build(
        McpServer.serveHttp(routes, { disableLogger: true, disableListenLog: true }).pipe(
          Layer.provide(server),
          Layer.provideMerge(listener),
          Layer.provide(Logger.layer([]))
        )
      )
      const port = portOf(context)
      const { headers } = yield* initialize(port)
      const id = headers.get("mcp-session-id")
      assert.isString(id)
      const { text } = yield* ask(port)
      assert.lengthOf(JSON.parse(text).sessions, 1)
      assert.notInclude(text, id ?? "")
    }).pipe(Effect.scoped)
  )

  it.live("Each interrupt is recorded in its layer's audit trail", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      yield* Effect.gen(function* () {
        const context = yield* Layer.build(
          HttpRouter.serve(Admin.layer({ token: Redacted.make(token) }), {
            disableLogger: true,
            disableListenLog: true
          }).pipe(
            Layer.provide(McpServer.layer({ name: "test", version: "1", features: Layer.empty })),
            Layer.provide(Layer.provide(Audit.layer(), Audit.layerArray(lines))),
            Layer.provideMerge(listener),
            Layer.provide(Logger.layer([]))
          )
        )
        yield* interrupt(portOf(context), { key: "7", reason: "It hangs" })
      }).pipe(Effect.scoped)
      const noted = lines.map((line) => JSON.parse(line)).find(({ event }) => event === "admin.interrupt")
      assert.deepInclude(noted, { target: "7", outcome: "failed", details: { reason: "It hangs" } })
    }).pipe(Effect.scoped)
  )

  it.live("A body that is oversized or not an interrupt is rejected", () =>
    Effect.gen(function* () {
      const { port } = yield* start
      for (const body of [{}, { key: "1" }, { key: "1", reason: "" }, { key: "1", reason: "x".repeat(100_000) }]) {
        assert.strictEqual((yield* interrupt(port, body)).status, 400)
      }
    }).pipe(Effect.scoped)
  )

  it("Only loopback addresses count as the local machine", () => {
    const local = ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"]
    const other = [
      undefined,
      "",
      "10.0.0.1",
      "::ffff:10.0.0.1",
      "128.0.0.1",
      "::2",
      "127.0.0.1.evil.example",
      "1127.0.0.1"
    ]
    assert.deepStrictEqual(
      local.map(Admin.isLoopback),
      local.map(() => true)
    )
    assert.deepStrictEqual(
      other.map(Admin.isLoopback),
      other.map(() => false)
    )
  })

  it.effect("A guessably short token is rejected", () =>
    Effect.gen(function* () {
      const server = McpServer.layer({ name: "test", version: "1", features: Layer.empty })
      const admin = Admin.layer({ token: Redacted.make("short") })
      const exit = yield* Effect.exit(Layer.build(Layer.provide(admin, [server, HttpRouter.layer])))
      assert.strictEqual(exit._tag, "Failure")
    }).pipe(Effect.scoped)
  )
})
