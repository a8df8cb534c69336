import * as McpClient from "@effect-mcp/client/McpClient"
import type { LogMessageParams } from "@effect-mcp/protocol/model/Logging"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Latch, Queue, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { collect, connected, quiesce, all } from "../support/connected.ts"
import * as Modern from "../support/modern.ts"
import * as Scripted from "../support/scripted.ts"

const log = (server: Scripted.Scripted, data: unknown) =>
  server.peer.notify("notifications/message", { level: "info", logger: "test", data })

describe.each(all)("Announcements from %s servers", (version) => {
  it.effect("Log messages arrive on the log stream", () =>
    Effect.gen(function* () {
      const { client, server } = yield* connected({ version, answers: { "logging/setLevel": () => ({}) } })
      const logs = yield* Queue.unbounded<LogMessageParams>()
      yield* Effect.forkChild(
        Stream.runForEach(client.logs, (entry) => Queue.offer(logs, entry)),
        { startImmediately: true }
      )
      yield* client.setLogLevel("debug")
      yield* client.ping
      const [asked] = server.requests(version === Modern.version ? "server/discover" : "logging/setLevel").slice(-1)
      assert.strictEqual(asked?.params?.level ?? Modern.declared(asked, Meta.logLevel), "debug")
      log(server, { free: "form" })
      assert.deepStrictEqual(yield* Queue.take(logs), { level: "info", logger: "test", data: { free: "form" } })
    })
  )

  it.effect("A slow log reader keeps the newest messages and does not stall other readers", () =>
    Effect.gen(function* () {
      const { client, server } = yield* connected({ version }, { logBuffer: 4 })
      const gate = yield* Latch.make(false)
      const seen: Array<unknown> = []
      const reader = yield* Effect.forkChild(
        Stream.runForEach(client.logs, ({ data }) =>
          Effect.andThen(
            gate.await,
            Effect.sync(() => seen.push(data))
          )
        ),
        { startImmediately: true }
      )
      for (let n = 1; n <= 1000; n++) log(server, n)
      yield* client.ping
      server.end()
      yield* gate.open
      yield* Fiber.join(reader)
      assert.strictEqual(seen.at(-1), 1000)
      assert.isAtMost(seen.length, 8)
    })
  )

  it.effect("A burst of list changes becomes a single event per list", () =>
    Effect.gen(function* () {
      const { client, server } = yield* connected({ version })
      const count = { tools: 0, resources: 0, prompts: 0 }
      const counting = (kind: keyof typeof count, stream: Stream.Stream<void>) =>
        Effect.forkChild(
          Stream.runForEach(stream, () => Effect.sync(() => count[kind]++)),
          { startImmediately: true }
        )
      yield* counting("tools", client.toolChanges)
      yield* counting("resources", client.resourceChanges)
      yield* counting("prompts", client.promptChanges)
      yield* quiesce
      for (let n = 0; n < 100; n++) server.peer.notify("notifications/tools/list_changed")
      server.peer.notify("notifications/prompts/list_changed")
      yield* client.ping
      yield* quiesce
      assert.isAtLeast(count.tools, 1)
      assert.isAtMost(count.tools, 2)
      assert.deepStrictEqual({ ...count, tools: 0 }, { tools: 0, resources: 0, prompts: 1 })
    })
  )

  it.effect(
    "An unknown or malformed notification is reported and ignored",
    () =>
      Effect.gen(function* () {
        const dropped: Array<string> = []
        const { client, server } = yield* connected({ version }, { dropped: (reason) => dropped.push(reason) })
        server.peer.notify("notifications/no/such")
        server.peer.notify("toString")
        server.peer.notify("notifications/message", { level: "loud", data: 1 })
        server.peer.notify("notifications/resources/updated")
        yield* client.ping
        assert.deepStrictEqual(dropped, [
          "Unknown notification: notifications/no/such",
          "Unknown notification: toString",
          "Invalid notification: notifications/message",
          "Invalid notification: notifications/resources/updated"
        ])
        assert.deepStrictEqual(
          server.heard.flatMap((message) => ("method" in message ? [message.method] : ["answer"])),
          version === Modern.version
            ? ["server/discover", "server/discover"]
            : ["initialize", "notifications/initialized", "ping"]
        )
      }),
    verifies("json-rpc.notification.no-response")
  )
})

describe("Closing a connection", () => {
  it.effect("Closing the client's scope ends every stream and fails every call", () =>
    Effect.gen(function* () {
      const server = yield* Scripted.make({
        answers: { "tools/call": () => Effect.never, "resources/subscribe": () => ({}) }
      })
      const scope = yield* Scope.make()
      const client = yield* McpClient.connect(server.transport, { revisions: all }).pipe(Scope.provide(scope))
      const fork = <A, E>(effect: Effect.Effect<A, E>) =>
        Effect.forkChild(Effect.exit(effect), { startImmediately: true })
      const call = yield* fork(client.callToolByName("x"))
      const watch = yield* fork(Stream.runDrain(client.watchResource("a:")))
      const ending = yield* Effect.forEach(
        [client.logs, client.toolChanges, client.resourceChanges, client.promptChanges, client.resourceUpdates],
        (stream) => fork(Stream.runDrain<unknown, never, never>(stream))
      )
      yield* quiesce
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(Exit.isFailure(yield* Fiber.join(call)))
      assert.isTrue(Exit.isFailure(yield* Fiber.join(watch)))
      for (const fiber of ending) assert.isTrue(Exit.isSuccess(yield* Fiber.join(fiber)))
      assert.deepStrictEqual(yield* collect(client.logs), [])
    })
  )

  it.effect("A server disconnect fails calls immediately", () =>
    Effect.gen(function* () {
      const { client, server } = yield* connected({ answers: { "tools/call": () => Effect.never } })
      const call = yield* Effect.forkChild(Effect.flip(client.callToolByName("x")), { startImmediately: true })
      yield* quiesce
      server.end()
      assert.strictEqual((yield* Fiber.join(call))._tag, "Closed")
    })
  )

  it.effect(
    "A connection ends when the server stops answering pings",
    () =>
      Effect.gen(function* () {
        const server = yield* Scripted.make({})
        const client = yield* McpClient.connect(
          { ...server.transport, sink: { ...server.transport.sink, send: withoutPings(server.transport.sink.send) } },
          { keepAlive: { every: "30 seconds", timeout: "5 seconds", failures: 2 } }
        )
        const closed = yield* Effect.forkChild(Effect.flip(client.awaitClosed), { startImmediately: true })
        yield* TestClock.adjust("2 minutes")
        assert.strictEqual((yield* Fiber.join(closed)).reason, "KeepAlive")
      }),
    verifies("ping.sender.periodic", "ping.sender.configurable", "ping.timeout.connection-failure")
  )

  it.effect("A ping measures the round-trip time", () =>
    Effect.gen(function* () {
      const { client } = yield* connected({})
      assert.isDefined(yield* client.ping)
    })
  )
})

const withoutPings =
  (send: Scripted.Scripted["transport"]["sink"]["send"]): typeof send =>
  (message, lane, relatedTo) => {
    if (!("method" in message && message.method === "ping")) send(message, lane, relatedTo)
  }
