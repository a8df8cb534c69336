/** The messages between a host and a view. */
import { App } from "@effect-mcp/apps"
import * as AppHost from "@effect-mcp/apps/AppHost"
import { Consent } from "@effect-mcp/client"
import { Resources, Tool, Tools } from "@effect-mcp/core"
import { verifies } from "@effect-mcp/spec/verifies"
import { quiesce } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { type Cause, Deferred, Effect, Exit, Fiber, Layer, Queue, Schema, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { hostOf, openWire } from "../support/wire.ts"

const html = "<!doctype html><title>Dice</title>"
const Dice = Tool.make("dice", {
  description: "Rolls a die",
  input: { count: Schema.optionalKey(Schema.Int) },
  output: { eyes: Schema.Int }
})
const Save = Tool.make("save", { description: "Saves" })
const Secret = Tool.make("secret", { description: "For the model only" })
const features = Layer.mergeAll(
  Tools.layer(Dice, ({ count = 4 }) => Effect.succeed({ eyes: count })),
  App.layer(Dice, { html, csp: { connectDomains: ["https://api.example.com"] }, prefersBorder: true }),
  Tools.layer(Save, () => Effect.succeed("Saved")),
  App.layerForViews(Save),
  Tools.layer(Secret, () => Effect.succeed("secret")),
  App.layer(Secret, { html, callableByViews: false }),
  Resources.layer({ uri: "notes://1", name: "Note" }, Effect.succeed("A note"))
)

const methods = (received: ReadonlyArray<{ readonly [field: string]: any }>): ReadonlyArray<string> =>
  received.flatMap(({ method }) => (typeof method === "string" ? [method] : []))

const result = { content: [{ type: "text" as const, text: "4" }], structuredContent: { eyes: 4 } }

/** The host of a server whose tool `slow` never ends, and a signal that its call was interrupted. */
const hostOfSlow = Effect.gen(function* () {
  const interrupted = yield* Deferred.make<void>()
  const Slow = Tool.make("slow", { description: "Never ends" })
  const slow = Tools.layer(Slow, () => Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined)))
  const { host } = yield* hostOf(slow)
  return { host, interrupted }
})

