/** How a client of both eras detects servers of the older era, including servers that hang up when they are probed. */
import * as McpClient from "@effect-mcp/client/McpClient"
import type { Transport } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import { quiesce } from "../support/connected.ts"
import * as Modern from "../support/modern.ts"
import * as Scripted from "../support/scripted.ts"

/** A server of the older era with its own answer to the probe. */
const legacy = (discover: Scripted.Answer | undefined, script: Scripted.Script = {}) =>
  Scripted.make({
    ...script,
    answers: { ...(discover === undefined ? undefined : { "server/discover": discover }), ...script.answers }
  })

/** The probe has reached the server when this returns. */
const connecting = (server: Scripted.Scripted, options?: McpClient.Options) =>
  Effect.tap(Effect.forkChild(McpClient.connect(server.transport, options), { startImmediately: true }), () => quiesce)

const cancelled = (server: Scripted.Scripted) =>
  server.heard.filter(JsonRpc.isNotification).filter(({ method }) => method === "notifications/cancelled")

describe("Legacy-era servers", () => {
  const answers: ReadonlyArray<readonly [string, Scripted.Answer | undefined]> = [
    ["does not know the probe's method", undefined],
    ...[-32602, -32600, -32603, -32002, -32000, 0, 1].map((code): readonly [string, Scripted.Answer] => [
      `answers the probe with ${code}`,
      () => Effect.fail(new McpError.McpError({ code, message: "Bad Request: Server not initialized" }))
    ]),
    [
      "rejects the probe with a stateless-era code but no versions",
      () => Effect.fail(new McpError.McpError({ code: -32022, message: "Internal" }))
    ],
    ["answers the probe with nothing", () => ({})],
    ["answers the probe with text", () => Effect.succeed("hello")],
    ["answers the probe with null", () => Effect.succeed(null)],
    ["answers the probe with questions", () => ({ resultType: "input_required", requestState: "x" })],
    ["names only legacy-era versions", () => Modern.unsupported("2025-06-18", "2025-11-25")],
    ["discovers only legacy-era versions", () => ({ ...Modern.discovered(), supportedVersions: ["2025-11-25"] })]
  ]
  it.effect.each(answers)(
    "A legacy server that %s gets the handshake",
    ([, answer]) =>
      Effect.gen(function* () {
        const server = yield* legacy(answer)
        const client = yield* McpClient.connect(server.transport)
        yield* client.ping
        assert.strictEqual(client.revision.version, "2025-11-25")
        assert.deepStrictEqual(Modern.methods(server), [
          "server/discover",
          "initialize",
          "notifications/initialized",
          "ping"
        ])
        assert.isFalse(server.requests("ping").some((request) => request.params !== undefined))
      }),
    verifies("stdio.compatibility.any-error", "versioning.era.remembered")
  )

  it.effect.each(answers.filter(([name]) => !name.includes("has its own versions")))(
    "A 2026-07-28-only client reports a legacy server that %s",
    ([, answer]) =>
      Effect.gen(function* () {
        const server = yield* legacy(answer)
        const error = yield* Effect.flip(McpClient.connect(server.transport, { revisions: ["2026-07-28"] }))
        assert.include(["UnsupportedRevision", "InvalidResult"], error._tag)
        assert.deepStrictEqual(Modern.methods(server), ["server/discover"])
      })
  )

  it.effect("A silent legacy server gets the handshake after a delay, and the probe is cancelled", () =>
    Effect.gen(function* () {
      const server = yield* legacy(() => Effect.never)
      const connected = yield* Deferred.make<McpClient.McpClient["Service"]>()
      // Not ended by the end of its fiber.
      yield* Effect.forkChild(
        McpClient.connect(server.transport, { probeTimeout: "2 seconds" }).pipe(
          Effect.flatMap((client) => Deferred.succeed(connected, client)),
          Effect.andThen(Effect.never)
        )
      )
      yield* quiesce
      yield* TestClock.adjust("1999 millis")
      yield* quiesce
      assert.deepStrictEqual(Modern.methods(server), ["server/discover"])
      yield* TestClock.adjust("1 millis")
      yield* quiesce
      yield* TestClock.adjust("200 millis")
      const client = yield* Deferred.await(connected)
      assert.strictEqual(client.revision.version, "2025-11-25")
      yield* client.ping
      assert.deepStrictEqual(Modern.methods(server), [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "notifications/cancelled",
        "ping"
      ])
      assert.deepStrictEqual(
        cancelled(server).map(({ params }) => params?.requestId),
        server.requests("server/discover").map(({ id }) => id)
      )
    })
  )

  it.effect("A late rejection of the probe does not affect the running handshake", () =>
    Effect.gen(function* () {
      const server = yield* legacy(
        () => Effect.andThen(Effect.sleep("4 seconds"), Effect.fail(McpError.methodNotFound("x"))),
        {
          answers: { initialize: () => Effect.as(Effect.sleep("2 seconds"), Scripted.initializeResult({})) }
        }
      )
      const fiber = yield* connecting(server)
      yield* TestClock.adjust("3 seconds")
      yield* quiesce
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* Fiber.join(fiber)).revision.version, "2025-11-25")
      assert.strictEqual(server.requests("initialize").length, 1)
    })
  )

  it.effect("If a legacy server rejects the handshake too, that rejection is reported", () =>
    Effect.gen(function* () {
      const server = yield* legacy(() => Effect.never, {
        answers: { initialize: () => Effect.fail(McpError.internalError("Out of order")) }
      })
      const fiber = yield* connecting(server)
      yield* TestClock.adjust("3 seconds")
      yield* quiesce
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual((yield* Effect.flip(Fiber.join(fiber))).message, "Out of order")
    })
  )

  it.effect("A 2026-07-28-only client times out on a silent legacy server", () =>
    Effect.gen(function* () {
      const server = yield* legacy(() => Effect.never)
      const fiber = yield* connecting(server, { revisions: ["2026-07-28"] })
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual((yield* Effect.flip(Fiber.join(fiber)))._tag, "Timeout")
      assert.strictEqual(server.requests("initialize").length, 0)
    })
  )

  it.effect("A client gives up on a server that never answers and leaves nothing open", () =>
    Effect.gen(function* () {
      const server = yield* legacy(() => Effect.never, { answers: { initialize: () => Effect.never } })
      const fiber = yield* Effect.forkChild(Effect.flip(Effect.scoped(McpClient.connect(server.transport))))
      yield* TestClock.adjust("70 seconds")
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "Timeout")
      yield* quiesce
      // The probe must be cancelled, but not the handshake.
      assert.deepStrictEqual(
        cancelled(server).map(({ params }) => params?.requestId),
        server.requests("server/discover").map(({ id }) => id)
      )
    })
  )

  it.effect("A legacy client never probes", () =>
    Effect.gen(function* () {
      const server = yield* legacy(() => Modern.discovered())
      yield* McpClient.connect(server.transport, { revisions: ["2025-06-18", "2025-11-25"] })
      assert.strictEqual(server.requests("server/discover").length, 0)
    })
  )
})

