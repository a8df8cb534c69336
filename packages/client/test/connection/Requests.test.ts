import * as McpClient from "@effect-mcp/client/McpClient"
import * as Sources from "@effect-mcp/client/Sources"
import { Declaration } from "@effect-mcp/client/internal/relaying"
import { ClientInput } from "@effect-mcp/core/ClientInput"
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as Progress from "@effect-mcp/core/Progress"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import * as Roots from "@effect-mcp/core/Roots"
import * as Sampling from "@effect-mcp/core/Sampling"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Stream, SubscriptionRef } from "effect"
import { TestClock } from "effect/testing"
import { quiesce } from "../support/connected.ts"
import * as Modern from "../support/modern.ts"
import * as Scripted from "../support/scripted.ts"

const cacheable = { ttlMs: 0, cacheScope: "private" }

const answers: NonNullable<Scripted.Script["answers"]> = {
  "tools/list": () => Modern.complete({ tools: [], ...cacheable }),
  "prompts/list": () => Modern.complete({ prompts: [], ...cacheable }),
  "resources/list": () => Modern.complete({ resources: [], ...cacheable }),
  "resources/templates/list": () => Modern.complete({ resourceTemplates: [], ...cacheable }),
  "resources/read": () => Modern.complete({ contents: [{ uri: "a:b", text: "text" }], ...cacheable }),
  "prompts/get": () => Modern.complete({ messages: [] }),
  "completion/complete": () => Modern.complete({ completion: { values: [] } }),
  "tools/call": () => Modern.complete({ content: [] })
}

/** Runs an effect of a mounted source like a server does. */
const run = <A, E>(effect: unknown) =>
  Effect.provide(
    effect as Effect.Effect<A, E, ClientInput | Progress.Progress | RequestContext>,
    Context.make(ClientInput, {
      ask: () => Effect.never,
      askExtension: () => Effect.never,
      once: (_name, _schema, step) => step
    }).pipe(Context.add(RequestContext, { outbound: { connection: undefined } } as RequestContext["Service"]))
  ).pipe(Effect.provide(Progress.layerNone))

/** `_meta` of the first call, without its progress token. */
const metaOf = (server: Scripted.Scripted) => {
  const meta = server.requests("tools/call")[0]?.params?._meta
  return Object.fromEntries(Object.entries(meta ?? {}).filter(([key]) => key !== "progressToken"))
}

/** Every request that a client can send. */
const all = (client: McpClient.McpClient["Service"]) =>
  Effect.all([
    client.callToolByName("t"),
    Stream.runDrain(client.listTools),
    Stream.runDrain(client.listPrompts),
    Stream.runDrain(client.listResources),
    Stream.runDrain(client.listResourceTemplates),
    client.readResource("a:b"),
    client.getPromptByName("p"),
    client.complete({ ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "" } }),
    client.ping,
    client.request("server/discover", {})
  ])