describe("Lifecycle", () => {
  it.effect(
    "Nothing is sent before the view is initialized, and the arguments come before the result",
    () =>
      Effect.gen(function* () {
        const { host } = yield* hostOf(features)
        const { initialize, received, send, session } = yield* openWire(host)
        yield* session.sendPartialInput({ count: 1 })
        yield* session.sendPartialInput({ count: 12 })
        yield* session.changeContext({ theme: "dark" })
        yield* session.sendResult(result)
        yield* session.sendPartialInput({ count: 123 })
        assert.deepStrictEqual(received, [])
        const { result: initialized } = yield* initialize()
        assert.strictEqual(initialized.hostContext.theme, "dark")
        yield* session.changeContext({ locale: "de" })
        yield* session.changeContext({ theme: "light" })
        assert.strictEqual(received.length, 1)
        yield* send({ method: "ui/notifications/initialized" })
        assert.deepStrictEqual(received.slice(1), [
          { jsonrpc: "2.0", method: "ui/notifications/tool-input", params: { arguments: {} } },
          { jsonrpc: "2.0", method: "ui/notifications/tool-result", params: result },
          { jsonrpc: "2.0", method: "ui/notifications/host-context-changed", params: { locale: "de", theme: "light" } }
        ])
        yield* session.ready
      }).pipe(Effect.scoped),
    verifies("apps.initialized.first", "apps.input.sent", "apps.input.partial", "apps.result.sent")
  )

  it.effect("A result never arrives before the arguments on a slow wire", () =>
    Effect.gen(function* () {
      const { host } = yield* hostOf(features)
      const incoming = yield* Queue.unbounded<string, Cause.Done>()
      const sent: Array<string> = []
      const send = (text: string) =>
        Effect.andThen(
          text.includes("tool-input") ? Effect.sleep("1 second") : Effect.void,
          Effect.sync(() => void sent.push(JSON.parse(text).method))
        )
      const session = yield* host.open({ uri: "ui://dice", wire: { incoming: Stream.fromQueue(incoming), send } })
      // Otherwise, the end of the test would wait for the view to answer.
      yield* Effect.addFinalizer(() => Effect.andThen(Queue.end(incoming), quiesce))
      yield* session.sendInput({})
      const params = { protocolVersion: "2026-01-26", appInfo: { name: "view", version: "1" }, appCapabilities: {} }
      yield* Queue.offer(incoming, JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ui/initialize", params }))
      yield* Queue.offer(incoming, JSON.stringify({ jsonrpc: "2.0", method: "ui/notifications/initialized" }))
      yield* quiesce
      yield* session.sendResult(result)
      yield* TestClock.adjust("1 second")
      yield* session.ready
      assert.deepStrictEqual(sent.slice(1), ["ui/notifications/tool-input", "ui/notifications/tool-result"])
    }).pipe(Effect.scoped)
  )

  it.effect(
    "A cancelled call is reported with its reason",
    () =>
      Effect.gen(function* () {
        const { host } = yield* hostOf(features)
        const { received, session, start } = yield* openWire(host)
        yield* start()
        yield* session.sendCancelled("The user stopped it")
        assert.deepStrictEqual(received.at(-1)?.["params"], { reason: "The user stopped it" })
        assert.deepStrictEqual(methods(received), ["ui/notifications/tool-cancelled"])
      }).pipe(Effect.scoped),
    verifies("apps.cancelled.sent")
  )

  it.effect(
    "Closing the scope asks the view to prepare, and waits for its answer",
    () =>
      Effect.gen(function* () {
        const { host } = yield* hostOf(features)
        const scope = yield* Scope.make()
        const { received, send, start } = yield* Scope.provide(openWire(host, { closes: false }), scope)
        yield* start()
        const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
        yield* quiesce
        const { id, method } = received.at(-1) ?? {}
        assert.strictEqual(method, "ui/resource-teardown")
        assert.isUndefined(closing.pollUnsafe())
        yield* send({ id, result: {} })
        yield* Fiber.join(closing)
      }).pipe(Effect.scoped),
    verifies("apps.teardown.sent")
  )

  it.effect("A view that does not answer is removed after a second", () =>
    Effect.gen(function* () {
      const { host } = yield* hostOf(features)
      const scope = yield* Scope.make()
      const { start } = yield* Scope.provide(openWire(host, { closes: false }), scope)
      yield* start()
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      yield* quiesce
      assert.isUndefined(closing.pollUnsafe())
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(closing)
    }).pipe(Effect.scoped)
  )

  it.effect(
    "A view that asks to be removed can prepare first",
    () =>
      Effect.gen(function* () {
        const { host } = yield* hostOf(features)
        const scope = yield* Scope.make()
        const { received, send, session, start } = yield* Scope.provide(openWire(host, { closes: false }), scope)
        yield* start()
        yield* send({ method: "ui/notifications/request-teardown" })
        assert.strictEqual(yield* session.ended, "The view asked to be removed")
        const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
        yield* quiesce
        const { id, method } = received.at(-1) ?? {}
        assert.strictEqual(method, "ui/resource-teardown")
        yield* send({ id, result: {} })
        yield* Fiber.join(closing)
      }).pipe(Effect.scoped),
    verifies("apps.teardown.requested")
  )

  it.effect("Closing the connection ends the session and its calls", () =>
    Effect.gen(function* () {
      const { host, interrupted } = yield* hostOfSlow
      const { ask, close, session, start } = yield* openWire(host)
      yield* start()
      yield* ask("tools/call", { name: "slow" })
      yield* close
      assert.strictEqual(yield* session.ended, "The view was closed")
      yield* Deferred.await(interrupted)
    }).pipe(Effect.scoped)
  )
})

describe("Tools and resources", () => {
  it.effect(
    "A view calls the tools that are visible to it, and no others",
    () =>
      Effect.gen(function* () {
        const { host } = yield* hostOf(features)
        const { ask, start } = yield* openWire(host)
        yield* start()
        const called = yield* ask("tools/call", { name: "dice", arguments: { count: 6 } })
        assert.deepStrictEqual(called.result.structuredContent, { eyes: 6 })
        const saved = yield* ask("tools/call", { name: "save" })
        assert.deepStrictEqual(saved.result.content, [{ type: "text", text: "Saved" }])
        const secret = yield* ask("tools/call", { name: "secret" })
        assert.strictEqual(secret.error.message, "Views may not call the tool secret")
        const unknown = yield* ask("tools/call", { name: "rm" })
        assert.strictEqual(unknown.error.code, -32602)
        const listed = yield* ask("tools/list")
        assert.deepStrictEqual(
          listed.result.tools.map(({ name }: { name: string }) => name),
          ["dice", "save"]
        )
      }).pipe(Effect.scoped),
    verifies("apps.visibility.app", "apps.negotiation.mime-types")
  )

  it.effect(
    "The model's tool list leaves out tools for views",
    () =>
      Effect.gen(function* () {
        const { host } = yield* hostOf(features)
        assert.deepStrictEqual(
          (yield* host.modelTools).map(({ name }) => name),
          ["dice", "secret"]
        )
      }).pipe(Effect.scoped),
    verifies("apps.visibility.model")
  )

  it.effect("A tool that is added later can be called", () =>
    Effect.gen(function* () {
      const added =
        yield* Deferred.make<(layer: Layer.Layer<never, never, Tools.ToolRegistry>) => Effect.Effect<void>>()
      const dynamic = Layer.effectDiscard(
        Effect.gen(function* () {
          const context = yield* Effect.context<Tools.ToolRegistry>()
          const scope = yield* Effect.scope
          yield* Deferred.succeed(added, (layer) =>
            Effect.asVoid(Effect.provideContext(Layer.buildWithScope(layer, scope), context))
          )
        })
      )
      const { host } = yield* hostOf(Layer.merge(features, dynamic))
      const { ask, received, start } = yield* openWire(host)
      yield* start()
      yield* ask("tools/list")
      const Late = Tool.make("late", { description: "Is late" })
      yield* (yield* Deferred.await(added))(Tools.layer(Late, () => Effect.succeed("Late")))
      yield* quiesce
      assert.include(methods(received), "notifications/tools/list_changed")
      assert.isDefined((yield* ask("tools/call", { name: "late" })).result)
    }).pipe(Effect.scoped)
  )

  it.effect("A view reads and lists its server's resources", () =>
    Effect.gen(function* () {
      const { host } = yield* hostOf(features)
      const { ask, start } = yield* openWire(host)
      yield* start()
      const read = yield* ask("resources/read", { uri: "notes://1" })
      assert.strictEqual(read.result.contents[0].text, "A note")
      assert.isDefined((yield* ask("resources/read", { uri: "notes://2" })).error)
      assert.strictEqual((yield* ask("resources/list")).result.resources.length, 3)
    }).pipe(Effect.scoped)
  )

  it.effect("Cancelling a request interrupts its call without an answer", () =>
    Effect.gen(function* () {
      const { host, interrupted } = yield* hostOfSlow
      const { received, send, start } = yield* openWire(host)
      yield* start()
      yield* send({ id: "a", method: "tools/call", params: { name: "slow" } })
      yield* send({ method: "notifications/cancelled", params: { requestId: "a" } })
      yield* Deferred.await(interrupted)
      assert.isUndefined(received.find(({ id }) => id === "a"))
    }).pipe(Effect.scoped)
  )
})

describe("Consent", () => {
  const asked = (allow: boolean) => {
    const actions: Array<Consent.Action> = []
    const policy = Consent.layer({ ask: (action) => Effect.sync(() => (actions.push(action), allow)) })
    return { actions, policy }
  }

  it.effect("The policy sees which view calls a tool and can reject the call", () =>
    Effect.gen(function* () {
      const { actions, policy } = asked(false)
      const { host } = yield* Effect.provide(hostOf(features), policy)
      const { ask, start } = yield* openWire(host)
      yield* start()
      const refused = yield* ask("tools/call", { name: "dice", arguments: { count: 1 } })
      assert.deepStrictEqual(refused.error, {
        code: -32000,
        message: "The user or the host's policy denied the request"
      })
      const [action] = actions
      assert.strictEqual(action?._tag, "CallTool")
      assert.strictEqual(action?._tag === "CallTool" ? action.view : undefined, "ui://dice")
    }).pipe(Effect.scoped)
  )

  it.effect("Links, messages and files reach the host only with consent", () =>
    Effect.gen(function* () {
      for (const allow of [false, true]) {
        const { actions, policy } = asked(allow)
        const done: Array<string> = []
        const { host } = yield* Effect.provide(
          hostOf(features, {
            openLink: (url) => Effect.sync(() => void done.push(url)),
            sendMessage: (content) => Effect.sync(() => void done.push(JSON.stringify(content))),
            download: ({ data, name }) => Effect.sync(() => void done.push(`${name} ${data.length}`))
          }),
          policy
        )
        const { ask, start } = yield* openWire(host)
        yield* start()
        const answers = [
          yield* ask("ui/open-link", { url: "https://example.com/a" }),
          yield* ask("ui/message", { role: "user", content: { type: "text", text: "Hello" } }),
          yield* ask("ui/download-file", {
            contents: [{ type: "resource", resource: { uri: "file:///a/..%2F..%2F.ssh%2Fkeys", text: "abc" } }]
          })
        ]
        for (const answer of answers) assert.strictEqual(answer["error"] === undefined, allow)
        assert.deepStrictEqual(
          actions.map(({ _tag }) => _tag),
          ["OpenLink", "SendMessage", "Download"]
        )
        assert.deepStrictEqual(
          done,
          allow ? ["https://example.com/a", '[{"type":"text","text":"Hello"}]', "_.._.ssh_keys 3"] : []
        )
      }
    }).pipe(Effect.scoped)
  )

  it.effect("A host without a policy opens no links", () =>
    Effect.gen(function* () {
      const opened: Array<string> = []
      const { client } = yield* hostOf(features)
      const host = yield* AppHost.make(client, { openLink: (url) => Effect.sync(() => void opened.push(url)) })
      const { ask, start } = yield* openWire(host)
      yield* start()
      assert.strictEqual((yield* ask("ui/open-link", { url: "https://example.com" })).error?.code, -32000)
      assert.deepStrictEqual(opened, [])
    }).pipe(Effect.scoped)
  )

  it.effect("A download with too many files, or with links, is rejected", () =>
    Effect.gen(function* () {
      const { actions, policy } = asked(true)
      const { host } = yield* Effect.provide(hostOf(features, { download: () => Effect.void }), policy)
      const { ask, start } = yield* openWire(host)
      yield* start()
      const file = { type: "resource", resource: { uri: "file:///a", text: "ä€" } }
      const link = { type: "resource_link", uri: "file:///b", name: "b" }
      const many = yield* ask("ui/download-file", { contents: Array.from({ length: 17 }, () => file) })
      assert.strictEqual(many.error?.message, "At most 16 files can be saved at once")
      const linked = yield* ask("ui/download-file", { contents: [file, link] })
      assert.strictEqual(linked.error?.message, "Only embedded files can be saved")
      assert.deepStrictEqual(actions, [])
      yield* ask("ui/download-file", { contents: [file] })
      assert.deepStrictEqual(
        actions.map((action) => (action._tag === "Download" ? action.bytes : undefined)),
        [5]
      )
    }).pipe(Effect.scoped)
  )

  it.effect("Only http and https links are opened, and unhandled abilities are rejected", () =>
    Effect.gen(function* () {
      const opened: Array<string> = []
      const { host } = yield* hostOf(features, { openLink: (url) => Effect.sync(() => void opened.push(url)) })
      const { ask, initialize, start } = yield* openWire(host)
      yield* start()
      for (const url of [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "data:text/html,x",
        "vscode://x",
        "//example.com",
        "",
        "https://"
      ]) {
        assert.isDefined((yield* ask("ui/open-link", { url })).error)
      }
      assert.deepStrictEqual(opened, [])
      const { result } = yield* initialize()
      assert.deepStrictEqual(Object.keys(result.hostCapabilities), ["serverTools", "serverResources", "openLinks"])
      const message = yield* ask("ui/message", { role: "user", content: [] })
      assert.strictEqual(message.error.message, "This host cannot receive messages")
    }).pipe(Effect.scoped)
  )

  it.effect("New context for the model replaces the old one and has a limit", () =>
    Effect.gen(function* () {
      const contexts: Array<unknown> = []
      const { host } = yield* hostOf(features, {
        updateModelContext: (context) => Effect.sync(() => void contexts.push(context)),
        limits: { modelContextLength: 100 }
      })
      const { ask, start } = yield* openWire(host)
      yield* start()
      yield* ask("ui/update-model-context", { structuredContent: { page: 1 } })
      const long = yield* ask("ui/update-model-context", { content: [{ type: "text", text: "x".repeat(100) }] })
      assert.strictEqual(long.error.message, "The context is longer than 100 characters")
      assert.deepStrictEqual(contexts, [{ structuredContent: { page: 1 } }])
    }).pipe(Effect.scoped)
  )

  it.effect("A handler that throws, fails or returns a promise is reported without details", () =>
    Effect.gen(function* () {
      const handlers: ReadonlyArray<AppHost.Options["openLink"]> = [
        () => Effect.fail("secret"),
        () => Effect.die(new Error("secret")),
        () => {
          throw new Error("secret")
        },
        // @ts-expect-error -- a program in JavaScript may return a promise
        () => Promise.resolve(),
        // @ts-expect-error -- and the promise may reject, which must not end the process
        () => Promise.reject(new Error("secret"))
      ]
      for (const openLink of handlers) {
        const { host } = yield* hostOf(features, { openLink })
        const { ask, start } = yield* openWire(host)
        yield* start()
        const { error } = yield* ask("ui/open-link", { url: "https://example.com" })
        assert.deepStrictEqual(error, { code: -32603, message: "The host failed to handle the request" })
      }
    }).pipe(Effect.scoped)
  )
})

describe("Display modes and size", () => {
  it.effect(
    "A display mode must be declared by both the view and the host",
    () =>
      Effect.gen(function* () {
        const changed: Array<string> = []
        const { host } = yield* hostOf(features, {
          context: { availableDisplayModes: ["inline", "fullscreen", "pip"] },
          changeMode: (mode) => Effect.sync(() => (changed.push(mode), mode))
        })
        const { ask, received, start } = yield* openWire(host)
        yield* start({ availableDisplayModes: ["inline", "fullscreen"] })
        assert.deepStrictEqual((yield* ask("ui/request-display-mode", { mode: "pip" })).result, { mode: "inline" })
        assert.deepStrictEqual((yield* ask("ui/request-display-mode", { mode: "fullscreen" })).result, {
          mode: "fullscreen"
        })
        assert.deepStrictEqual((yield* ask("ui/request-display-mode", { mode: "pip" })).result, { mode: "fullscreen" })
        assert.deepStrictEqual(changed, ["fullscreen"])
        const changes = received.filter(({ method }) => method === "ui/notifications/host-context-changed")
        assert.deepStrictEqual(
          changes.map(({ params }) => params),
          [{ displayMode: "fullscreen" }]
        )
      }).pipe(Effect.scoped),
    verifies("apps.mode.undeclared", "apps.mode.result")
  )

  it.effect("Sizes and log messages reach the host only if they are well-formed", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const { host } = yield* hostOf(features, {
        resized: (size) => Effect.sync(() => void seen.push(size)),
        logged: (message) => Effect.sync(() => void seen.push(message))
      })
      const { send, start } = yield* openWire(host)
      yield* start()
      for (const params of [{ height: -1 }, { height: 1e9 }, { height: "10" }, { width: 10, height: 20 }]) {
        yield* send({ method: "ui/notifications/size-changed", params })
      }
      yield* send({ method: "notifications/message", params: { level: "loud", data: 1 } })
      yield* send({ method: "notifications/message", params: { level: "info", data: 1 } })
      assert.deepStrictEqual(seen, [
        { width: 10, height: 20 },
        { level: "info", data: 1 }
      ])
    }).pipe(Effect.scoped)
  )
})

