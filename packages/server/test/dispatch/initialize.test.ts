/**
 * The handshake: which revision is negotiated, what is recorded about the client, and what may happen before the handshake completes.
 */
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as Prompt from "@effect-mcp/core/Prompt"
import * as Prompts from "@effect-mcp/core/Prompts"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import * as Resources from "@effect-mcp/core/Resources"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import { listKinds } from "@effect-mcp/protocol/MethodInfo"
import * as Revision from "@effect-mcp/protocol/Revision"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Latch, Layer, Schema, Scope, Stream } from "effect"
import { connect, everyVersion, serve, session, quiesce, versions } from "../support/raw.ts"

const Echo = Tool.make("echo", { description: "Says what it hears" })
const echo = Tools.layer(Echo, () => Effect.succeed("echo"))
const Ask = Tool.make("ask", { description: "Asks the user" })
const ask = Tools.layer(Ask, () => Effect.as(Elicitation.confirm("Sure?"), "yes"))
const menu = Resources.layer({ uri: "menu://today", name: "menu" }, Effect.succeed("soup"))
const watched = Resources.layer({ uri: "menu://now", name: "now" }, Effect.succeed("soup"), Stream.never)
const greet = Prompts.layer(Prompt.make("greet"), () => Effect.succeed("hi"))

const initialize = (protocolVersion: unknown, more: object = {}) => ({
  protocolVersion,
  capabilities: {},
  clientInfo: { name: "raw", version: "0" },
  ...more
})

describe("Version negotiation", () => {
  for (const version of versions()) {
    it.effect(
      `initialize in ${version} returns that version, the capabilities and the server info`,
      () =>
        Effect.gen(function* () {
          const client = yield* session(echo, { version })
          assert.strictEqual(client.initialized.protocolVersion, version)
          assert.deepStrictEqual(client.initialized.serverInfo, { name: "test", version: "1.2.3" })
          assert.deepStrictEqual(client.initialized.capabilities.tools, { listChanged: true })
        }),
      verifies("lifecycle.version.server-echoes-supported", "lifecycle.initialize.response", "lifecycle.base.supported")
    )
  }

  for (const newest of versions()) {
    it.effect(
      `An unknown version falls back to ${newest}, the server's newest session revision`,
      () =>
        Effect.gen(function* () {
          const revisions = [...versions("2024-11-05", newest), "2026-07-28"] as const
          const server = yield* serve({ features: echo, revisions })
          for (const offered of ["1999-01-01", "2026-07-28", "2099-01-01", ""]) {
            const client = yield* connect(server, { handshake: false })
            const initialized = yield* client.request("initialize", initialize(offered))
            assert.strictEqual(initialized.protocolVersion, newest)
          }
        }),
      verifies(
        "lifecycle.version.server-answers-other",
        "lifecycle.version.server-answers-latest",
        "lifecycle.error.version-mismatch"
      )
    )
  }

  for (const version of versions()) {
    it.effect(
      `A ${version} session never receives a newer field from a server of all revisions`,
      () =>
        Effect.gen(function* () {
          let spoken: string | undefined
          const Sum = Tool.make("sum", {
            description: "",
            title: "Sum",
            annotations: { readOnlyHint: true },
            output: { sum: Schema.Int }
          })
          const sum = Tools.layer(Sum, () =>
            Effect.map(RequestContext, ({ revision }) => {
              spoken = revision.version
              return { sum: 4 }
            })
          )
          const client = yield* session(sum, { version })
          const [tool] = (yield* client.request("tools/list")).tools
          const result = yield* client.call("sum")
          assert.strictEqual(spoken, version)
          assert.deepStrictEqual(
            ["annotations" in tool, "title" in tool, "outputSchema" in tool, "structuredContent" in result],
            [version >= "2025-03-26", ...Array.from({ length: 3 }, () => version >= "2025-06-18")]
          )
        }),
      verifies("lifecycle.operation.version-respected")
    )
  }

  it.effect("Negotiation never picks a revision excluded by the options", () =>
    Effect.gen(function* () {
      const server = yield* serve({ features: echo, revisions: ["2024-11-05", "2025-06-18"] })
      for (const [offered, answered] of [
        ["2024-11-05", "2024-11-05"],
        ["2025-03-26", "2025-06-18"],
        ["2025-11-25", "2025-06-18"]
      ] as const) {
        const client = yield* connect(server, { version: offered })
        assert.strictEqual(client.initialized.protocolVersion, answered)
      }
    })
  )

  it.effect("A malformed handshake fails with -32602 and the next one is accepted", () =>
    Effect.gen(function* () {
      const client = yield* session(echo, { handshake: false })
      for (const params of [undefined, {}, initialize(1), initialize("2025-06-18", { clientInfo: { name: "x" } })]) {
        assert.strictEqual((yield* client.refused("initialize", params)).code, -32602)
      }
      assert.strictEqual((yield* client.refused("tools/list")).code, -32600)
      assert.strictEqual((yield* client.request("initialize", initialize("2025-06-18"))).protocolVersion, "2025-06-18")
    })
  )
})

