/** Requests in flight: cancellation, progress, ping, envelopes and limits, and what happens when a connection ends. */
import * as Progress from "@effect-mcp/core/Progress"
import * as Resources from "@effect-mcp/core/Resources"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Latch, Layer, Logger, References, Schema, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { closings } from "../support/closings.ts"
import { connect, type ConnectOptions, everyVersion, serve, session, quiesce, versions } from "../support/raw.ts"

const tool = <R>(name: string, effect: Effect.Effect<string, never, R>) =>
  Tools.layer(Tool.make(name, { description: "" }), () => effect)

/** A tool that hangs and reports when it starts and when it is finalized. */
const hanging = Effect.gen(function* () {
  const started = yield* Latch.make()
  const finalized: Array<string> = []
  const features = tool(
    "hang",
    Effect.gen(function* () {
      yield* Effect.addFinalizer(() => Effect.sync(() => finalized.push("scope")))
      yield* started.open
      return yield* Effect.onInterrupt(Effect.never, () => Effect.sync(() => finalized.push("handler")))
    })
  )
  return { features, finalized, started }
})
const call = (id: unknown, name: string, more: object = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, ...more }
})
/** The client fields that every request of the revision carries. */
const context = (version: string) =>
  version < "2026-07-28"
    ? {}
    : {
        _meta: {
          [Meta.protocolVersion]: version,
          [Meta.clientInfo]: { name: "raw", version: "0" },
          [Meta.clientCapabilities]: {}
        }
      }
const cancelled = (params: object) => ({ jsonrpc: "2.0", method: "notifications/cancelled", params })
const answers = (client: { received: ReadonlyArray<any> }, id: unknown) =>
  client.received.filter((message) => message.id === id && !("method" in message))

describe("Cancellation", () => {
  for (const version of everyVersion()) {
    it.effect(
      `Cancelling a ${version} request interrupts its handler, runs finalizers and sends no answer`,
      () =>
        Effect.gen(function* () {
          const { features, finalized, started } = yield* hanging
          const client = yield* session(features, { version })
          client.send(call("mine", "hang", context(version)))
          yield* started.await
          client.send(cancelled({ requestId: "mine", reason: "enough" }))
          yield* quiesce
          assert.deepStrictEqual(finalized, ["handler", "scope"])
          assert.deepStrictEqual(answers(client, "mine"), [])
          assert.deepStrictEqual(yield* client.session.peer.inFlight, [])
        }),
      verifies(
        "cancellation.receiver.stops",
        "cancellation.receiver.frees-resources",
        "cancellation.receiver.no-response"
      )
    )

    it.effect(
      `A malformed or stale cancellation is ignored in ${version}`,
      () =>
        Effect.gen(function* () {
          const { features, finalized, started } = yield* hanging
          const client = yield* session(Layer.merge(features, tool("quick", Effect.succeed("done"))), { version })
          client.send(call(1000, "hang", context(version)))
          yield* started.await
          client.send(call(1001, "quick", context(version)))
          yield* quiesce
          for (const params of [
            { requestId: 1001 },
            { requestId: 4711 },
            { requestId: "1000" },
            {},
            { requestId: null },
            { requestId: { a: 1 } }
          ]) {
            client.send(cancelled(params))
          }
          client.send({ jsonrpc: "2.0", method: "notifications/cancelled" })
          yield* quiesce
          assert.strictEqual(answers(client, 1001).length, 1)
          assert.deepStrictEqual(finalized, [])
          assert.strictEqual((yield* client.session.peer.inFlight).length, 1)
        }),
      verifies(
        "cancellation.invalid.unknown-id-ignored",
        "cancellation.invalid.completed-ignored",
        "cancellation.invalid.malformed-ignored",
        "cancellation.race.graceful"
      )
    )
  }

  for (const version of versions()) {
    it.effect(
      `Cancelling initialize has no effect in ${version}`,
      () =>
        Effect.gen(function* () {
          const client = yield* session(tool("a", Effect.succeed("")), { handshake: false })
          const params = { protocolVersion: version, capabilities: {}, clientInfo: { name: "x", version: "0" } }
          client.send({ jsonrpc: "2.0", id: 7, method: "initialize", params })
          client.send(cancelled({ requestId: 7 }))
          yield* quiesce
          assert.strictEqual(answers(client, 7)[0].result.protocolVersion, version)
        }),
      verifies("cancellation.initialize-not-cancelled")
    )
  }

  it.effect("An operator's cancellation fails a request with -32000 and the given reason", () =>
    Effect.gen(function* () {
      const { features, finalized, started } = yield* hanging
      const server = yield* serve({ features })
      const client = yield* connect(server)
      client.send(call("op", "hang"))
      yield* started.await
      const [view] = yield* server.sessions
      const [running] = yield* view!.peer.inFlight
      assert.deepInclude(running, { id: "op", method: "tools/call", state: "running" })
      view!.peer.interrupt("The operator said so", "op")
      yield* quiesce
      assert.deepStrictEqual(answers(client, "op")[0].error, {
        code: McpError.Interrupted,
        message: "The operator said so"
      })
      assert.deepStrictEqual(finalized, ["handler", "scope"])
    })
  )
})

