import * as McpClient from "@effect-mcp/client/McpClient"
import type { Transport } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { Roots } from "@effect-mcp/core/Roots"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Scope, SubscriptionRef } from "effect"
import { TestClock } from "effect/testing"
import { settle } from "../support/connected.ts"
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
  Effect.tap(Effect.forkChild(McpClient.connect(server.transport, options), { startImmediately: true }), () => settle)

const cancelled = (server: Scripted.Scripted) =>
  server.heard.filter(JsonRpc.isNotification).filter(({ method }) => method === "notifications/cancelled")

describe("a server of 2026-07-28", () => {
  it.effect(
    `is found by asking what it is before anything else, and needs no handshake${verifies("stdio.compatibility.probes", "stdio.compatibility.probes-modern")}`,
    () =>
      Effect.gen(function* () {
        const clientInfo = { name: "tester", version: "2.0.0" }
        const { client, server } = yield* Modern.connected({ instructions: "Be kind" }, { clientInfo })
        yield* settle
        assert.deepStrictEqual(Modern.methods(server), ["server/discover"])
        const [probe] = server.requests("server/discover")
        assert.deepStrictEqual(probe?.params, {
          _meta: { [Meta.protocolVersion]: "2026-07-28", [Meta.clientInfo]: clientInfo, [Meta.clientCapabilities]: {} }
        })
        assert.strictEqual(client.revision.version, "2026-07-28")
        assert.deepStrictEqual(client.serverInfo, Scripted.info)
        assert.deepStrictEqual(client.serverCapabilities, Scripted.everything)
        assert.strictEqual(client.instructions, "Be kind")
      })
  )

  it.effect("may keep to itself who it is", () =>
    Effect.gen(function* () {
      const { _meta: _, ...anonymous } = Modern.discovered() as { readonly _meta?: unknown }
      const { client } = yield* Modern.connected({ answers: { "server/discover": () => anonymous } })
      assert.strictEqual(client.serverInfo.name, "unknown")
    })
  )

  it.effect("hears in the probe only what its revision knows", () =>
    Effect.gen(function* () {
      const ref = yield* SubscriptionRef.make<ReadonlyArray<{ readonly uri: string }>>([{ uri: "file:///a" }])
      const { server } = yield* Modern.connected().pipe(Effect.provide(Roots.layerRef(ref)))
      const [probe] = server.requests("server/discover")
      assert.deepStrictEqual(Modern.declared(probe, Meta.clientCapabilities), { roots: {} })
      yield* SubscriptionRef.set(ref, [])
      yield* settle
      assert.deepStrictEqual(Modern.methods(server), ["server/discover"])
    })
  )

  it.effect("that is slow to start is given both questions, and its answer to the first counts", () =>
    Effect.gen(function* () {
      const started = yield* Deferred.make<void>()
      const server = yield* Modern.make({
        answers: {
          "server/discover": () => Effect.as(Deferred.await(started), Modern.discovered()),
          initialize: () => Effect.andThen(Deferred.await(started), Modern.unsupported("2026-07-28"))
        }
      })
      const fiber = yield* connecting(server)
      yield* TestClock.adjust("3 seconds")
      yield* settle
      assert.deepStrictEqual(Modern.methods(server), ["server/discover", "initialize"])
      yield* Deferred.succeed(started, undefined)
      assert.strictEqual((yield* Fiber.join(fiber)).revision.version, "2026-07-28")
      yield* settle
      assert.deepStrictEqual(Modern.methods(server), ["server/discover", "initialize"])
    })
  )

  it.effect("may refuse the handshake before it answers the probe", () =>
    Effect.gen(function* () {
      const server = yield* Modern.make({
        answers: { "server/discover": () => Effect.as(Effect.sleep("4 seconds"), Modern.discovered()) }
      })
      const fiber = yield* connecting(server)
      yield* TestClock.adjust("3 seconds")
      yield* settle
      assert.strictEqual(server.requests("initialize").length, 1)
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(fiber)).revision.version, "2026-07-28")
    })
  )

  it.effect("is waited for by a client that speaks nothing else, however slow it starts", () =>
    Effect.gen(function* () {
      const server = yield* Modern.make({
        answers: { "server/discover": () => Effect.as(Effect.sleep("30 seconds"), Modern.discovered()) }
      })
      const fiber = yield* connecting(server, { revisions: ["2026-07-28"] })
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual((yield* Fiber.join(fiber)).revision.version, "2026-07-28")
      assert.deepStrictEqual(Modern.methods(server), ["server/discover"])
    })
  )

  it.effect(`that speaks only later versions is reported${verifies("versioning.unsupported.client-retries")}`, () =>
    Effect.gen(function* () {
      const server = yield* legacy(() => Modern.unsupported("2027-01-01", "2027-02-02"))
      const error = yield* Effect.flip(McpClient.connect(server.transport))
      assert.strictEqual(error._tag, "UnsupportedRevision")
      if (error._tag === "UnsupportedRevision") assert.deepStrictEqual(error.server, ["2027-01-01", "2027-02-02"])
      assert.deepStrictEqual(Modern.methods(server), ["server/discover"])
    })
  )

  it.effect("that refuses the very version that it names is asked once more, not for ever", () =>
    Effect.gen(function* () {
      let refusals = 1
      const fickle = () => (refusals-- > 0 ? Modern.unsupported("2026-07-28") : Modern.discovered())
      const server = yield* legacy(fickle)
      const client = yield* McpClient.connect(server.transport)
      assert.strictEqual(client.revision.version, "2026-07-28")
      refusals = 9
      const stubborn = yield* legacy(fickle)
      assert.strictEqual((yield* Effect.flip(McpClient.connect(stubborn.transport)))._tag, "UnsupportedRevision")
      assert.deepStrictEqual(Modern.methods(stubborn), ["server/discover", "server/discover"])
    })
  )

  it.effect("that refuses the probe for a reason of its own era gets no handshake", () =>
    Effect.gen(function* () {
      const server = yield* legacy(() => Effect.fail(McpError.missingClientCapability({ sampling: {} })))
      const error = yield* Effect.flip(McpClient.connect(server.transport))
      assert.strictEqual(error._tag === "McpError" ? error.code : error._tag, -32021)
      assert.deepStrictEqual(Modern.methods(server), ["server/discover"])
    })
  )

  it.effect("is a stranger to a client of the older era, which never asks what it is", () =>
    Effect.gen(function* () {
      const server = yield* Modern.make()
      const error = yield* Effect.flip(McpClient.connect(server.transport, { revisions: ["2025-11-25"] }))
      assert.strictEqual(error._tag, "UnsupportedRevision")
      if (error._tag === "UnsupportedRevision") assert.deepStrictEqual(error.server, ["2026-07-28"])
      assert.deepStrictEqual(Modern.methods(server), ["initialize"])
    })
  )
})