describe("Requests in 2026-07-28", () => {
  it.effect(
    "A stateless request declares the client, the revision and the supported questions",
    () =>
      Effect.gen(function* () {
        const roots = yield* SubscriptionRef.make<ReadonlyArray<{ readonly uri: string }>>([])
        const clientInfo = { name: "tester", version: "2.0.0", title: "Tester" }
        const { answer, next } = yield* Modern.subscriptions(true)
        const host = Layer.mergeAll(
          Elicitation.layer({ form: () => Effect.succeed({ action: "decline" }) }),
          Sampling.layer(() => Effect.fail(McpError.internalError("No")), { tools: true }),
          Roots.layerRef(roots)
        )
        const { client, server } = yield* Modern.connected(
          { answers: { ...answers, "subscriptions/listen": answer } },
          { clientInfo, experimental: { x: {} }, extensions: { "com.example/y": { z: 1 } } }
        ).pipe(Effect.provide(host))
        yield* all(client)
        yield* Effect.forkScoped(Stream.runDrain(client.watchResource("a:b")), { startImmediately: true })
        yield* Effect.forkScoped(Stream.runDrain(client.toolChanges), { startImmediately: true })
        yield* next
        yield* next
        const requests = server.heard.filter(JsonRpc.isRequest)
        assert.strictEqual(new Set(requests.map(({ method }) => method)).size, 10)
        for (const request of requests) {
          assert.strictEqual(Modern.declared(request, Meta.protocolVersion), "2026-07-28", request.method)
          assert.deepStrictEqual(Modern.declared(request, Meta.clientInfo), clientInfo, request.method)
          assert.deepStrictEqual(
            Modern.declared(request, Meta.clientCapabilities),
            {
              elicitation: { form: {} },
              sampling: { tools: {} },
              // A client without sessions cannot announce changes of its roots.
              roots: {},
              experimental: { x: {} },
              extensions: { "com.example/y": { z: 1 }, ...Modern.tasks }
            },
            request.method
          )
          assert.isUndefined(Modern.declared(request, Meta.logLevel), request.method)
        }
        assert.strictEqual(new Set(requests.map(({ id }) => id)).size, requests.length)
      }),
    verifies(
      "meta.request.required",
      "meta.request.client-info",
      "json-rpc.request.id-in-flight",
      "elicitation.capability.each-request",
      "sampling.capability.each-request",
      "roots.capability.each-request"
    )
  )

  it.effect.each(["nope", "", "/x", "1com.example/x"])(
    "An extension with an unprefixed name is never declared: %j",
    (id) =>
      Effect.gen(function* () {
        const server = yield* Modern.make()
        const exit = yield* Effect.exit(McpClient.connect(server.transport, { extensions: { [id]: {} } }))
        assert.isTrue(Exit.hasDies(exit))
        assert.deepStrictEqual(server.heard, [])
      }),
    verifies("versioning.extension.identifier")
  )

  it.effect("A stateless request carries its call's `_meta`, except for the client's declarations", () =>
    Effect.gen(function* () {
      const { client, server } = yield* Modern.connected({ answers })
      yield* client.callToolByName("t", {}, { meta: { "com.example/a": 1, [Meta.protocolVersion]: "1999-01-01" } })
      const [call] = server.requests("tools/call")
      assert.strictEqual(Modern.declared(call, "com.example/a"), 1)
      assert.strictEqual(Modern.declared(call, Meta.protocolVersion), "2026-07-28")
    })
  )

  it.effect("A request relayed by a gateway declares the gateway's capabilities, not the caller's", () =>
    Effect.gen(function* () {
      const caller = yield* Declaration.entries("2026-07-28", {
        clientInfo: { name: "caller", version: "1.0.0" },
        capabilities: { sampling: {} },
        logLevel: "debug"
      })
      const relay = (client: McpClient.McpClient["Service"]) =>
        run(Sources.tools(client).call({ name: "t", arguments: {}, _meta: { ...caller, "com.example/a": 1 } }))
      const { client, server } = yield* Modern.connected({ answers }, { clientInfo: { name: "gate", version: "1" } })
      yield* relay(client)
      const meta = metaOf(server)
      assert.deepStrictEqual(meta, {
        "com.example/a": 1,
        [Meta.protocolVersion]: "2026-07-28",
        [Meta.clientInfo]: { name: "gate", version: "1" },
        [Meta.clientCapabilities]: { extensions: Modern.tasks }
      })
      const old = yield* Scripted.make({ answers })
      yield* relay(yield* McpClient.connect(old.transport, { revisions: ["2025-11-25"] }))
      const said = metaOf(old)
      assert.deepStrictEqual(said, { "com.example/a": 1 })
    })
  )

  it.effect("A stateless request asks for log messages once a level is set", () =>
    Effect.gen(function* () {
      const { client, server } = yield* Modern.connected({ answers })
      yield* client.callToolByName("t")
      yield* client.setLogLevel("warning")
      yield* client.callToolByName("t")
      yield* client.setLogLevel("debug")
      yield* client.callToolByName("t", {}, { meta: { [Meta.logLevel]: "error" } })
      assert.deepStrictEqual(
        server.requests("tools/call").map((call) => Modern.declared(call, Meta.logLevel)),
        [undefined, "warning", "debug"]
      )
      assert.notInclude(Modern.methods(server), "logging/setLevel")
    })
  )

  it.effect("A stateless request does not ask for log messages the server did not declare", () =>
    Effect.gen(function* () {
      const { client, server } = yield* Modern.connected({ answers, capabilities: { tools: {} } })
      assert.strictEqual((yield* Effect.flip(client.setLogLevel("debug")))._tag, "CapabilityMissing")
      yield* client.callToolByName("t")
      assert.isUndefined(Modern.declared(server.requests("tools/call")[0], Meta.logLevel))
    })
  )

  it.effect("A request for an undeclared or unsupported feature is not sent", () =>
    Effect.gen(function* () {
      const { client, server } = yield* Modern.connected({ capabilities: {} })
      const missing = [
        client.callToolByName("t"),
        client.readResource("a:b"),
        client.getPromptByName("p"),
        Stream.runDrain(client.listTools),
        Stream.runDrain(client.watchResource("a:b")),
        client.complete({ ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "" } }),
        client.subscribeResource("a:b"),
        client.unsubscribeResource("a:b"),
        client.request("ping", undefined)
      ]
      for (const request of missing) assert.strictEqual((yield* Effect.flip(request))._tag, "CapabilityMissing")
      assert.deepStrictEqual(Modern.methods(server), ["server/discover"])
    })
  )

  it.effect("A stateless ping uses discovery to measure the round-trip time", () =>
    Effect.gen(function* () {
      let slow = false
      const { client, server } = yield* Modern.connected({
        answers: {
          "server/discover": () =>
            Effect.as(slow ? Effect.sleep("20 millis") : Effect.void, { ...Modern.discovered(), ttlMs: 60_000 })
        }
      })
      slow = true
      const fiber = yield* Effect.forkChild(client.ping, { startImmediately: true })
      yield* quiesce
      yield* TestClock.adjust("20 millis")
      assert.isDefined(yield* Fiber.join(fiber))
      assert.deepStrictEqual(Modern.methods(server), ["server/discover", "server/discover"])
    })
  )

  it.effect("A stateless connection is kept alive by discovery and closed without an answer", () =>
    Effect.gen(function* () {
      let alive = true
      const { client, server } = yield* Modern.connected(
        { answers: { "server/discover": () => (alive ? Modern.discovered() : Effect.never) } },
        { keepAlive: { every: "1 minute", timeout: "10 seconds", failures: 2 } }
      )
      for (let minute = 0; minute < 5; minute++) {
        yield* TestClock.adjust("1 minute")
        yield* quiesce
      }
      assert.strictEqual(server.requests("server/discover").length, 6)
      yield* client.callToolByName("t").pipe(Effect.flip)
      alive = false
      const closed = yield* Effect.forkChild(Effect.flip(client.awaitClosed), { startImmediately: true })
      for (let step = 0; step < 15; step++) {
        yield* TestClock.adjust("10 seconds")
        yield* quiesce
      }
      assert.strictEqual((yield* Fiber.join(closed)).reason, "KeepAlive")
    })
  )
})
