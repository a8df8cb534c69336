import * as McpClient from "@effect-mcp/client/McpClient"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import * as Roots from "@effect-mcp/core/Roots"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, SubscriptionRef } from "effect"
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

describe("Servers of 2026-07-28", () => {
  it.effect(
    "A stateless server is detected by a probe and gets no handshake",
    () =>
      Effect.gen(function* () {
        const clientInfo = { name: "tester", version: "2.0.0" }
        const { client, server } = yield* Modern.connected({ instructions: "Be kind" }, { clientInfo })
        yield* quiesce
        assert.deepStrictEqual(Modern.methods(server), ["server/discover"])
        const [probe] = server.requests("server/discover")
        assert.deepStrictEqual(probe?.params, {
          _meta: {
            [Meta.protocolVersion]: "2026-07-28",
            [Meta.clientInfo]: clientInfo,
            [Meta.clientCapabilities]: { extensions: Modern.tasks }
          }
        })
        assert.strictEqual(client.revision.version, "2026-07-28")
        assert.deepStrictEqual(client.serverInfo, Scripted.info)
        assert.deepStrictEqual(client.serverCapabilities, Scripted.everything)
        assert.strictEqual(client.instructions, "Be kind")
      }),
    verifies("stdio.compatibility.probes", "stdio.compatibility.probes-modern")
  )

  it.effect("A stateless server can omit its name and version in its probe answer", () =>
    Effect.gen(function* () {
      const { _meta: _, ...anonymous } = Modern.discovered() as { readonly _meta?: unknown }
      const { client } = yield* Modern.connected({ answers: { "server/discover": () => anonymous } })
      assert.strictEqual(client.serverInfo.name, "unknown")
    })
  )

  it.effect("The probe only declares capabilities defined by its revision", () =>
    Effect.gen(function* () {
      const ref = yield* SubscriptionRef.make<ReadonlyArray<{ readonly uri: string }>>([{ uri: "file:///a" }])
      const { server } = yield* Modern.connected().pipe(Effect.provide(Roots.layerRef(ref)))
      const [probe] = server.requests("server/discover")
      assert.deepStrictEqual(Modern.declared(probe, Meta.clientCapabilities), { roots: {}, extensions: Modern.tasks })
      yield* SubscriptionRef.set(ref, [])
      yield* quiesce
      assert.deepStrictEqual(Modern.methods(server), ["server/discover"])
    })
  )

  it.effect("A slow server gets the probe and the handshake, and its probe answer wins", () =>
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
      yield* quiesce
      assert.deepStrictEqual(Modern.methods(server), ["server/discover", "initialize"])
      yield* Deferred.succeed(started, undefined)
      assert.strictEqual((yield* Fiber.join(fiber)).revision.version, "2026-07-28")
      yield* quiesce
      assert.deepStrictEqual(Modern.methods(server), ["server/discover", "initialize"])
    })
  )

  it.effect("The probe wins even if a slow dual-era server answers the handshake first", () =>
    Effect.gen(function* () {
      const server = yield* legacy(() => Effect.as(Effect.sleep("3100 millis"), Modern.discovered()))
      const fiber = yield* connecting(server)
      yield* TestClock.adjust("3 seconds")
      yield* quiesce
      assert.strictEqual(server.requests("initialize").length, 1)
      yield* TestClock.adjust("100 millis")
      assert.strictEqual((yield* Fiber.join(fiber)).revision.version, "2026-07-28")
    })
  )

  it.effect("A server that answers only the handshake is not delayed for long", () =>
    Effect.gen(function* () {
      const server = yield* legacy(() => Effect.never)
      const fiber = yield* connecting(server)
      yield* TestClock.adjust("3 seconds")
      yield* quiesce
      yield* TestClock.adjust("300 millis")
      assert.strictEqual((yield* Fiber.join(fiber)).revision.era, "stateful")
    })
  )

  it.effect("A server can reject the handshake before it answers the probe", () =>
    Effect.gen(function* () {
      const server = yield* Modern.make({
        answers: { "server/discover": () => Effect.as(Effect.sleep("4 seconds"), Modern.discovered()) }
      })
      const fiber = yield* connecting(server)
      yield* TestClock.adjust("3 seconds")
      yield* quiesce
      assert.strictEqual(server.requests("initialize").length, 1)
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(fiber)).revision.version, "2026-07-28")
    })
  )

  it.effect("A single-revision client waits for a slow server", () =>
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

  it.effect(
    "A server that only supports later versions is reported",
    () =>
      Effect.gen(function* () {
        const server = yield* legacy(() => Modern.unsupported("2027-01-01", "2027-02-02"))
        const error = yield* Effect.flip(McpClient.connect(server.transport))
        assert.strictEqual(error._tag, "UnsupportedRevision")
        if (error._tag === "UnsupportedRevision") assert.deepStrictEqual(error.server, ["2027-01-01", "2027-02-02"])
        assert.deepStrictEqual(Modern.methods(server), ["server/discover"])
      }),
    verifies("versioning.unsupported.client-retries")
  )

  it.effect("A server that rejects the version it offers is retried only once", () =>
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

  it.effect("A server that rejects the probe with a stateless-era error gets no handshake", () =>
    Effect.gen(function* () {
      const server = yield* legacy(() => Effect.fail(McpError.missingClientCapability({ sampling: {} })))
      const error = yield* Effect.flip(McpClient.connect(server.transport))
      assert.strictEqual(error._tag === "McpError" ? error.code : error._tag, -32021)
      assert.deepStrictEqual(Modern.methods(server), ["server/discover"])
    })
  )

  it.effect("A legacy client rejects a stateless server and sends no probe", () =>
    Effect.gen(function* () {
      const server = yield* Modern.make()
      const error = yield* Effect.flip(McpClient.connect(server.transport, { revisions: ["2025-11-25"] }))
      assert.strictEqual(error._tag, "UnsupportedRevision")
      if (error._tag === "UnsupportedRevision") assert.deepStrictEqual(error.server, ["2026-07-28"])
      assert.deepStrictEqual(Modern.methods(server), ["initialize"])
    })
  )

  it.effect(
    "A stateless client answers no server request, not even an early ping",
    () =>
      Effect.gen(function* () {
        const server = yield* legacy((_, { peer }) =>
          Effect.as(Effect.forkChild(peer.request("ping"), { startImmediately: true }), Modern.discovered())
        )
        const client = yield* McpClient.connect(server.transport, { revisions: ["2026-07-28"] })
        yield* client.ping
        assert.deepStrictEqual(Modern.methods(server), ["server/discover", "server/discover"])
      }),
    verifies("stdio.client.no-responses")
  )
})
