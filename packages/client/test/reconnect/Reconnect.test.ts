/** A client whose connection is lost opens another when a request needs it. */
import { TransportError } from "@effect-mcp/core/Transport"
import * as McpError from "@effect-mcp/protocol/McpError"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import { all, collect, quiesce } from "../support/connected.ts"
import * as Modern from "../support/modern.ts"
import { empty, broken, fork, recovering, tool, until } from "../support/recovering.ts"

describe.each(all)("%s clients that lose their connection", (version) => {
  it.effect("One new connection is opened for all requests that need it", () =>
    Effect.gen(function* () {
      const { client, opened, server } = yield* recovering({
        version,
        script: () => ({ answers: { "tools/call": () => tool } })
      })
      server(0).cut()
      yield* quiesce
      yield* Effect.forEach(Array.from({ length: 100 }), () => client.callToolByName("x"), { concurrency: "unbounded" })
      assert.strictEqual(opened.length, 2)
      assert.isTrue(server(0).released())
      assert.strictEqual(server(1).requests("tools/call").length, 100)
    })
  )

  it.effect("A client reconnects to a server that rejects clients while busy", () =>
    Effect.gen(function* () {
      const busy = new TransportError({ reason: "Status", status: 429, message: "Too many" })
      const { client, server, tries } = yield* recovering({ version, script: (n) => (n === 1 ? busy : {}) })
      server(0).cut()
      yield* quiesce
      const ping = yield* fork(client.ping)
      yield* quiesce
      yield* TestClock.adjust("200 millis")
      yield* Fiber.join(ping)
      assert.strictEqual(tries(), 3)
    })
  )

  it.effect("No connection is opened until a request needs one", () =>
    Effect.gen(function* () {
      const { client, server, tries } = yield* recovering({ version })
      const closed = yield* fork(Effect.exit(client.awaitClosed))
      server(0).end()
      yield* quiesce
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(tries(), 1)
      assert.isTrue(server(0).released())
      assert.isUndefined(closed.pollUnsafe())
      yield* client.ping
      assert.strictEqual(tries(), 2)
    })
  )

  it.effect("Interrupting a waiting request does not stop the reconnection for others", () =>
    Effect.gen(function* () {
      const gate = Deferred.makeUnsafe<void>()
      const { client, server, tries } = yield* recovering({
        version,
        hold: (n) => (n === 0 ? Effect.void : Deferred.await(gate))
      })
      server(0).cut()
      yield* quiesce
      const first = yield* fork(client.ping)
      const second = yield* fork(client.ping)
      yield* quiesce
      yield* Fiber.interrupt(first)
      Deferred.doneUnsafe(gate, Effect.void)
      yield* Fiber.join(second)
      assert.strictEqual(tries(), 2)
    })
  )

  it.effect("Each lost or failed connection is released before the next one opens", () =>
    Effect.gen(function* () {
      const gate = Deferred.makeUnsafe<void>()
      const nothing = () => Effect.fail(McpError.internalError("Not now"))
      const { client, opened, server, tries } = yield* recovering({
        version,
        script: (n) => (n === 1 || n === 2 ? { answers: { initialize: nothing, "server/discover": nothing } } : {}),
        release: (n) => (n === 0 ? Deferred.await(gate) : Effect.void)
      })
      server(0).cut()
      yield* quiesce
      const ping = yield* fork(client.ping)
      yield* quiesce
      assert.strictEqual(tries(), 1)
      Deferred.doneUnsafe(gate, Effect.void)
      if (version === Modern.version) {
        // The server speaks no supported era, so the error is final.
        yield* Effect.exit(Fiber.join(ping))
        yield* Effect.exit(client.ping)
      }
      for (let n = 0; n < 20; n++) {
        yield* quiesce
        yield* TestClock.adjust("100 millis")
      }
      yield* client.ping
      assert.deepStrictEqual(
        opened.map(({ released }) => released()),
        [true, true, true, false]
      )
    })
  )

  it.effect("The log level is restored before any other request on a new connection", () =>
    Effect.gen(function* () {
      const { client, server } = yield* recovering({
        version,
        script: () => ({ answers: { "logging/setLevel": () => ({}), "tools/call": () => tool } })
      })
      yield* client.setLogLevel("debug")
      server(0).cut()
      yield* quiesce
      yield* client.callToolByName("x")
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

  it.effect("A connection that is lost before it is restored is replaced too", () =>
    Effect.gen(function* () {
      // The methods that restore the handshake and the log level in each era.
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
      yield* quiesce
      const call = yield* fork(client.callToolByName("x"))
      yield* until(() => opened[1]?.requests(asked).length === 1)
      server(1).cut()
      yield* quiesce
      yield* TestClock.adjust("200 millis")
      yield* Fiber.join(call)
      assert.strictEqual(opened.length, 3)
      assert.isTrue(server(1).released())
      assert.strictEqual(server(2).requests("tools/call").length, 1)
    })
  )

  it.effect("Instructions, capabilities and tools come from the latest server only", () =>
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
      yield* collect(client.listTools)
      assert.strictEqual(client.instructions, "I am 0")
      assert.isUndefined(client.serverCapabilities.prompts)
      server(0).cut()
      yield* quiesce
      // The earlier list of tools no longer counts.
      yield* client.callToolByName("x")
      assert.strictEqual(client.instructions, "I am 1")
      assert.isDefined(client.serverCapabilities.prompts)
    })
  )

  it.effect("A client is closed only after everything its connection acquired is released", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const gate = Deferred.makeUnsafe<void>()
      const { server } = yield* recovering({ version, release: () => Deferred.await(gate) }).pipe(Scope.provide(scope))
      server(0).cut()
      yield* quiesce
      const closing = yield* fork(Scope.close(scope, Exit.void))
      yield* quiesce
      assert.isUndefined(closing.pollUnsafe())
      Deferred.doneUnsafe(gate, Effect.void)
      yield* Fiber.join(closing)
      assert.isTrue(server(0).released())
    })
  )

  it.effect("Closing a client's scope while it reconnects fails with a typed error", () =>
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
      yield* quiesce
      const waiting = yield* fork(Effect.flip(client.ping))
      const closed = yield* fork(client.awaitClosed)
      yield* quiesce
      assert.strictEqual(tries(), 2)
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(interrupted)
      assert.strictEqual((yield* Fiber.join(waiting))._tag, "Closed")
      yield* Fiber.join(closed)
      assert.strictEqual((yield* Effect.flip(client.ping))._tag, "Closed")
      assert.strictEqual(tries(), 2)
    })
  )

  it.effect("A client with reconnection disabled does not reconnect", () =>
    Effect.gen(function* () {
      const { client, server, tries } = yield* recovering({ version }, { reconnect: false })
      const waiting = yield* fork(Effect.flip(client.readResource("a:b")))
      yield* quiesce
      server(0).cut()
      yield* Fiber.join(waiting)
      assert.strictEqual(yield* Effect.flip(client.awaitClosed), broken)
      assert.strictEqual((yield* Effect.flip(client.ping))._tag, "Closed")
      assert.strictEqual(tries(), 1)
    })
  )
})
