import * as McpClient from "@effect-mcp/client/McpClient"
import * as Negotiation from "@effect-mcp/client/Negotiation"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import * as Revision from "@effect-mcp/protocol/Revision"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import { allowedStateless } from "../../src/connection/allowed.ts"
import { all, collect, connected, quiesce, versions } from "../support/connected.ts"
import * as Modern from "../support/modern.ts"
import * as Scripted from "../support/scripted.ts"

describe("Default client revisions", () => {
  const versionsOf = (revisions: ReadonlyArray<Revision.Revision>) => revisions.map(({ version }) => version)

  it("The default revisions cover both eras", () => {
    assert.deepStrictEqual(Negotiation.stateful, versionsOf(Revision.stateful))
    assert.deepStrictEqual(versionsOf(allowedStateless(undefined)), versionsOf(Revision.stateless))
    // Any version may be looked up in them.
    assert.isTrue(versionsOf(Revision.stateless).every((version) => !Negotiation.stateful.includes(version)))
  })
})

describe.each(versions)("Handshake with a %s server", (version) => {
  it.effect(
    "A client offers the newest revision and accepts the server's choice",
    () =>
      Effect.gen(function* () {
        const clientInfo = { name: "tester", version: "2.0.0" }
        const { client, server } = yield* connected({ version, instructions: "Be kind" }, { clientInfo })
        const [first] = server.heard
        assert.deepStrictEqual(first, {
          jsonrpc: "2.0",
          id: 1,
          method: "initialize",
          params: { protocolVersion: "2025-11-25", capabilities: { tasks: {} }, clientInfo }
        })
        assert.strictEqual(client.revision.version, version)
        assert.deepStrictEqual(client.serverInfo, Scripted.info)
        assert.deepStrictEqual(client.serverCapabilities, Scripted.everything)
        assert.strictEqual(client.instructions, "Be kind")
      }),
    verifies(
      "lifecycle.initialize.first",
      "lifecycle.initialize.request",
      "lifecycle.version.client-supports-offer",
      "lifecycle.version.client-offers-latest",
      "lifecycle.operation.version-respected"
    )
  )

  it.effect(
    "The initialized notification is the first message after the handshake answer",
    () =>
      Effect.gen(function* () {
        const { client, server } = yield* connected({ version })
        yield* client.ping
        assert.deepStrictEqual(
          server.heard.map((message) => ("method" in message ? message.method : "answer")),
          ["initialize", "notifications/initialized", "ping"]
        )
      }),
    verifies("lifecycle.initialized.sent", "lifecycle.client.only-ping-before-answer")
  )

  it.effect(
    "A client offers the only revision allowed by its options",
    () =>
      Effect.gen(function* () {
        const { server } = yield* connected({ version }, { revisions: [version] })
        assert.strictEqual(server.requests("initialize")[0]?.params?.protocolVersion, version)
      }),
    verifies("lifecycle.version.client-supports-offer")
  )

  it.effect("A client retries with a revision named in the rejection", () =>
    Effect.gen(function* () {
      const { client, server } = yield* connected({
        version,
        answers: {
          initialize: ({ protocolVersion }) =>
            protocolVersion === version
              ? Scripted.initializeResult({ version })
              : Effect.fail(McpError.invalidParams("Unsupported protocol version", { supported: [version] }))
        }
      })
      assert.strictEqual(client.revision.version, version)
      assert.strictEqual(server.requests("initialize").length, version === "2025-11-25" ? 1 : 2)
    })
  )
})

const failsWith = (script: Scripted.Script, options?: McpClient.Options) =>
  Effect.flip(Effect.scoped(connected(script, options)))