describe("Connections that end during the probe", () => {
  const leaving: Effect.Effect<Scripted.Scripted, never, Scope.Scope> = Effect.gen(function* () {
    const server: Scripted.Scripted = yield* Scripted.make({
      answers: {
        "server/discover": () =>
          Effect.andThen(
            Effect.sync(() => server.end()),
            Effect.never
          )
      }
    })
    return server
  })

  it.effect("A connection that ends during the probe fails immediately with Closed", () =>
    Effect.gen(function* () {
      const server = yield* leaving
      const error = yield* Effect.flip(McpClient.connect(server.transport))
      assert.strictEqual(error._tag, "Closed")
    })
  )

  it.effect("A connection that ends during the probe is reopened for the handshake", () =>
    Effect.gen(function* () {
      const servers: Array<Scripted.Scripted> = []
      const closed: Array<number> = []
      const connector: Effect.Effect<Transport, never, Scope.Scope> = Effect.gen(function* () {
        const server = yield* leaving
        const index = servers.push(server) - 1
        yield* Effect.addFinalizer(() => Effect.sync(() => closed.push(index)))
        return server.transport
      })
      const scope = yield* Scope.make()
      const client = yield* McpClient.open(connector).pipe(Scope.provide(scope))
      assert.strictEqual(client.revision.version, "2025-11-25")
      assert.deepStrictEqual(
        servers.map(Modern.methods).map((heard) => heard[0]),
        ["server/discover", "initialize"]
      )
      assert.deepStrictEqual(closed, [0])
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(closed, [0, 1])
    })
  )

  it.effect("A 2026-07-28-only client does not reopen a connection that ends during the probe", () =>
    Effect.gen(function* () {
      let opened = 0
      const connector = Effect.map(leaving, (server) => (opened++, server.transport))
      const error = yield* Effect.flip(McpClient.open(connector, { revisions: ["2026-07-28"] }))
      assert.strictEqual(error._tag, "Closed")
      assert.strictEqual(opened, 1)
    })
  )
})
