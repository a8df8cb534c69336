import type * as McpClient from "@effect-mcp/client/McpClient"
import { type Transport, TransportError } from "@effect-mcp/core/Transport"
import * as McpError from "@effect-mcp/protocol/McpError"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import { all, collect, settle } from "./support/connected.ts"
import * as Modern from "./support/modern.ts"
import { broken, recovering, until } from "./support/recovering.ts"
import type * as Scripted from "./support/scripted.ts"

const fork = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })
const tool = { content: [], resultType: "complete" }
const contents = { contents: [], resultType: "complete", ttlMs: 0, cacheScope: "private" }
const empty = { resultType: "complete", ttlMs: 0, cacheScope: "private" }
const refused = new TransportError({ reason: "Open", message: "Nobody listens" })

/** What never answers on the first connection. */
const hangingFirst =
  (answers: { readonly [method: string]: Scripted.Answer }) =>
  (n: number): Scripted.Script => ({
    answers:
      n > 0 ? answers : Object.fromEntries(Object.keys(answers).map((method) => [method, () => Effect.never] as const))
  })

/** A wire on which what is asked after the handshake gets lost. */
const deaf = (transport: Transport, method: string): Transport => {
  let heard = 0
  const send: Transport["sink"]["send"] = (message, lane) => {
    if ("method" in message && message.method === method && (method === "ping" || heard++ > 0)) return
    transport.sink.send(message, lane)
  }
  return { ...transport, sink: { ...transport.sink, send } }
}