describe("a server of the older era", () => {
  const answers: ReadonlyArray<readonly [string, Scripted.Answer | undefined]> = [
    ["knows no such method", undefined],
    ...[-32602, -32600, -32603, -32002, -32000, 0, 1].map((code): readonly [string, Scripted.Answer] => [
      `answers the probe with ${code}`,
      () => Effect.fail(new McpError.McpError({ code, message: "Bad Request: Server not initialized" }))
    ]),
    [
      "refuses it by a code of the new era without saying which versions it speaks",
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
    `that %s gets the handshake${verifies("stdio.compatibility.any-error", "versioning.era.remembered")}`,
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
      })
  )

  it.effect.each(answers.filter(([name]) => !name.includes("versions of its own")))(
    "that %s is refused clearly by a client of 2026-07-28 alone",
    ([, answer]) =>
      Effect.gen(function* () {
        const server = yield* legacy(answer)
        const error = yield* Effect.flip(McpClient.connect(server.transport, { revisions: ["2026-07-28"] }))
        assert.include(["UnsupportedRevision", "InvalidResult"], error._tag)
        assert.deepStrictEqual(Modern.methods(server), ["server/discover"])
      })
  )

  it.effect("that stays silent gets the handshake after a while, and is told that the probe is over", () =>
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
      yield* settle
      yield* TestClock.adjust("1999 millis")
      yield* settle
      assert.deepStrictEqual(Modern.methods(server), ["server/discover"])
      yield* TestClock.adjust("1 millis")
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

  it.effect("that refuses the probe late keeps the handshake that has begun", () =>
    Effect.gen(function* () {
      const server = yield* legacy(
        () => Effect.andThen(Effect.sleep("4 seconds"), Effect.fail(McpError.methodNotFound("x"))),
        {
          answers: { initialize: () => Effect.as(Effect.sleep("2 seconds"), Scripted.initializeResult({})) }
        }
      )
      const fiber = yield* connecting(server)
      yield* TestClock.adjust("3 seconds")
      yield* settle
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* Fiber.join(fiber)).revision.version, "2025-11-25")
      assert.strictEqual(server.requests("initialize").length, 1)
    })
  )

  it.effect("that refuses the handshake, too, is reported by that refusal", () =>
    Effect.gen(function* () {
      const server = yield* legacy(() => Effect.never, {
        answers: { initialize: () => Effect.fail(McpError.internalError("Out of order")) }
      })
      const fiber = yield* connecting(server)
      yield* TestClock.adjust("3 seconds")
      yield* settle
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual((yield* Effect.flip(Fiber.join(fiber))).message, "Out of order")
    })
  )

  it.effect("that stays silent is out of time for a client of 2026-07-28 alone", () =>
    Effect.gen(function* () {
      const server = yield* legacy(() => Effect.never)
      const fiber = yield* connecting(server, { revisions: ["2026-07-28"] })
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual((yield* Effect.flip(Fiber.join(fiber)))._tag, "Timeout")
      assert.strictEqual(server.requests("initialize").length, 0)
    })
  )

  it.effect("that never says anything is given up, with nothing left open", () =>
    Effect.gen(function* () {
      const server = yield* legacy(() => Effect.never, { answers: { initialize: () => Effect.never } })
      const fiber = yield* Effect.forkChild(Effect.flip(Effect.scoped(McpClient.connect(server.transport))))
      yield* TestClock.adjust("70 seconds")
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "Timeout")
      yield* settle
      // The handshake must not be cancelled; the probe must be.
      assert.deepStrictEqual(
        cancelled(server).map(({ params }) => params?.requestId),
        server.requests("server/discover").map(({ id }) => id)
      )
    })
  )

  it.effect("never hears a probe from a client of its era alone", () =>
    Effect.gen(function* () {
      const server = yield* legacy(() => Modern.discovered())
      yield* McpClient.connect(server.transport, { revisions: ["2025-06-18", "2025-11-25"] })
      assert.strictEqual(server.requests("server/discover").length, 0)
    })
  )
})

describe("a connection that ends during the probe", () => {
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

  it.effect("fails at once with Closed", () =>
    Effect.gen(function* () {
      const server = yield* leaving
      const error = yield* Effect.flip(McpClient.connect(server.transport))
      assert.strictEqual(error._tag, "Closed")
    })
  )

  it.effect("is opened again for the handshake: some servers leave when anything else comes first", () =>
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

  it.effect("is not opened again by a client of 2026-07-28 alone", () =>
    Effect.gen(function* () {
      let opened = 0
      const connector = Effect.map(leaving, (server) => (opened++, server.transport))
      const error = yield* Effect.flip(McpClient.open(connector, { revisions: ["2026-07-28"] }))
      assert.strictEqual(error._tag, "Closed")
      assert.strictEqual(opened, 1)
    })
  )
})
