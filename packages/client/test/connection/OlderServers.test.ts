/** Servers of the older era, as a client of both finds out, and those that leave when they are asked what they are. */
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

/** A server of the older era that answers the probe in its own way. */
const legacy = (discover: Scripted.Answer | undefined, script: Scripted.Script = {}) =>
  Scripted.make({
    ...script,
    answers: { ...(discover === undefined ? undefined : { "server/discover": discover }), ...script.answers }
  })

/** The probe has reached the server when it returns. */
const connecting = (server: Scripted.Scripted, options?: McpClient.Options) =>
  Effect.tap(Effect.forkChild(McpClient.connect(server.transport, options), { startImmediately: true }), () => quiesce)

const cancelled = (server: Scripted.Scripted) =>
  server.heard.filter(JsonRpc.isNotification).filter(({ method }) => method === "notifications/cancelled")

describe("A server of the older era", () => {
  const answers: ReadonlyArray<readonly [string, Scripted.Answer | undefined]> = [
    ["does not know the method of the probe", undefined],
    ...[-32602, -32600, -32603, -32002, -32000, 0, 1].map((code): readonly [string, Scripted.Answer] => [
      `answers the probe with ${code}`,
      () => Effect.fail(new McpError.McpError({ code, message: "Bad Request: Server not initialized" }))
    ]),
    [
      "refuses the probe by a code of the stateless era without naming its versions",
      () => Effect.fail(new McpError.McpError({ code: -32022, message: "Internal" }))
    ],
    ["answers the probe with nothing", () => ({})],
    ["answers the probe with text", () => Effect.succeed("hello")],
    ["answers the probe with null", () => Effect.succeed(null)],
    ["answers the probe with questions", () => ({ resultType: "input_required", requestState: "x" })],
    ["names only versions of its own era", () => Modern.unsupported("2025-06-18", "2025-11-25")],
    ["discovers only versions of its own era", () => ({ ...Modern.discovered(), supportedVersions: ["2025-11-25"] })]
  ]
  it.effect.each(answers)(
    "An older server that %s gets the handshake",
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

  it.effect.each(answers.filter(([name]) => !name.includes("versions of its own")))(
    "An older server that %s is refused clearly by a client of 2026-07-28 alone",
    ([, answer]) =>
      Effect.gen(function* () {
        const server = yield* legacy(answer)
        const error = yield* Effect.flip(McpClient.connect(server.transport, { revisions: ["2026-07-28"] }))
        assert.include(["UnsupportedRevision", "InvalidResult"], error._tag)
        assert.deepStrictEqual(Modern.methods(server), ["server/discover"])
      })
  )

  it.effect(
    "An older server that stays silent gets the handshake after a while, and the cancellation of the probe",
    () =>
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

  it.effect("An older server that refuses the probe late keeps the handshake that has begun", () =>
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

  it.effect("An older server that refuses the handshake, too, is reported by that refusal", () =>
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

  it.effect("An older server that stays silent is out of time for a client of 2026-07-28 alone", () =>
    Effect.gen(function* () {
      const server = yield* legacy(() => Effect.never)
      const fiber = yield* connecting(server, { revisions: ["2026-07-28"] })
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual((yield* Effect.flip(Fiber.join(fiber)))._tag, "Timeout")
      assert.strictEqual(server.requests("initialize").length, 0)
    })
  )

  it.effect("A server that never answers is given up, with nothing left open", () =>
    Effect.gen(function* () {
      const server = yield* legacy(() => Effect.never, { answers: { initialize: () => Effect.never } })
      const fiber = yield* Effect.forkChild(Effect.flip(Effect.scoped(McpClient.connect(server.transport))))
      yield* TestClock.adjust("70 seconds")
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "Timeout")
      yield* quiesce
      // The handshake must not be cancelled; the probe must be.
      assert.deepStrictEqual(
        cancelled(server).map(({ params }) => params?.requestId),
        server.requests("server/discover").map(({ id }) => id)
      )
    })
  )

  it.effect("An older server never gets a probe from a client of its era alone", () =>
    Effect.gen(function* () {
      const server = yield* legacy(() => Modern.discovered())
      yield* McpClient.connect(server.transport, { revisions: ["2025-06-18", "2025-11-25"] })
      assert.strictEqual(server.requests("server/discover").length, 0)
    })
  )
})

describe("A connection that ends during the probe", () => {
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

  it.effect("A connection that ends during the probe fails at once with Closed", () =>
    Effect.gen(function* () {
      const server = yield* leaving
      const error = yield* Effect.flip(McpClient.connect(server.transport))
      assert.strictEqual(error._tag, "Closed")
    })
  )

  it.effect("A connection that ends during the probe is opened again for the handshake", () =>
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

  it.effect("A connection that ends during the probe is not opened again by a client of 2026-07-28 alone", () =>
    Effect.gen(function* () {
      let opened = 0
      const connector = Effect.map(leaving, (server) => (opened++, server.transport))
      const error = yield* Effect.flip(McpClient.open(connector, { revisions: ["2026-07-28"] }))
      assert.strictEqual(error._tag, "Closed")
      assert.strictEqual(opened, 1)
    })
  )
})
