import { Log, Progress, Tool, Tools } from "@effect-mcp/core"
import { Admin, Audit, Health } from "@effect-mcp/operate"
import * as Revision from "@effect-mcp/protocol/Revision"
import { McpServer } from "@effect-mcp/server"
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Logger, Redacted, Schema, Stream } from "effect"
import { ask, bearer, post, readOnly, token } from "../support/admin.ts"
import { clientOf, initialize, listener, portOf, send } from "../support/served.ts"

const Hang = Tool.make("hang", { description: "Hangs", input: { secret: Schema.String } })
const Reveal = Tool.make("reveal", { description: "Gives a secret", output: { password: Schema.String } })
const Steps = Tool.make("steps", { description: "Reports its progress" })
const Say = Tool.make("say", { description: "Logs a line", input: { password: Schema.String } })

interface Options {
  readonly admin?: Partial<Parameters<typeof Admin.layer>[0]>
  readonly more?: Layer.Layer<any, Audit.SinkError>
}

/** A server over HTTP and in memory, with its admin endpoint and its health. */
const start = Effect.fnUntraced(function* ({ admin = {}, more }: Options = {}) {
  const go = yield* Deferred.make<void>()
  const began = yield* Deferred.make<void>()
  const features = Layer.mergeAll(
    Tools.layer(Reveal, () => Effect.succeed({ password: "swordfish" })),
    Tools.layer(Hang, () => Effect.as(Effect.andThen(Deferred.succeed(began, undefined), Deferred.await(go)), "done")),
    Tools.layer(
      Steps,
      Effect.fnUntraced(function* () {
        yield* Progress.report(1, { total: 2 })
        yield* Deferred.succeed(began, undefined)
        yield* Deferred.await(go)
        yield* Progress.report(2, { total: 2 })
        return "done"
      })
    ),
    Tools.layer(Say, () => Effect.as(Log.debug("a line"), "said"))
  )
  const routes = Layer.mergeAll(
    McpServer.layerHttp({ path: "/mcp" }),
    Admin.layer({ token: Redacted.make(token), readOnlyToken: Redacted.make(readOnly), ...admin }),
    Health.layerRoutes()
  )
  const server = McpServer.layer({ name: "test", version: "1", features })
  const context = yield* Layer.build(
    McpServer.serveHttp(routes, { disableLogger: true, disableListenLog: true }).pipe(
      Layer.provideMerge(server),
      Layer.provide(Health.layer()),
      Layer.provide(more ?? Layer.empty),
      Layer.provideMerge(listener),
      Layer.provide(Logger.layer([]))
    )
  )
  const port = portOf(context)
  const client = (revision: Revision.Version) => clientOf(context, revision)
  const snapshot = Effect.map(ask(port), ({ text }) => Schema.decodeUnknownSync(Admin.Snapshot)(JSON.parse(text)))
  return { port, client, began, go, snapshot }
})

const modern = (port: number) =>
  send(
    port,
    {
      id: 1,
      method: "server/discover",
      params: {
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientInfo": { name: "c", version: "1" },
          "io.modelcontextprotocol/clientCapabilities": {}
        }
      }
    },
    { "mcp-protocol-version": "2026-07-28", "mcp-method": "server/discover" }
  )

const ready = (port: number) => Effect.map(ask(port, { path: "/readyz", headers: {} }), ({ status }) => status)