describe.each(all)("a client of %s whose connection is lost", (version) => {
  it.effect("opens another for whoever needs it, once however many do", () =>
    Effect.gen(function* () {
      const { client, opened, server } = yield* recovering({
        version,
        script: () => ({ answers: { "tools/call": () => tool } })
      })
      server(0).cut()
      yield* settle
      yield* Effect.forEach(Array.from({ length: 100 }), () => client.callTool("x"), { concurrency: "unbounded" })
      assert.strictEqual(opened.length, 2)
      assert.isTrue(server(0).released())
      assert.strictEqual(server(1).requests("tools/call").length, 100)
    })
  )

  it.effect("does not open another while nobody needs it", () =>
    Effect.gen(function* () {
      const { client, server, tries } = yield* recovering({ version })
      const closed = yield* fork(Effect.exit(client.awaitClosed))
      server(0).end()
      yield* settle
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(tries(), 1)
      assert.isTrue(server(0).released())
      assert.isUndefined(closed.pollUnsafe())
      yield* client.ping
      assert.strictEqual(tries(), 2)
    })
  )

  it.effect("goes on for the others when one of those that wait leaves", () =>
    Effect.gen(function* () {
      const gate = Deferred.makeUnsafe<void>()
      const { client, server, tries } = yield* recovering({
        version,
        hold: (n) => (n === 0 ? Effect.void : Deferred.await(gate))
      })
      server(0).cut()
      yield* settle
      const first = yield* fork(client.ping)
      const second = yield* fork(client.ping)
      yield* settle
      yield* Fiber.interrupt(first)
      Deferred.doneUnsafe(gate, Effect.void)
      yield* Fiber.join(second)
      assert.strictEqual(tries(), 2)
    })
  )

  it.effect("fails a call that may have run, and never sends it again", () =>
    Effect.gen(function* () {
      let runs = 0
      const { client, server, tries } = yield* recovering({
        version,
        script: () => ({
          answers: {
            "tools/call": () =>
              Effect.andThen(
                Effect.sync(() => runs++),
                Effect.never
              )
          }
        })
      })
      const call = yield* fork(Effect.flip(client.callTool("pay")))
      yield* settle
      server(0).cut()
      const error = yield* Fiber.join(call)
      assert.strictEqual(error._tag, "Closed")
      assert.deepInclude(error, { cause: broken })
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(runs, 1)
      assert.strictEqual(tries(), 1)
    })
  )

  const reads: ReadonlyArray<
    readonly [string, object, (client: McpClient.McpClient["Service"]) => Effect.Effect<unknown, McpClient.ClientError>]
  > = [
    ["tools/list", { tools: [], ...empty }, (client) => collect(client.tools)],
    ["prompts/list", { prompts: [], ...empty }, (client) => collect(client.prompts)],
    ["resources/list", { resources: [], ...empty }, (client) => collect(client.resources)],
    ["resources/templates/list", { resourceTemplates: [], ...empty }, (client) => collect(client.resourceTemplates)],
    ["resources/read", contents, (client) => client.read("a:b")],
    ["prompts/get", { messages: [], resultType: "complete" }, (client) => client.prompt("p")],
    [
      "completion/complete",
      { completion: { values: [] }, resultType: "complete" },
      (client) => client.complete({ ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "" } })
    ]
  ]
  it.effect.each(reads)("sends %s again, as a request of its own", ([method, answer, ask]) =>
    Effect.gen(function* () {
      const { client, server } = yield* recovering({ version, script: hangingFirst({ [method]: () => answer }) })
      const asked = yield* fork(ask(client))
      yield* settle
      assert.strictEqual(server(0).requests(method).length, 1)
      server(0).cut()
      yield* Fiber.join(asked)
      assert.strictEqual(server(1).requests(method).length, 1)
    })
  )

  it.effect("sends a call again that may run twice, if the server's word is trusted", () =>
    Effect.gen(function* () {
      const annotated = (annotations: object, name: string) => ({ name, inputSchema: { type: "object" }, annotations })
      const tools = [
        annotated({ idempotentHint: true }, "put"),
        annotated({ readOnlyHint: true }, "get"),
        annotated({ idempotentHint: false }, "pay")
      ]
      const script = (n: number): Scripted.Script => ({
        answers: {
          "tools/list": () => ({ tools, ...empty }),
          "tools/call": () => (n === 0 ? Effect.never : tool)
        }
      })
      const outcome = (trustAnnotations: boolean) =>
        Effect.gen(function* () {
          const { client, server } = yield* recovering({ version, script }, { trustAnnotations })
          yield* collect(client.tools)
          const calls = yield* Effect.forEach(["put", "get", "pay"], (name) => fork(Effect.exit(client.callTool(name))))
          yield* settle
          server(0).cut()
          return yield* Effect.map(Fiber.joinAll(calls), (exits) => exits.map(Exit.isSuccess))
        })
      assert.deepStrictEqual(yield* outcome(true), [true, true, false])
      assert.deepStrictEqual(yield* outcome(false), [false, false, false])
    })
  )

  it.effect("sends a safe request again only so often", () =>
    Effect.gen(function* () {
      const { client, opened } = yield* recovering(
        { version, script: () => ({ answers: { "resources/read": () => Effect.never } }) },
        { reconnect: { resends: 2 } }
      )
      const read = yield* fork(Effect.flip(client.read("a:b")))
      for (let n = 0; n < 3; n++) {
        yield* until(() => opened[n]?.requests("resources/read").length === 1)
        opened[n]?.cut()
        yield* settle
        yield* TestClock.adjust("1 second")
      }
      assert.deepInclude(yield* Fiber.join(read), { _tag: "Closed", cause: broken })
      assert.deepStrictEqual(
        opened.map((server) => server.requests("resources/read").length),
        [1, 1, 1]
      )
    })
  )

  it.effect("tries so often, ever more slowly; then all who wait are told why, and who comes later starts afresh", () =>
    Effect.gen(function* () {
      const times: Array<number> = []
      const { client, server, tries } = yield* recovering({
        version,
        script: (n) => (n === 0 || n === 9 ? {} : refused),
        hold: () => Effect.map(Clock.currentTimeMillis, (now) => void times.push(now))
      })
      server(0).cut()
      yield* settle
      const closed = yield* fork(Effect.flip(client.awaitClosed))
      const waiting = yield* Effect.forEach([1, 2, 3], () => fork(Effect.flip(client.ping)))
      yield* TestClock.adjust("30 seconds")
      for (const error of yield* Fiber.joinAll(waiting)) {
        assert.deepInclude(error, { _tag: "Closed", cause: refused, unsent: true })
        assert.include(error.message, "Nobody listens")
      }
      assert.strictEqual(yield* Fiber.join(closed), refused)
      const waits = times.slice(2).map((time, index) => time - (times[index + 1] ?? 0))
      assert.strictEqual(waits.length, 7)
      waits.forEach((wait, n) => {
        assert.isAtMost(wait, 200 * 2 ** n)
        assert.isAtLeast(wait, 100 * 2 ** n)
      })
      // Not everybody comes at the same moment.
      assert.isTrue(waits.some((wait, n) => wait < 200 * 2 ** n))
      yield* client.ping
      assert.strictEqual(tries(), 10)
      const later = yield* fork(Effect.exit(client.awaitClosed))
      yield* settle
      assert.isUndefined(later.pollUnsafe())
    })
  )

  it.effect("lets go of all that one had before the next is opened, and of each that could not begin", () =>
    Effect.gen(function* () {
      const gate = Deferred.makeUnsafe<void>()
      const nothing = () => Effect.fail(McpError.internalError("Not now"))
      const { client, opened, server, tries } = yield* recovering({
        version,
        script: (n) => (n === 1 || n === 2 ? { answers: { initialize: nothing, "server/discover": nothing } } : {}),
        release: (n) => (n === 0 ? Deferred.await(gate) : Effect.void)
      })
      server(0).cut()
      yield* settle
      const ping = yield* fork(client.ping)
      yield* settle
      assert.strictEqual(tries(), 1)
      Deferred.doneUnsafe(gate, Effect.void)
      if (version === Modern.version) {
        // Such a server is of no era that is spoken: that is final.
        yield* Effect.exit(Fiber.join(ping))
        yield* Effect.exit(client.ping)
      }
      for (let n = 0; n < 20; n++) {
        yield* settle
        yield* TestClock.adjust("100 millis")
      }
      yield* client.ping
      assert.deepStrictEqual(
        opened.map(({ released }) => released()),
        [true, true, true, false]
      )
    })
  )

  it.effect("waits no longer than the caller does", () =>
    Effect.gen(function* () {
      const { client, server } = yield* recovering({
        version,
        script: hangingFirst({ "resources/read": () => contents }),
        hold: (n) => (n === 0 ? Effect.void : Effect.sleep("1 minute"))
      })
      const short = yield* fork(Effect.flip(client.read("a:b", { timeout: "50 seconds" })))
      const total = yield* fork(Effect.flip(client.read("a:c", { timeout: "5 minutes", maxTotal: "50 seconds" })))
      const long = yield* fork(client.read("a:d", { timeout: "2 minutes" }))
      yield* TestClock.adjust("20 seconds")
      server(0).cut()
      yield* settle
      const late = yield* fork(Effect.flip(client.ping.pipe(Effect.timeout("10 minutes"))))
      yield* TestClock.adjust("29 seconds")
      assert.isUndefined(short.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(short))._tag, "Timeout")
      assert.strictEqual((yield* Fiber.join(total))._tag, "Timeout")
      yield* TestClock.adjust("40 seconds")
      yield* Fiber.join(long)
      yield* Fiber.interrupt(late)
    })
  )

  it.effect("takes progress for a sign of life of what is sent again", () =>
    Effect.gen(function* () {
      const { client, server } = yield* recovering({
        version,
        script: hangingFirst({ "resources/read": () => contents }),
        hold: (n) => (n === 0 ? Effect.void : Effect.sleep("40 seconds"))
      })
      const read = yield* fork(client.read("a:b", { timeout: "50 seconds", onProgress: () => {} }))
      yield* settle
      yield* TestClock.adjust("40 seconds")
      const [request] = server(0).requests("resources/read")
      const progressToken = Modern.declared(request, "progressToken")
      server(0).peer.notify("notifications/progress", { progressToken, progress: 1 })
      yield* settle
      server(0).cut()
      yield* settle
      yield* TestClock.adjust("40 seconds")
      yield* Fiber.join(read)
    })
  )

  it.effect("sets the log level again before anything else is sent", () =>
    Effect.gen(function* () {
      const { client, server } = yield* recovering({
        version,
        script: () => ({ answers: { "logging/setLevel": () => ({}), "tools/call": () => tool } })
      })
      yield* client.setLogLevel("debug")
      server(0).cut()
      yield* settle
      yield* client.callTool("x")
      if (version === Modern.version) {
        assert.strictEqual(
          Modern.declared(server(1).requests("tools/call")[0], "io.modelcontextprotocol/logLevel"),
          "debug"
        )
      } else {
        assert.deepStrictEqual(Modern.methods(server(1)), [
          "initialize",
          "notifications/initialized",
          "logging/setLevel",
          "tools/call"
        ])
        assert.deepStrictEqual(server(1).requests("logging/setLevel")[0]?.params, { level: "debug" })
      }
    })
  )

  it.effect("opens yet another when the next is lost before all is as it was", () =>
    Effect.gen(function* () {
      // What the handshake and the log level are asked by, in the way of each era.
      const asked = version === Modern.version ? "server/discover" : "logging/setLevel"
      const { client, opened, server } = yield* recovering({
        version,
        script: (n) => ({
          answers: {
            "tools/call": () => tool,
            ...(n === 1 ? { [asked]: () => Effect.never } : { "logging/setLevel": () => ({}) })
          }
        })
      })
      yield* client.setLogLevel("debug")
      server(0).cut()
      yield* settle
      const call = yield* fork(client.callTool("x"))
      yield* until(() => opened[1]?.requests(asked).length === 1)
      server(1).cut()
      yield* settle
      yield* TestClock.adjust("200 millis")
      yield* Fiber.join(call)
      assert.strictEqual(opened.length, 3)
      assert.isTrue(server(1).released())
      assert.strictEqual(server(2).requests("tools/call").length, 1)
    })
  )

  it.effect("is what the latest server says, and forgets what others said of their tools", () =>
    Effect.gen(function* () {
      const outputSchema = { type: "object", required: ["sum"], properties: { sum: { type: "number" } } }
      const { client, server } = yield* recovering({
        version,
        script: (n) => ({
          instructions: `I am ${n}`,
          capabilities: n === 0 ? { tools: {} } : { tools: {}, prompts: {} },
          answers: {
            "tools/list": () => ({ ...empty, tools: [{ name: "x", inputSchema: { type: "object" }, outputSchema }] }),
            "tools/call": () => tool
          }
        })
      })
      yield* collect(client.tools)
      assert.strictEqual(client.instructions, "I am 0")
      assert.isUndefined(client.serverCapabilities.prompts)
      server(0).cut()
      yield* settle
      // What it was listed with is of no account any more.
      yield* client.callTool("x")
      assert.strictEqual(client.instructions, "I am 1")
      assert.isDefined(client.serverCapabilities.prompts)
    })
  )

  it.effect("pings every connection, and comes back from one that does not answer", () =>
    Effect.gen(function* () {
      const ping = version === Modern.version ? "server/discover" : "ping"
      const { client, opened, server } = yield* recovering(
        {
          version,
          script: () => ({ answers: { "resources/read": () => contents } }),
          wire: (transport, n) => (n === 0 ? deaf(transport, ping) : transport)
        },
        { keepAlive: { every: "10 seconds", timeout: "5 seconds", failures: 2 } }
      )
      yield* TestClock.adjust("40 seconds")
      yield* settle
      assert.isTrue(server(0).released())
      assert.strictEqual(opened.length, 1)
      yield* client.read("a:b")
      for (let n = 0; n < 60; n++) {
        yield* TestClock.adjust("1 second")
        yield* settle
      }
      assert.isFalse(server(1).released())
      // Pings are answered by the peer itself where they have a name of their own.
      assert.isAtLeast(server(1).requests(ping).length, 5)
    })
  )

  it.effect("is closed only when all that it had is let go", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const gate = Deferred.makeUnsafe<void>()
      const { server } = yield* recovering({ version, release: () => Deferred.await(gate) }).pipe(Scope.provide(scope))
      server(0).cut()
      yield* settle
      const closing = yield* fork(Scope.close(scope, Exit.void))
      yield* settle
      assert.isUndefined(closing.pollUnsafe())
      Deferred.doneUnsafe(gate, Effect.void)
      yield* Fiber.join(closing)
      assert.isTrue(server(0).released())
    })
  )

  it.effect("does not say that a request was not sent when the last server may have seen it", () =>
    Effect.gen(function* () {
      const { client, server } = yield* recovering(
        {
          version,
          script: (n) => (n === 0 ? { answers: { "resources/read": () => Effect.never } } : refused)
        },
        { reconnect: { attempts: 1 } }
      )
      const read = yield* fork(Effect.flip(client.read("a:b")))
      yield* settle
      server(0).cut()
      const error = yield* Fiber.join(read)
      assert.isTrue(error._tag === "Closed" && error.unsent !== true)
    })
  )

  it.effect("fails with a typed error when its scope is closed while it tries to come back", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      let interrupted = false
      const { client, server, tries } = yield* recovering({
        version,
        hold: (n) =>
          n === 0
            ? Effect.void
            : Effect.onInterrupt(Effect.never, () =>
                Effect.sync(() => {
                  interrupted = true
                })
              )
      }).pipe(Scope.provide(scope))
      server(0).cut()
      yield* settle
      const waiting = yield* fork(Effect.flip(client.ping))
      const closed = yield* fork(client.awaitClosed)
      yield* settle
      assert.strictEqual(tries(), 2)
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(interrupted)
      assert.strictEqual((yield* Fiber.join(waiting))._tag, "Closed")
      yield* Fiber.join(closed)
      assert.strictEqual((yield* Effect.flip(client.ping))._tag, "Closed")
      assert.strictEqual(tries(), 2)
    })
  )

  it.effect("does none of it when told not to", () =>
    Effect.gen(function* () {
      const { client, server, tries } = yield* recovering({ version }, { reconnect: false })
      const waiting = yield* fork(Effect.flip(client.read("a:b")))
      yield* settle
      server(0).cut()
      yield* Fiber.join(waiting)
      assert.strictEqual(yield* Effect.flip(client.awaitClosed), broken)
      assert.strictEqual((yield* Effect.flip(client.ping))._tag, "Closed")
      assert.strictEqual(tries(), 1)
    })
  )
})

it.effect("what a server of 2026-07-28 allowed to be kept is forgotten with its connection", () =>
  Effect.gen(function* () {
    const { client, server } = yield* recovering({
      version: Modern.version,
      script: () => ({ answers: { "resources/read": () => ({ ...contents, ttlMs: 3_600_000 }) } })
    })
    yield* client.read("a:b")
    yield* client.read("a:b")
    assert.strictEqual(server(0).requests("resources/read").length, 1)
    server(0).cut()
    yield* settle
    yield* client.read("a:b")
    yield* client.read("a:b")
    assert.strictEqual(server(1).requests("resources/read").length, 1)
  })
)