describe("Before and after the handshake", () => {
  it.effect(
    "Every request except ping and initialize fails with -32600 before the handshake",
    () =>
      Effect.gen(function* () {
        const client = yield* session(echo, { handshake: false })
        assert.deepStrictEqual(yield* client.request("ping"), {})
        for (const method of ["tools/list", "tools/call", "resources/list", "logging/setLevel", "nonsense"]) {
          assert.strictEqual((yield* client.refused(method, {})).code, -32600)
        }
        yield* client.notify("notifications/initialized")
        assert.isFalse(client.session.initialized)
      }),
    verifies("lifecycle.initialize.first", "ping.receiver.empty-response")
  )

  for (const version of versions()) {
    it.effect(`A second initialize in ${version} is rejected and the first stays in effect`, () =>
      Effect.gen(function* () {
        const client = yield* session(echo, { version, capabilities: { sampling: {} } })
        assert.strictEqual((yield* client.refused("initialize", initialize("2025-11-25"))).code, -32600)
        assert.strictEqual(client.session.negotiated?.revision.version, version)
        assert.deepStrictEqual(client.session.negotiated?.clientCapabilities, { sampling: {} })
        assert.strictEqual((yield* client.request("tools/list")).tools.length, 1)
      })
    )
  }

  for (const version of versions("2025-06-18")) {
    it.effect(
      `A handler's question in ${version} waits for the initialized notification`,
      () =>
        Effect.gen(function* () {
          const client = yield* session(ask, {
            version,
            handshake: "answered",
            capabilities: { elicitation: {} },
            answer: () => Effect.succeed({ action: "accept", content: {} })
          })
          const call = yield* Effect.forkChild(client.call("ask"), { startImmediately: true })
          yield* quiesce
          assert.deepStrictEqual(client.asked, [])
          yield* client.notify("notifications/initialized")
          assert.strictEqual((yield* Fiber.join(call)).content[0].text, "yes")
        }),
      verifies("lifecycle.server.only-ping-and-log-before-initialized")
    )
  }

  for (const version of versions()) {
    it.effect(
      `Changes during the handshake in ${version} are announced right after initialized`,
      () =>
        Effect.gen(function* () {
          const server = yield* serve({ features: Layer.mergeAll(echo, late) })
          const client = yield* connect(server, { handshake: "answered", version })
          yield* client.call("register")
          yield* quiesce
          assert.strictEqual(client.received.filter((message) => "method" in message).length, 0)
          yield* client.notify("notifications/initialized")
          assert.strictEqual(client.notes("notifications/tools/list_changed").length, 1)
        }),
      verifies("lifecycle.server.only-ping-and-log-before-initialized")
    )
  }
})

/** A tool that registers another tool for the lifetime of the server. */
const late = Layer.effectDiscard(
  Effect.gen(function* () {
    const registry = yield* Tools.ToolRegistry
    const scope = yield* Effect.scope
    const extra = {
      tool: { name: "extra", inputSchema: { type: "object" as const } },
      call: () => Effect.succeed({ content: [] })
    }
    yield* registry.register({
      tool: { name: "register", inputSchema: { type: "object" } },
      call: () => Effect.as(Effect.provideService(registry.register(extra), Scope.Scope, scope), { content: [] })
    })
  })
)

describe("Server description", () => {
  const everything = {
    title: "Test server",
    description: "For tests",
    websiteUrl: "https://example.com",
    icons: [{ src: "https://example.com/icon.png", mimeType: "image/png", sizes: ["48x48"] }],
    instructions: "Be kind",
    experimental: { "example.com/x": { on: true } },
    extensions: { "example.com/ext": {} }
  }
  for (const version of versions()) {
    it.effect(`The server description includes every field defined by ${version}`, () =>
      Effect.gen(function* () {
        const { initialized } = yield* session(echo, { version }, everything)
        assert.deepStrictEqual(initialized.serverInfo, {
          name: "test",
          version: "1.2.3",
          ...(version >= "2025-06-18" ? { title: "Test server" } : undefined),
          ...(version >= "2025-11-25"
            ? { description: "For tests", websiteUrl: "https://example.com", icons: everything.icons }
            : undefined)
        })
        assert.strictEqual(initialized.instructions, "Be kind")
        assert.deepStrictEqual(initialized.capabilities.experimental, everything.experimental)
        assert.deepStrictEqual(initialized.capabilities.extensions, everything.extensions)
      })
    )
  }

  it.effect("The server description omits unset instructions and declarations", () =>
    Effect.gen(function* () {
      const { initialized } = yield* session(echo)
      assert.deepStrictEqual(Object.keys(initialized).toSorted(), ["capabilities", "protocolVersion", "serverInfo"])
      assert.deepStrictEqual(Object.keys(initialized.capabilities).toSorted(), ["logging", "tools"])
    })
  )
})