describe("Interrupting many requests", () => {
  it.live("Each key has an outcome, and each interruption is audited", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      yield* Effect.gen(function* () {
        const audit = Layer.provide(Audit.layer(), Audit.layerArray(lines))
        const { began, client, port, snapshot } = yield* start({ more: audit })
        const { callTool } = yield* client("2025-11-25")
        const calls = yield* Effect.forEach(["a", "b"], (secret) =>
          Effect.forkChild(Effect.flip(callTool(Hang, { secret })), { startImmediately: true })
        )
        yield* Deferred.await(began)
        const { requests } = yield* Effect.repeat(snapshot, { until: ({ requests }) => requests.length === 2 })
        const keys = requests.map(({ key }) => key)
        const answer = yield* post(port, "interrupt-all", { keys: [...keys, "no-such-key"], reason: "They hang" })
        assert.deepStrictEqual(JSON.parse(answer.text).outcomes, [
          ...keys.map((key) => ({ key, outcome: "interrupted" })),
          { key: "no-such-key", outcome: "ended" }
        ])
        for (const call of calls) assert.include((yield* Fiber.join(call)).message, "They hang")
      }).pipe(Effect.scoped)
      const noted = lines.map((line) => JSON.parse(line)).filter(({ event }) => event === "admin.interrupt")
      assert.sameMembers(
        noted.map(({ outcome }) => outcome),
        ["answered", "answered", "failed"]
      )
    })
  )

  it.live("A list is rejected if it is empty, too long, or sent with a read-only token", () =>
    Effect.gen(function* () {
      const { port } = yield* start()
      const status = (keys: ReadonlyArray<string>, as = token) =>
        Effect.map(post(port, "interrupt-all", { keys, reason: "no" }, { headers: bearer(as) }), ({ status }) => status)
      assert.strictEqual(yield* status([]), 400)
      assert.strictEqual(yield* status(Array.from({ length: 501 }, (_, i) => `${i}`)), 400)
      assert.strictEqual(yield* status(Array.from({ length: 500 }, () => "k".repeat(300))), 200)
      assert.strictEqual(yield* status(["1"], readOnly), 403)
    }).pipe(Effect.scoped)
  )

  it.live("The snapshot names the server, and there is no record without a history", () =>
    Effect.gen(function* () {
      const { port, snapshot } = yield* start()
      const { server, time } = yield* snapshot
      assert.deepInclude(server, { name: "test", version: "1" })
      assert.isUndefined(server?.lease)
      assert.isAtMost(server?.since ?? Infinity, time)
      const recent = yield* ask(port, { path: "/admin/recent" })
      assert.strictEqual(recent.status, 404)
      assert.include(recent.text, "Admin.layerHistory()")
    }).pipe(Effect.scoped)
  )
})

describe("Draining by an operator", () => {
  it.live(
    "A drained server rejects new sessions and sessionless requests, is not ready, and ends after running calls",
    () =>
      Effect.gen(function* () {
        const drained = yield* Deferred.make<void>()
        const onDrained = Effect.asVoid(Deferred.succeed(drained, undefined))
        const { began, client, go, port, snapshot } = yield* start({ admin: { onDrained } })
        const open = yield* client("2025-11-25")
        assert.strictEqual((yield* initialize(port)).status, 200)
        assert.strictEqual((yield* modern(port)).status, 200)
        const call = yield* Effect.forkChild(open.callTool(Hang, { secret: "x" }))
        yield* Deferred.await(began)
        assert.strictEqual(yield* ready(port), 200)
        const answer = yield* post(port, "drain", {})
        assert.deepStrictEqual(JSON.parse(answer.text), { draining: true, began: true })
        assert.deepStrictEqual(JSON.parse((yield* post(port, "drain", {})).text), { draining: true, began: false })
        assert.strictEqual(yield* ready(port), 503)
        assert.isTrue((yield* snapshot).draining)
        assert.strictEqual((yield* initialize(port)).status, 503)
        assert.strictEqual((yield* modern(port)).status, 503)
        assert.isTrue((yield* Effect.exit(client("2025-11-25")))._tag === "Failure")
        // Open sessions are served as before.
        yield* Stream.runDrain(open.listTools)
        assert.isFalse(yield* Deferred.isDone(drained))
        yield* Deferred.succeed(go, undefined)
        assert.deepStrictEqual((yield* Fiber.join(call)).content, [{ type: "text", text: "done" }])
        yield* Deferred.await(drained)
        assert.lengthOf((yield* snapshot).sessions, 0)
      }).pipe(Effect.scoped)
  )

  it.live("Draining waits for a call no longer than the `drain` option", () =>
    Effect.gen(function* () {
      const drained = yield* Deferred.make<void>()
      const onDrained = Effect.asVoid(Deferred.succeed(drained, undefined))
      const { began, client, port } = yield* start({ admin: { onDrained, drain: "50 millis" } })
      const open = yield* client("2025-11-25")
      const call = yield* Effect.forkChild(Effect.exit(open.callTool(Hang, { secret: "x" })))
      yield* Deferred.await(began)
      yield* post(port, "drain", {})
      yield* Deferred.await(drained)
      assert.strictEqual((yield* Fiber.join(call))._tag, "Failure")
    }).pipe(Effect.scoped)
  )

  it.live("A read-only token cannot drain, set levels or read messages", () =>
    Effect.gen(function* () {
      const { port, snapshot } = yield* start()
      for (const [route, body] of [
        ["drain", {}],
        ["level", { session: "session-1", level: "debug" }]
      ] as const) {
        assert.strictEqual((yield* post(port, route, body, { headers: bearer(readOnly) })).status, 403)
      }
      const looked = yield* ask(port, { path: "/admin/messages?session=session-1", headers: bearer(readOnly) })
      assert.strictEqual(looked.status, 403)
      assert.strictEqual((yield* post(port, "drain", {}, { headers: { "content-type": "text/plain" } })).status, 415)
      assert.isFalse((yield* snapshot).draining)
    }).pipe(Effect.scoped)
  )
})