describe("Progress", () => {
  const reporting = (...values: ReadonlyArray<readonly [number, Progress.ReportOptions?]>) =>
    tool(
      "report",
      Effect.as(
        Effect.forEach(values, ([value, options]) => Progress.report(value, options)),
        "done"
      )
    )
  const events = (client: { notes: (method: string) => ReadonlyArray<any> }) =>
    client.notes("notifications/progress").map((note) => note.params)

  for (const version of everyVersion()) {
    it.effect(
      `Progress in ${version} increases, carries the request's token and precedes the answer`,
      () =>
        Effect.gen(function* () {
          const client = yield* session(
            reporting(
              [0],
              [1, { total: 4, message: "one" }],
              [1],
              [0.5],
              [NaN],
              [Infinity],
              [2, { total: Infinity }],
              [4, { total: 4 }]
            ),
            { version }
          )
          for (const progressToken of ["t", 7, 0, ""]) {
            const before = client.received.length
            yield* client.call("report", {}, { progressToken })
            const sent = client.received.slice(before)
            assert.deepStrictEqual(
              sent.filter((message) => message.method !== undefined).map((message) => message.params),
              [
                { progressToken, progress: 0 },
                { progressToken, progress: 1, total: 4, ...(version >= "2025-03-26" ? { message: "one" } : undefined) },
                { progressToken, progress: 2 },
                { progressToken, progress: 4, total: 4 }
              ]
            )
            assert.isTrue("result" in sent.at(-1))
          }
        }),
      verifies("progress.value.increases", "progress.token.from-active-request", "progress.token.type")
    )
  }

  for (const version of everyVersion()) {
    it.effect(
      `Progress is not sent if its token is missing or invalid (${version})`,
      () =>
        Effect.gen(function* () {
          const client = yield* session(reporting([1]), { version })
          yield* client.call("report")
          yield* client.call("report", {}, { other: 1 })
          yield* Effect.exit(client.call("report", {}, { progressToken: { a: 1 } }))
          yield* Effect.exit(client.call("report", {}, { progressToken: null }))
          assert.deepStrictEqual(events(client), [])
        }),
      verifies("progress.token.from-active-request")
    )

    it.effect(
      `Progress stops when its request ends, even if fibers are still running (${version})`,
      () =>
        Effect.gen(function* () {
          const go = yield* Latch.make()
          const late = yield* Latch.make()
          const features = tool(
            "report",
            Effect.gen(function* () {
              yield* Progress.report(1)
              yield* Effect.forkDetach(Effect.andThen(go.await, Effect.andThen(Progress.report(2), late.open)))
              return ""
            })
          )
          const client = yield* session(features, { version })
          yield* client.call("report", {}, { progressToken: 1 })
          yield* go.open
          yield* late.await
          yield* quiesce
          assert.deepStrictEqual(events(client), [{ progressToken: 1, progress: 1 }])
        }),
      verifies("progress.token.in-progress", "progress.stops-after-completion")
    )
  }
})

