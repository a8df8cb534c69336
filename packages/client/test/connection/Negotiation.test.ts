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

describe("The revisions that a client speaks unless told otherwise", () => {
  const versionsOf = (revisions: ReadonlyArray<Revision.Revision>) => revisions.map(({ version }) => version)

  it("They are those of the protocol, of both eras", () => {
    assert.deepStrictEqual(Negotiation.stateful, versionsOf(Revision.stateful))
    assert.deepStrictEqual(versionsOf(allowedStateless(undefined)), versionsOf(Revision.stateless))
    // Any version may be looked for among them.
    assert.isTrue(versionsOf(Revision.stateless).every((version) => !Negotiation.stateful.includes(version)))
  })
})

describe.each(versions)("The handshake with a server of %s", (version) => {
  it.effect(
    "A client offers the newest revision with its name and version, and takes the revision that the server picks",
    () =>
      Effect.gen(function* () {
        const clientInfo = { name: "tester", version: "2.0.0" }
        const { client, server } = yield* connected({ version, instructions: "Be kind" }, { clientInfo })
        const [first] = server.heard
        assert.deepStrictEqual(first, {
          jsonrpc: "2.0",
          id: 1,
          method: "initialize",
          params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo }
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
    "A client says that it is initialized after the answer, and nothing before",
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
    "A client offers the only revision that its options allow",
    () =>
      Effect.gen(function* () {
        const { server } = yield* connected({ version }, { revisions: [version] })
        assert.strictEqual(server.requests("initialize")[0]?.params?.protocolVersion, version)
      }),
    verifies("lifecycle.version.client-supports-offer")
  )

  it.effect("A client tries again with a revision that the refusal names", () =>
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

describe("A handshake that fails", () => {
  it.effect.each(versions)(
    "A client that offers %s ends the connection when the server picks a revision that is unknown",
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

  it.effect("A failed handshake names the server's revisions when there is none in common", () =>
    Effect.gen(function* () {
      const refuse = () => Effect.fail(McpError.invalidParams("No", { supported: ["2026-07-28"] }))
      const error = yield* failsWith({ answers: { initialize: refuse } })
      assert.strictEqual(error._tag, "UnsupportedRevision")
      if (error._tag === "UnsupportedRevision") assert.deepStrictEqual(error.server, ["2026-07-28"])
    })
  )

  it.effect(
    "A failed handshake shows the beginning of the server's revisions, without characters that steer a terminal",
    () =>
      Effect.gen(function* () {
        const supported = Array.from({ length: 1000 }, () => "\u001b]0;title\u0007")
        const refuse = () => Effect.fail(McpError.invalidParams("No", { supported }))
        const { message } = yield* failsWith({ answers: { initialize: refuse } })
        assert.include(message, String.raw`\u001b]0;title\u0007`)
        assert.isBelow(message.length, 600)
      })
  )

  it.effect("A client refuses a revision that the options exclude although it is known", () =>
    Effect.gen(function* () {
      const error = yield* failsWith({ version: "2024-11-05" }, { revisions: ["2025-06-18", "2025-11-25"] })
      assert.strictEqual(error._tag, "UnsupportedRevision")
    })
  )

  it.effect("A client passes on any other refusal of the handshake", () =>
    Effect.gen(function* () {
      const error = yield* failsWith({ answers: { initialize: () => Effect.fail(McpError.internalError("No")) } })
      assert.strictEqual(error._tag, "McpError")
    })
  )

  it.effect("A client reports an incomplete answer to the handshake", () =>
    Effect.gen(function* () {
      const error = yield* failsWith({ answers: { initialize: () => ({ protocolVersion: "2025-11-25" }) } })
      assert.strictEqual(error._tag, "InvalidResult")
    })
  )

  it.effect.each(versions)(
    "A handshake of %s without an answer times out without a cancellation",
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
  "A client takes out the icons that must not be shown, over %s",
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