describe("Bounds", () => {
  it.effect("A message that is too long ends the view", () =>
    Effect.gen(function* () {
      const { host } = yield* hostOf(features, { limits: { messageLength: 100 } })
      const { session, write } = yield* openWire(host)
      yield* write("x".repeat(101))
      assert.strictEqual(yield* session.ended, "The view sent a message that is too long: 101 characters, limit 100")
    }).pipe(Effect.scoped)
  )

  it.effect("Requests over the rate limit are rejected, and a persistent view is closed", () =>
    Effect.gen(function* () {
      const { host } = yield* hostOf(features, { limits: { messagesPerSecond: 5 } })
      const { ask, send, session, start } = yield* openWire(host)
      yield* start()
      for (let i = 0; i < 8; i++) assert.isUndefined((yield* ask("ping")).error)
      assert.strictEqual((yield* ask("ping")).error.message, "Too many messages")
      yield* TestClock.adjust("1 second")
      for (let i = 0; i < 5; i++) assert.isUndefined((yield* ask("ping")).error)
      for (let i = 0; i < 60; i++) yield* send({ method: "ui/notifications/size-changed", params: {} })
      assert.strictEqual(yield* session.ended, "The view sent too many messages")
    }).pipe(Effect.scoped)
  )

  it.effect("Too many in-flight requests and reused ids are rejected", () =>
    Effect.gen(function* () {
      const Slow = Tool.make("slow", { description: "Never ends" })
      const { host } = yield* hostOf(
        Tools.layer(Slow, () => Effect.never),
        { limits: { requests: 3 } }
      )
      const { ask, received, send, start } = yield* openWire(host)
      yield* start()
      for (const id of [10, 11, 12]) yield* send({ id, method: "tools/call", params: { name: "slow" } })
      assert.strictEqual((yield* ask("ping")).error.message, "Too many requests are in progress")
      yield* send({ id: 10, method: "ping" })
      assert.strictEqual(received.at(-1)?.["error"].message, "A request with this id is already in progress")
    }).pipe(Effect.scoped)
  )

  it.effect("Messages that are not JSON-RPC are ignored", () =>
    Effect.gen(function* () {
      const refused: Array<string | undefined> = []
      const { host } = yield* hostOf(features, { observe: (passed) => void refused.push(passed.refused) })
      const { ask, received, start, write } = yield* openWire(host)
      yield* start()
      const before = received.length
      for (const text of [
        "",
        "{",
        "null",
        "[]",
        "1",
        '"a"',
        '{"jsonrpc":"1.0","method":"ping","id":1}',
        '{"__proto__":{"method":"ping"}}',
        `{"jsonrpc":"2.0","method":"ping","id":1,"params":${"[".repeat(256)}${"]".repeat(256)}}`
      ]) {
        yield* write(text)
      }
      yield* write('{"jsonrpc":"2.0","method":"ping","id":{}}')
      yield* write('{"jsonrpc":"2.0","method":7,"id":1}')
      yield* write('{"jsonrpc":"2.0","id":"nobody","result":{}}')
      assert.strictEqual(received.length, before)
      assert.strictEqual(refused.filter((why) => why === "not a JSON-RPC message").length, 9)
      assert.isDefined((yield* ask("ping")).result)
      assert.strictEqual((yield* ask("ui/unknown")).error.code, -32601)
      assert.strictEqual((yield* ask("tools/call", { name: 7 })).error.code, -32602)
    }).pipe(Effect.scoped)
  )

  it.effect("A view must initialize before it sends other requests", () =>
    Effect.gen(function* () {
      const { host } = yield* hostOf(features)
      const { ask } = yield* openWire(host)
      assert.strictEqual(
        (yield* ask("tools/call", { name: "dice" })).error.message,
        "The view must send ui/initialize first"
      )
      assert.isDefined((yield* ask("ping")).result)
    }).pipe(Effect.scoped)
  )
})

