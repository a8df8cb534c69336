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

describe("servers that an operator drains", () => {
  it.live(
    "A drained server takes no new session and no request without one, is not ready, and ends after the running calls",
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
        // A session that is open is served as before.
        yield* Stream.runDrain(open.listTools)
        assert.isFalse(yield* Deferred.isDone(drained))
        yield* Deferred.succeed(go, undefined)
        assert.deepStrictEqual((yield* Fiber.join(call)).content, [{ type: "text", text: "done" }])
        yield* Deferred.await(drained)
        assert.lengthOf((yield* snapshot).sessions, 0)
      }).pipe(Effect.scoped)
  )

  it.live("A drained server does not wait longer for a call than the option `drain` says", () =>
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

  it.live("A caller with a read-only token cannot drain a server, set levels or read messages", () =>
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

describe("the log level of a session", () => {
  it.live("The log level of a session is set by an operator, and shown", () =>
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

  it.live(
    "A log level is refused for an unknown session, a session without a handshake, and a value that is no level",
    () =>
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

/** Sends a message in the session that the headers of its handshake name, and reads the whole answer. */
const inSession = (port: number, headers: Headers, message: object) =>
  Effect.flatMap(send(port, message, { "mcp-session-id": headers.get("mcp-session-id") ?? "" }), (response) =>
    Effect.promise(() => response.text())
  )

const messages = (port: number, session: string) =>
  Effect.map(ask(port, { path: `/admin/messages?session=${session}` }), ({ text }) => JSON.parse(text).messages)

describe.each(Revision.all)("the messages of a session of $version", ({ version }) => {
  it.live("The messages of a session have the progress of a call that began before an operator looked", () =>
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

  it.live("The messages of a session are shown from the first look on, without arguments and results", () =>
    Effect.gen(function* () {
      const { began, client, go, port, snapshot } = yield* start()
      const open = yield* client(version)
      const call = yield* Effect.forkChild(open.callTool(Hang, { secret: "swordfish" }))
      yield* Deferred.await(began)
      const id = (yield* snapshot).sessions[0]?.id ?? ""
      assert.deepStrictEqual(yield* messages(port, id), [])
      yield* open.callTool(Say, { password: "swordfish" })
      // The answer of a call that ran before.
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

describe("the messages of a session", () => {
  it.live(
    "The messages of a session have redacted bodies where a program wants bodies, and one entry in the audit trail",
    () =>
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

  it.live("The messages of a session are kept from its beginning where a program asks for that", () =>
    Effect.gen(function* () {
      const { client, port, snapshot } = yield* start({ more: Admin.layerMessages({ always: true }) })
      yield* client("2025-11-25")
      const id = (yield* snapshot).sessions[0]?.id ?? ""
      const shown: ReadonlyArray<any> = yield* messages(port, id)
      assert.strictEqual(shown[0]?.method, "initialize")
    }).pipe(Effect.scoped)
  )

  it.live(
    "The messages of a session name the targets of methods of the specification, and no parameter of others",
    () =>
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

  it.live("The messages of a session over HTTP are those of all its POSTs", () =>
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