describe("Failed handshakes", () => {
  it.effect.each(versions)(
    "A client offering %s disconnects if the server picks an unknown revision",
    (version) =>
      Effect.gen(function* () {
        const server = yield* Scripted.make({
          answers: { initialize: () => ({ ...Scripted.initializeResult({}), protocolVersion: "1999-01-01" }) }
        })
        const scope = yield* Scope.make()
        let closed = false
        const connector = Effect.acquireRelease(Effect.succeed(server.transport), () =>
          Effect.sync(() => (closed = true))
        )
        const error = yield* Effect.flip(McpClient.open(connector, { revisions: [version] }).pipe(Scope.provide(scope)))
        assert.strictEqual(error._tag, "UnsupportedRevision")
        if (error._tag === "UnsupportedRevision") assert.deepStrictEqual(error.server, ["1999-01-01"])
        assert.isTrue(closed)
        yield* quiesce
        assert.isFalse(server.heard.some((message) => JsonRpc.isNotification(message)))
        yield* Scope.close(scope, Exit.void)
      }),
    verifies("lifecycle.version.client-disconnects", "lifecycle.error.version-mismatch")
  )

  it.effect("A failed handshake lists the server's revisions if none is shared", () =>
    Effect.gen(function* () {
      const refuse = () => Effect.fail(McpError.invalidParams("No", { supported: ["2026-07-28"] }))
      const error = yield* failsWith({ answers: { initialize: refuse } })
      assert.strictEqual(error._tag, "UnsupportedRevision")
      if (error._tag === "UnsupportedRevision") assert.deepStrictEqual(error.server, ["2026-07-28"])
    })
  )

  it.effect("A failed handshake truncates the server's revisions and strips terminal control characters", () =>
    Effect.gen(function* () {
      const supported = Array.from({ length: 1000 }, () => "\u001b]0;title\u0007")
      const refuse = () => Effect.fail(McpError.invalidParams("No", { supported }))
      const { message } = yield* failsWith({ answers: { initialize: refuse } })
      assert.include(message, String.raw`\u001b]0;title\u0007`)
      assert.isBelow(message.length, 600)
    })
  )

  it.effect("A known revision excluded by the options is rejected", () =>
    Effect.gen(function* () {
      const error = yield* failsWith({ version: "2024-11-05" }, { revisions: ["2025-06-18", "2025-11-25"] })
      assert.strictEqual(error._tag, "UnsupportedRevision")
    })
  )

  it.effect("Any other rejection of the handshake is reported", () =>
    Effect.gen(function* () {
      const error = yield* failsWith({ answers: { initialize: () => Effect.fail(McpError.internalError("No")) } })
      assert.strictEqual(error._tag, "McpError")
    })
  )

  it.effect("An incomplete handshake answer is reported", () =>
    Effect.gen(function* () {
      const error = yield* failsWith({ answers: { initialize: () => ({ protocolVersion: "2025-11-25" }) } })
      assert.strictEqual(error._tag, "InvalidResult")
    })
  )

  it.effect.each(versions)(
    "A %s handshake without an answer times out without a cancellation",
    (version) =>
      Effect.gen(function* () {
        const server = yield* Scripted.make({ answers: { initialize: () => Effect.never } })
        const fiber = yield* Effect.forkChild(
          Effect.flip(Effect.scoped(McpClient.connect(server.transport, { revisions: [version] })))
        )
        yield* TestClock.adjust("60 seconds")
        assert.strictEqual((yield* Fiber.join(fiber))._tag, "Timeout")
        yield* quiesce
        assert.isFalse(server.heard.some(JsonRpc.isNotification))
      }),
    verifies("cancellation.initialize-not-cancelled", "lifecycle.error.timeout")
  )
})

it.effect.each(all)(
  "Icons that must not be shown are removed over %s",
  (version) =>
    Effect.gen(function* () {
      const icons = [{ src: "javascript:alert(1)" }, { src: "https://example.com/i.png" }, { src: "http://x/i.png" }]
      const safe = [{ src: "https://example.com/i.png" }]
      const serverInfo = { ...Scripted.info, icons }
      const { client } = yield* connected({
        version,
        answers: {
          initialize: () => ({ ...Scripted.initializeResult({ version }), serverInfo }),
          "server/discover": () => ({ ...Modern.discovered(), _meta: { [Meta.serverInfo]: serverInfo } }),
          "tools/list": () => ({ tools: [{ name: "t", inputSchema: { type: "object" }, icons }] })
        }
      })
      const [tool] = yield* collect(client.listTools)
      assert.deepStrictEqual(client.serverInfo.icons, safe)
      assert.deepStrictEqual(tool?.icons, safe)
    }),
  verifies("icons.uri.unsafe-rejected")
)