describe("Envelopes", () => {
  for (const version of everyVersion()) {
    it.effect(
      `The answer to a ${version} request echoes its id exactly, in results and errors`,
      () =>
        Effect.gen(function* () {
          const client = yield* session(tool("a", Effect.succeed("")), { version })
          for (const id of ["", "0", 0, -1, 9007199254740991, "x".repeat(1000)]) {
            client.send(call(id, "a", context(version)))
            client.send(call(`${id}!`, "nope", context(version)))
            yield* quiesce
            const [good] = answers(client, id)
            assert.deepStrictEqual(Object.keys(good).toSorted(), ["id", "jsonrpc", "result"])
            const [bad] = answers(client, `${id}!`)
            assert.deepStrictEqual(Object.keys(bad).toSorted(), ["error", "id", "jsonrpc"])
            assert.isTrue(Number.isInteger(bad.error.code))
            assert.notInclude(bad.error.message, "\n")
          }
        }),
      verifies(
        "json-rpc.response.same-id",
        "json-rpc.response.result-or-error",
        "json-rpc.error.code-integer",
        "json-rpc.error.code-and-message",
        "json-rpc.error.message-short",
        "json-rpc.notification.no-id",
        "json-rpc.message.conformant"
      )
    )

    it.effect(
      `A ${version} message that is not a request fails with -32600 and ${version >= "2025-11-25" ? "no id" : "a null id"}`,
      () =>
        Effect.gen(function* () {
          const client = yield* session(tool("a", Effect.succeed("")), { version })
          const bad = [
            { jsonrpc: "2.0", id: null, method: "ping" },
            { jsonrpc: "2.0", id: 1.5, method: "ping" },
            { jsonrpc: "1.0", method: "ping" },
            { jsonrpc: "2.0" }
          ]
          for (const message of bad) {
            const before = client.received.length
            client.send(message)
            yield* quiesce
            const [answer] = client.received.slice(before)
            const found = answer.message ?? answer
            assert.strictEqual(found.error.code, -32600)
            assert.strictEqual(found.id, version >= "2025-11-25" ? undefined : null)
          }
          assert.deepStrictEqual((yield* client.call("a")).isError ?? false, false)
        }),
      verifies("json-rpc.request.id-not-null", "json-rpc.request.id-type")
    )
  }

  for (const version of versions()) {
    it.effect(
      `Known and unknown notifications are never answered in ${version}`,
      () =>
        Effect.gen(function* () {
          const client = yield* session(tool("a", Effect.succeed("")), { version })
          const before = client.received.length
          for (const method of [
            "tools/list",
            "notifications/nonsense",
            "initialize",
            "ping",
            "notifications/initialized"
          ]) {
            client.send({ jsonrpc: "2.0", method })
          }
          yield* quiesce
          assert.strictEqual(client.received.length, before)
        }),
      version >= "2025-03-26" ? verifies("json-rpc.notification.no-response") : {}
    )

    it.effect(
      `Batch members are ${version === "2025-03-26" ? "each answered, in one batch" : "rejected with -32600"} in ${version}`,
      () =>
        Effect.gen(function* () {
          const client = yield* session(tool("a", Effect.succeed("")), { version })
          const before = client.received.length
          client.send([
            call("b1", "a"),
            { jsonrpc: "2.0", id: "b2", method: "ping" },
            { jsonrpc: "2.0", method: "notifications/x" }
          ])
          yield* quiesce
          const sent = client.received.slice(before)
          assert.strictEqual(sent.length, 1)
          if (version === "2025-03-26") assert.strictEqual(sent[0]._tag, "Batch")
          else assert.strictEqual(sent[0].error.code, -32600)
        }),
      version === "2025-03-26" ? verifies("json-rpc.batch.receive") : {}
    )
  }

  it.effect(
    "A ping is answered immediately even if no permit is free",
    () =>
      Effect.gen(function* () {
        const { features } = yield* hanging
        const client = yield* session(features, {}, { limits: { inFlight: 1, pending: 1 } })
        client.send(call("one", "hang"))
        client.send(call("two", "hang"))
        client.send(call("three", "hang"))
        yield* quiesce
        assert.deepStrictEqual(yield* client.request("ping"), {})
        assert.deepStrictEqual(
          (yield* client.session.peer.inFlight).map(({ id, state }) => [id, state]),
          [
            ["one", "running"],
            ["two", "pending"]
          ]
        )
        assert.strictEqual(answers(client, "three")[0].error.code, McpError.LimitExceeded)
      }),
    verifies("ping.receiver.empty-response")
  )

  it.effect("Reusing the id of an in-flight request does not disturb the first request", () =>
    Effect.gen(function* () {
      const { features, finalized } = yield* hanging
      const client = yield* session(Layer.merge(features, tool("a", Effect.succeed(""))))
      client.send(call(1000, "hang"))
      yield* quiesce
      client.send(call(1000, "a"))
      yield* quiesce
      assert.deepStrictEqual(finalized, [])
      assert.deepStrictEqual(answers(client, 1000), [])
    })
  )
})