describe("Session log level", () => {
  it.live("An operator can set a session's log level, which is then shown", () =>
    Effect.gen(function* () {
      const lines: Array<unknown> = []
      const { client, port, snapshot } = yield* start()
      const open = yield* client("2025-11-25")
      const note = ({ data }: { readonly data: unknown }) => Effect.sync(() => void lines.push(data))
      yield* Effect.forkScoped(Stream.runForEach(open.logs, note), { startImmediately: true })
      yield* open.callTool(Say, { password: "p" })
      yield* quiesce
      assert.deepStrictEqual(lines, [])
      const [session] = (yield* snapshot).sessions
      assert.isUndefined(session?.level)
      const set = yield* post(port, "level", { session: session?.id, level: "debug" })
      assert.deepStrictEqual(JSON.parse(set.text), { level: "debug" })
      yield* open.callTool(Say, { password: "p" })
      yield* quiesce
      assert.deepStrictEqual(lines, ["a line"])
      assert.strictEqual((yield* snapshot).sessions[0]?.level, "debug")
    }).pipe(Effect.scoped)
  )

  it.live("A log level is rejected for an unknown session, one without a handshake, or an invalid level", () =>
    Effect.gen(function* () {
      const { client, port, snapshot } = yield* start()
      yield* client("2026-07-28")
      const [session] = (yield* snapshot).sessions
      assert.strictEqual((yield* post(port, "level", { session: session?.id, level: "debug" })).status, 409)
      assert.strictEqual((yield* post(port, "level", { session: "session-9", level: "debug" })).status, 404)
      assert.strictEqual((yield* post(port, "level", { session: session?.id, level: "loud" })).status, 400)
    }).pipe(Effect.scoped)
  )
})

/** Sends a message in the session from the handshake's headers, and reads the complete response. */
const inSession = (port: number, headers: Headers, message: object) =>
  Effect.flatMap(send(port, message, { "mcp-session-id": headers.get("mcp-session-id") ?? "" }), (response) =>
    Effect.promise(() => response.text())
  )

const messages = (port: number, session: string) =>
  Effect.map(ask(port, { path: `/admin/messages?session=${session}` }), ({ text }) => JSON.parse(text).messages)

describe.each(Revision.all)("Session messages in $version", ({ version }) => {
  it.live("Messages include progress of calls that started before the operator looked", () =>
    Effect.gen(function* () {
      const { began, client, go, port, snapshot } = yield* start()
      const open = yield* client(version)
      const call = yield* Effect.forkChild(open.callTool(Steps, {}))
      yield* Deferred.await(began)
      const [session] = (yield* snapshot).sessions
      assert.deepStrictEqual(yield* messages(port, session?.id ?? ""), [])
      yield* Deferred.succeed(go, undefined)
      yield* Fiber.join(call)
      const seen: ReadonlyArray<Admin.Message> = yield* messages(port, session?.id ?? "")
      assert.deepStrictEqual(
        seen.map(({ kind, method }) => [kind, method]),
        [
          ["notification", "notifications/progress"],
          ["result", undefined]
        ]
      )
    }).pipe(Effect.scoped)
  )

  it.live("Messages are recorded from the first look, without arguments and results", () =>
    Effect.gen(function* () {
      const { began, client, go, port, snapshot } = yield* start()
      const open = yield* client(version)
      const call = yield* Effect.forkChild(open.callTool(Hang, { secret: "swordfish" }))
      yield* Deferred.await(began)
      const id = (yield* snapshot).sessions[0]?.id ?? ""
      assert.deepStrictEqual(yield* messages(port, id), [])
      yield* open.callTool(Say, { password: "swordfish" })
      // The answer of a call that was already running.
      yield* Deferred.succeed(go, undefined)
      yield* Fiber.join(call)
      const shown: ReadonlyArray<any> = yield* messages(port, id)
      assert.deepStrictEqual(
        shown.map(({ direction, kind, method, target }) => [direction, kind, method, target]),
        [
          ["received", "request", "tools/call", "say"],
          ["sent", "result", "tools/call", "say"],
          ["sent", "result", undefined, undefined]
        ]
      )
      assert.notInclude(JSON.stringify(shown), "swordfish")
      assert.notInclude(JSON.stringify(shown), "said")
    }).pipe(Effect.scoped)
  )
})