describe("Pages", () => {
  it.effect(
    "A page has the metadata from its contents, or else from the list",
    () =>
      Effect.gen(function* () {
        const uri = "ui://listed"
        const mimeType = "text/html;profile=mcp-app"
        const listed = Resources.layer(
          { uri, name: "Listed", mimeType, meta: { ui: { prefersBorder: true } } },
          Effect.succeed([{ uri, mimeType: "text/html; profile=mcp-app", blob: btoa(html) }])
        )
        const { client, host } = yield* hostOf(Layer.merge(features, listed))
        assert.deepStrictEqual(yield* host.read(uri), { uri, html, prefersBorder: true })
        const tool = (yield* host.modelTools)[0]
        assert.isDefined(tool)
        const view = yield* host.read(tool ?? "")
        assert.deepStrictEqual(view, {
          uri: "ui://dice",
          html,
          prefersBorder: true,
          csp: { connectDomains: ["https://api.example.com"], resourceDomains: [] }
        })
        assert.isDefined(client)
      }).pipe(Effect.scoped),
    verifies("apps.metadata.locations", "apps.tool.read")
  )

  it.effect("A page with another type, without a view or too long is rejected", () =>
    Effect.gen(function* () {
      const plain = (uri: string, mimeType: string, text: string) =>
        Resources.layer({ uri, name: uri, mimeType }, Effect.succeed(text))
      const { host } = yield* hostOf(
        Layer.mergeAll(
          plain("ui://plain", "text/html", html),
          plain("ui://long", "text/html;profile=mcp-app", "x".repeat(101)),
          plain("http://evil/", "text/html;profile=mcp-app", html)
        ),
        { limits: { htmlLength: 100 } }
      )
      const reasons = yield* Effect.forEach(["ui://plain", "ui://long", "http://evil/", "ui://none"], (uri) =>
        Effect.map(Effect.flip(host.read(uri)), ({ message }) => message)
      )
      assert.deepStrictEqual(reasons.slice(0, 3), [
        "The server has no resource of type text/html;profile=mcp-app at ui://plain",
        "The view ui://long is too large: 101 characters, limit 100",
        "The URI of a view must start with ui://: http://evil/"
      ])
    }).pipe(Effect.scoped)
  )
})