describe("Keep-alive", () => {
  const keepAlive = { every: "30 seconds", timeout: "5 seconds", failures: 2 } as const
  for (const version of versions()) {
    it.effect(
      `The server pings an initialized ${version} client at the configured interval`,
      () =>
        Effect.gen(function* () {
          const client = yield* session(
            tool("a", Effect.succeed("")),
            { handshake: "answered", version },
            { keepAlive }
          )
          yield* TestClock.adjust("2 minutes")
          assert.deepStrictEqual(client.notes("ping"), [])
          yield* client.notify("notifications/initialized")
          yield* client.notify("notifications/initialized")
          for (let n = 1; n <= 5; n++) {
            yield* TestClock.adjust("30 seconds")
            yield* quiesce
            assert.strictEqual(client.notes("ping").length, n)
          }
        }),
      verifies(
        "ping.sender.periodic",
        "ping.sender.configurable",
        "ping.sender.timeout-appropriate",
        "ping.sender.not-excessive"
      )
    )

    it.effect(
      `A ${version} client that stops answering pings is disconnected, ending its handlers and session`,
      () =>
        Effect.gen(function* () {
          const { features, finalized, started } = yield* hanging
          const server = yield* serve({ features, keepAlive })
          const client = yield* connect(server, { answer: () => Effect.never, version })
          client.send(call("x", "hang"))
          yield* started.await
          yield* TestClock.adjust("36 seconds")
          yield* quiesce
          assert.strictEqual((yield* server.sessions).length, 1)
          yield* TestClock.adjust("40 seconds")
          yield* quiesce
          assert.deepStrictEqual(yield* server.sessions, [])
          assert.deepStrictEqual(finalized, ["handler", "scope"])
          assert.isTrue(Exit.isFailure(yield* Effect.exit(client.session.peer.awaitClosed)))
        }),
      verifies("ping.timeout.connection-failure")
    )
  }

  it.effect("A timely pong resets the keep-alive failure count", () =>
    Effect.gen(function* () {
      let quiet = true
      const server = yield* serve({ features: tool("a", Effect.succeed("")), keepAlive })
      yield* connect(server, { answer: () => (quiet ? Effect.never : Effect.succeed({})) })
      yield* TestClock.adjust("36 seconds")
      yield* quiesce
      quiet = false
      for (let n = 0; n < 10; n++) {
        yield* TestClock.adjust("30 seconds")
        yield* quiesce
      }
      assert.strictEqual((yield* server.sessions).length, 1)
    })
  )
})

describe("Closing a connection", () => {
  it.effect("A disconnecting client interrupts only its own requests", () =>
    Effect.gen(function* () {
      const { features, finalized, started } = yield* hanging
      const server = yield* serve({ features })
      const scope = yield* Scope.make()
      const client = yield* connect(server)
      const other = yield* Scope.provide(connect(server), scope)
      other.send(call("x", "hang"))
      yield* started.await
      assert.strictEqual((yield* server.sessions).length, 2)
      yield* Scope.close(scope, Exit.void)
      yield* quiesce
      assert.deepStrictEqual(finalized, ["handler", "scope"])
      assert.deepStrictEqual(
        (yield* server.sessions).map(({ id }) => id),
        [client.session.id]
      )
    })
  )

  /** A connection whose two ends close separately. */
  const apart = Effect.fnUntraced(function* (server: Parameters<typeof connect>[0], options: ConnectOptions = {}) {
    const far = yield* Scope.make()
    const client = yield* connect(
      { ...server, connect: (...args) => Scope.provide(server.connect(...args), far) },
      options
    )
    return { client, close: Scope.close(far, Exit.void) }
  })

  it.effect("A server closing a connection first answers every in-flight request with -32000", () =>
    Effect.gen(function* () {
      const { features, finalized, started } = yield* hanging
      const { client, close } = yield* apart(yield* serve({ features }))
      client.send(call("x", "hang"))
      yield* started.await
      yield* close
      yield* quiesce
      assert.strictEqual(answers(client, "x")[0].error.code, McpError.Interrupted)
      assert.deepStrictEqual(finalized, ["handler", "scope"])
    })
  )

  it.effect.each(closings)("A draining server finishes in-flight requests and rejects new ones%s", ([, by]) =>
    Effect.gen(function* () {
      const go = yield* Latch.make()
      const started = yield* Latch.make()
      const features = Layer.merge(
        tool("slow", Effect.as(Effect.andThen(started.open, go.await), "finished")),
        tool("hang", Effect.never)
      )
      const { client, close } = yield* apart(yield* serve({ features, drain: "10 seconds" }))
      client.send(call("slow", "slow"))
      client.send(call("hang", "hang"))
      yield* started.await
      const closing = yield* Effect.forkChild(by(close), { startImmediately: true })
      client.send(call("new", "slow"))
      yield* quiesce
      assert.strictEqual(answers(client, "new")[0].error.code, McpError.Interrupted)
      yield* go.open
      yield* quiesce
      assert.strictEqual(answers(client, "slow")[0].result.content[0].text, "finished")
      assert.isUndefined(closing.pollUnsafe())
      yield* TestClock.adjust("10 seconds")
      yield* quiesce
      assert.strictEqual(answers(client, "hang")[0].error.code, McpError.Interrupted)
      yield* Fiber.join(closing)
    })
  )

  it.effect("A draining server also finishes requests waiting for a permit", () =>
    Effect.gen(function* () {
      const go = yield* Latch.make()
      const features = Layer.merge(tool("slow", Effect.as(go.await, "finished")), tool("quick", Effect.succeed("done")))
      const { client, close } = yield* apart(
        yield* serve({ features, drain: "10 seconds", limits: { inFlight: 1, pending: 4 } })
      )
      for (const [id, name] of ["slow", "quick", "slow", "quick"].entries()) client.send(call(`${id}`, name))
      yield* quiesce
      const closing = yield* Effect.forkChild(close, { startImmediately: true })
      yield* quiesce
      client.send(call("new", "quick"))
      yield* quiesce
      yield* go.open
      yield* quiesce
      yield* Fiber.join(closing)
      assert.deepStrictEqual(
        ["0", "1", "2", "3"].map((id) => answers(client, id)[0].result.content[0].text),
        ["finished", "done", "finished", "done"]
      )
      assert.strictEqual(answers(client, "new")[0].error.code, McpError.Interrupted)
    })
  )

  it.effect("A hundred closed connections leak no session, watcher, handler or fiber", () =>
    Effect.gen(function* () {
      let watchers = 0
      let handlers = 0
      const counted = <A>(up: (n: number) => void, effect: Effect.Effect<A>) =>
        Effect.acquireUseRelease(
          Effect.sync(() => up(1)),
          () => effect,
          () => Effect.sync(() => up(-1))
        )
      const features = Layer.merge(
        tool(
          "hang",
          counted((n) => (handlers += n), Effect.never)
        ),
        Resources.layer(
          { uri: "x:", name: "x" },
          Effect.succeed(""),
          Stream.fromEffect(counted((n) => (watchers += n), Effect.never))
        )
      )
      const server = yield* serve({ features })
      for (let n = 0; n < 100; n++) {
        const scope = yield* Scope.make()
        const client = yield* Scope.provide(connect(server), scope)
        yield* client.request("resources/subscribe", { uri: "x:" })
        client.send(call("x", "hang"))
        yield* quiesce
        assert.deepStrictEqual([watchers, handlers], [1, 1])
        yield* Scope.close(scope, Exit.void)
        assert.deepStrictEqual([watchers, handlers], [0, 0])
        assert.deepStrictEqual(yield* server.sessions, [])
      }
    })
  )
})