describe("Capabilities", () => {
  const completing = Prompts.layer(
    Prompt.make("who", { arguments: { name: Schema.String } }),
    () => Effect.succeed("hi"),
    { complete: { name: () => Effect.succeed(["Ann"]) } }
  )

  for (const version of everyVersion()) {
    it.effect(
      `Capabilities in ${version} are derived from the server's features`,
      () =>
        Effect.gen(function* () {
          const of = (features: Layer.Layer<never, never, any>, dynamic = false) =>
            Effect.map(session(features, { version }, { dynamic }), ({ initialized }) => initialized.capabilities)
          const notifications: object = Revision.get(version)?.serverNotifications ?? {}
          const kinds = listKinds.filter((kind) => `notifications/${kind}/list_changed` in notifications)
          const completions = version >= "2025-03-26" ? { completions: {} } : undefined
          assert.deepStrictEqual(yield* of(Layer.empty), { logging: {} })
          assert.deepStrictEqual(yield* of(echo), { logging: {}, tools: { listChanged: true } })
          assert.deepStrictEqual(yield* of(menu), { logging: {}, resources: { listChanged: true } })
          assert.deepStrictEqual(yield* of(watched), { logging: {}, resources: { listChanged: true, subscribe: true } })
          assert.deepStrictEqual(yield* of(greet), { logging: {}, prompts: { listChanged: true } })
          assert.deepStrictEqual(yield* of(completing), { logging: {}, prompts: { listChanged: true }, ...completions })
          assert.deepStrictEqual(yield* of(Layer.empty, true), {
            logging: {},
            ...Object.fromEntries(kinds.map((kind) => [kind, { listChanged: true }])),
            resources: { listChanged: true, subscribe: true },
            ...completions
          })
        }),
      verifies(
        "tools.capability.declared",
        "resources.capability.declared",
        "prompts.capability.declared",
        "completion.capability.declared",
        "logging.capability.declared"
      )
    )

    it.effect(
      `Methods of undeclared capabilities fail with -32601 in ${version}`,
      () =>
        Effect.gen(function* () {
          const tools = yield* session(echo, { version })
          for (const method of [
            "resources/list",
            "resources/templates/list",
            "resources/read",
            "resources/subscribe",
            "resources/unsubscribe",
            "prompts/list",
            "prompts/get",
            ...(version < "2026-07-28" ? ["server/discover"] : []),
            "toString",
            "__proto__"
          ]) {
            assert.strictEqual((yield* tools.refused(method, { uri: "menu://today", name: "x" })).code, -32601, method)
          }
          const reference = { ref: { type: "ref/prompt", name: "x" }, argument: { name: "a", value: "" } }
          const completion = yield* tools.refused("completion/complete", reference)
          assert.strictEqual(completion.code, version === "2024-11-05" ? -32602 : -32601)
          const resources = yield* session(menu, { version })
          assert.strictEqual((yield* resources.refused("tools/list")).code, -32601)
          assert.strictEqual((yield* resources.refused("resources/subscribe", { uri: "menu://today" })).code, -32601)
        }),
      verifies("completion.error.not-supported", "prompts.capability.respected", "lifecycle.error.missing-capability")
    )
  }

  it.effect(
    "Features added after the first handshake are neither declared nor announced",
    () =>
      Effect.gen(function* () {
        const first = yield* Latch.make(false)
        const lateMenu = Layer.effectDiscard(
          Effect.forkScoped(Effect.andThen(first.await, Effect.scoped(Effect.andThen(Layer.build(menu), Effect.never))))
        )
        const server = yield* serve({ features: Layer.merge(echo, lateMenu) })
        const one = yield* connect(server)
        yield* first.open
        yield* quiesce
        const two = yield* connect(server)
        assert.isUndefined(two.initialized.capabilities.resources)
        assert.deepStrictEqual(one.notes("notifications/resources/list_changed"), [])
        assert.strictEqual((yield* two.refused("resources/list")).code, -32601)
      }),
    verifies("lifecycle.operation.capabilities-respected")
  )
})