describe("Session messages", () => {
  it.live("Bodies are redacted and shown on request, with one audit trail entry", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      yield* Effect.gen(function* () {
        const audit = Layer.provide(Audit.layer(), Audit.layerArray(lines))
        const shown = Admin.layerMessages({ bodies: { redact: ["password"] } })
        const { client, port, snapshot } = yield* start({ more: Layer.merge(audit, shown) })
        const open = yield* client("2025-11-25")
        const id = (yield* snapshot).sessions[0]?.id ?? ""
        yield* messages(port, id)
        yield* open.callTool(Say, { password: "swordfish" })
        const [request, result] = yield* messages(port, id)
        assert.include(request.body, '"password":"[redacted]"')
        assert.notInclude(request.body, "swordfish")
        assert.include(result.body, "said")
        // The text of a structured result repeats it as JSON.
        yield* open.callTool(Reveal, {})
        const revealed = (yield* messages(port, id)).at(-1)
        assert.include(revealed.body, "password")
        assert.notInclude(revealed.body, "swordfish")
      }).pipe(Effect.scoped)
      const noted = lines.map((line) => JSON.parse(line)).filter(({ event }) => event === "admin.messages")
      assert.lengthOf(noted, 1)
    })
  )

  it.live("Messages are kept from the session's start on request", () =>
    Effect.gen(function* () {
      const { client, port, snapshot } = yield* start({ more: Admin.layerMessages({ always: true }) })
      yield* client("2025-11-25")
      const id = (yield* snapshot).sessions[0]?.id ?? ""
      const shown: ReadonlyArray<any> = yield* messages(port, id)
      assert.strictEqual(shown[0]?.method, "initialize")
    }).pipe(Effect.scoped)
  )

  it.live("Messages show targets of specified methods, and no params of other methods", () =>
    Effect.gen(function* () {
      const { port, snapshot } = yield* start()
      const { headers } = yield* initialize(port)
      const id = (yield* snapshot).sessions[0]?.id ?? ""
      yield* messages(port, id)
      for (const method of ["app/login", "notifications/app/login", "prompts/get"]) {
        const id = method.startsWith("notifications/") ? undefined : { id: 7 }
        yield* inSession(port, headers, { ...id, method, params: { name: "swordfish" } })
      }
      const shown: ReadonlyArray<any> = yield* messages(port, id)
      assert.deepStrictEqual(
        shown.filter(({ direction }) => direction === "received").map(({ method, target }) => [method, target]),
        [
          ["app/login", undefined],
          ["notifications/app/login", undefined],
          ["prompts/get", "swordfish"]
        ]
      )
    }).pipe(Effect.scoped)
  )

  it.live("An HTTP session's messages include all of its POSTs", () =>
    Effect.gen(function* () {
      const { port, snapshot } = yield* start()
      const { headers } = yield* initialize(port)
      const id = (yield* snapshot).sessions[0]?.id ?? ""
      yield* messages(port, id)
      yield* inSession(port, headers, { id: 7, method: "tools/list" })
      const shown: ReadonlyArray<any> = yield* messages(port, id)
      assert.deepStrictEqual(
        shown.map(({ id, kind, method }) => [id, kind, method]),
        [
          ["7", "request", "tools/list"],
          ["7", "result", "tools/list"]
        ]
      )
    }).pipe(Effect.scoped)
  )
})