it.effect("A content type missing from the revision is sent as text", () =>
  Effect.gen(function* () {
    const Sum = Tool.make("sum", { description: "", output: Schema.Array(Schema.Int) })
    const client = yield* session(Tools.layer(Sum, () => Effect.succeed([1, 2])))
    const result = yield* client.call("sum")
    assert.deepStrictEqual(result, { content: [{ type: "text", text: "[1,2]" }] })
    assert.isUndefined((yield* client.request("tools/list")).tools[0].outputSchema)
  })
)

it.effect(
  "initialize in a batch is rejected, and the session can still be opened",
  () =>
    Effect.gen(function* () {
      const server = yield* serve({ features: Layer.empty })
      const client = yield* connect(server, { handshake: false })
      const params = { protocolVersion: "2025-03-26", capabilities: {}, clientInfo: { name: "t", version: "1" } }
      client.send([{ jsonrpc: "2.0", id: 1, method: "initialize", params }])
      yield* quiesce
      assert.deepInclude(client.received[0].error, { code: -32600 })
      assert.strictEqual((yield* client.request("initialize", params)).protocolVersion, "2025-03-26")
    }),
  verifies("lifecycle.initialize.not-batched")
)

for (const version of everyVersion()) {
  it.effect(
    `The reason for a cancellation is logged in ${version}`,
    () => {
      const logged: Array<unknown> = []
      const logger = Logger.make(({ message }) => logged.push(message))
      const features = Tools.layer(Tool.make("slow", { description: "" }), () => Effect.never)
      return Effect.gen(function* () {
        const client = yield* connect(yield* serve({ features }), { version })
        yield* Effect.forkChild(client.call("slow"), { startImmediately: true })
        yield* quiesce
        const [running] = yield* client.session.peer.inFlight
        yield* client.notify("notifications/cancelled", { requestId: running!.id, reason: "Lost interest" })
        yield* quiesce
        assert.include(JSON.stringify(logged), "Lost interest")
      }).pipe(Effect.provide(Logger.layer([logger])), Effect.provideService(References.MinimumLogLevel, "All"))
    },
    verifies("cancellation.reason-logged")
  )
}
