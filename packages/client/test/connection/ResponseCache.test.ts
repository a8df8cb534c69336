import type * as McpClient from "@effect-mcp/client/McpClient"
import * as Roots from "@effect-mcp/core/Roots"
import * as McpError from "@effect-mcp/protocol/McpError"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { quiesce } from "../support/connected.ts"
import * as Modern from "../support/modern.ts"
import type * as Scripted from "../support/scripted.ts"

const text = (value: unknown): string => (typeof value === "string" ? value : "")
const tool = (name: string) => ({ name, inputSchema: { type: "object" } })
const hints = (ttlMs: unknown, cacheScope = "private") => ({ ...(ttlMs === undefined ? {} : { ttlMs }), cacheScope })
const read =
  (ttlMs: unknown, cacheScope?: string): Scripted.Answer =>
  ({ uri }) =>
    Modern.complete({ contents: [{ uri, text: `of ${text(uri)}` }], ...hints(ttlMs, cacheScope) })
const names = (client: McpClient.McpClient["Service"]) =>
  Effect.map(Stream.runCollect(client.listTools), (tools) => tools.map(({ name }) => name))

const reading = (answer: Scripted.Answer, options?: McpClient.Options) =>
  Effect.map(Modern.connected({ answers: { "resources/read": answer } }, options), ({ client, server }) => ({
    client,
    server,
    asked: () => server.requests("resources/read").map(({ params }) => params?.uri)
  }))

describe("The response cache in 2026-07-28", () => {
  it.effect.each(["private", "public"])(
    "A cached answer is used for its time to live, then fetched again: %s",
    (scope) =>
      Effect.gen(function* () {
        const { asked, client } = yield* reading(read(1000, scope))
        assert.strictEqual(yield* client.readResourceText("a:1"), "of a:1")
        yield* TestClock.adjust("999 millis")
        assert.strictEqual(yield* client.readResourceText("a:1"), "of a:1")
        assert.deepStrictEqual(asked(), ["a:1"])
        yield* TestClock.adjust("1 millis")
        yield* quiesce
        assert.deepStrictEqual(asked(), ["a:1"])
        yield* client.readResourceText("a:1")
        assert.deepStrictEqual(asked(), ["a:1", "a:1"])
      }),
    verifies("caching.ttl.positive", "caching.stale.fetched-again", "caching.ttl.not-polled")
  )

  it.effect("A cached answer ages from its arrival, not from its request", () =>
    Effect.gen(function* () {
      const { asked, client } = yield* reading((params, exchange) =>
        Effect.as(Effect.sleep("5 seconds"), read(1000)(params, exchange))
      )
      const first = yield* Effect.forkChild(client.readResource("a:1"), { startImmediately: true })
      yield* quiesce
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(first)
      yield* client.readResource("a:1")
      assert.deepStrictEqual(asked(), ["a:1"])
    })
  )

  it.effect.each([[0], [-1], [undefined], [-1e9]] as const)(
    "An answer with a time to live of %j is not cached",
    ([ttlMs]) =>
      Effect.gen(function* () {
        const { asked, client } = yield* reading(read(ttlMs))
        yield* client.readResourceText("a:1")
        yield* client.readResourceText("a:1")
        assert.deepStrictEqual(asked(), ["a:1", "a:1"])
      }),
    verifies("caching.ttl.zero", "caching.ttl.absent", "caching.ttl.negative")
  )

  it.effect(
    "A cached answer is reused only for the same request",
    () =>
      Effect.gen(function* () {
        const kept = hints(60_000)
        const { client, server } = yield* Modern.connected({
          answers: {
            "resources/read": read(60_000),
            "resources/list": () => Modern.complete({ resources: [], ...kept }),
            "resources/templates/list": () => Modern.complete({ resourceTemplates: [], ...kept }),
            "prompts/list": () => Modern.complete({ prompts: [], ...kept }),
            "tools/list": ({ cursor }) =>
              cursor === undefined
                ? Modern.complete({ tools: [tool("a")], nextCursor: "", ...kept })
                : Modern.complete({ tools: [tool("b")], ...kept })
          }
        })
        for (let time = 0; time < 2; time++) {
          assert.strictEqual(yield* client.readResourceText("a:1"), "of a:1")
          assert.strictEqual(yield* client.readResourceText("a:2"), "of a:2")
          assert.deepStrictEqual(yield* names(client), ["a", "b"])
          yield* Stream.runDrain(client.listResources)
          yield* Stream.runDrain(client.listResourceTemplates)
          yield* Stream.runDrain(client.listPrompts)
        }
        assert.deepStrictEqual(Modern.methods(server).slice(1), [
          "resources/read",
          "resources/read",
          "tools/list",
          "tools/list",
          "resources/list",
          "resources/templates/list",
          "prompts/list"
        ])
        yield* client.readResource("a:1", { meta: { "com.example/tenant": "b" } })
        yield* client.readResource("a:1", { meta: { "com.example/tenant": "b" } })
        assert.strictEqual(server.requests("resources/read").length, 4)
      }),
    verifies("caching.key.method-and-params")
  )

  it.effect("Call, prompt and completion results are never cached, regardless of the server's hints", () =>
    Effect.gen(function* () {
      const { client, server } = yield* Modern.connected({
        answers: {
          "tools/call": () => Modern.complete({ content: [], ...hints(60_000) }),
          "prompts/get": () => Modern.complete({ messages: [], ...hints(60_000) })
        }
      })
      for (let time = 0; time < 2; time++) {
        yield* client.callToolByName("t")
        yield* client.getPromptByName("p")
      }
      assert.strictEqual(server.requests("tools/call").length, 2)
      assert.strictEqual(server.requests("prompts/get").length, 2)
    })
  )

  it.effect(
    "A result that depends on answers is never cached",
    () =>
      Effect.gen(function* () {
        const { asked, client } = yield* reading((params, exchange) =>
          params.requestState === undefined
            ? { resultType: "input_required", inputRequests: { a: { method: "roots/list" } }, requestState: "s" }
            : read(60_000)(params, exchange)
        )
        yield* client.readResourceText("a:1")
        yield* client.readResourceText("a:1")
        assert.deepStrictEqual(asked(), ["a:1", "a:1", "a:1", "a:1"])
      }).pipe(Effect.provide(Roots.layerStatic([]))),
    verifies("caching.key.no-retries")
  )

  it.effect("Failures are never cached", () =>
    Effect.gen(function* () {
      let broken = true
      const { asked, client } = yield* reading((params, exchange) =>
        broken ? Effect.fail(McpError.internalError("Broken")) : read(60_000)(params, exchange)
      )
      yield* Effect.flip(client.readResource("a:1"))
      broken = false
      yield* client.readResource("a:1")
      yield* client.readResource("a:1")
      assert.deepStrictEqual(asked(), ["a:1", "a:1"])
    })
  )

  it.effect("A full cache evicts the oldest answer first", () =>
    Effect.gen(function* () {
      const { asked, client } = yield* reading(read(60_000), { cacheSize: 2 })
      for (const uri of ["a:1", "a:2", "a:3", "a:3", "a:2", "a:1"]) yield* client.readResource(uri)
      assert.deepStrictEqual(asked(), ["a:1", "a:2", "a:3", "a:1"])
    })
  )

  it.effect("A client with a zero-size cache caches nothing", () =>
    Effect.gen(function* () {
      const { asked, client } = yield* reading(read(60_000), { cacheSize: 0 })
      yield* client.readResource("a:1")
      yield* client.readResource("a:1")
      assert.strictEqual(asked().length, 2)
    })
  )

  it.effect(
    "Clients never share cached answers",
    () =>
      Effect.gen(function* () {
        const [one, two] = [yield* reading(read(60_000)), yield* reading(read(60_000))]
        yield* one.client.readResource("a:1")
        yield* two.client.readResource("a:1")
        assert.strictEqual(one.asked().length, 1)
        assert.strictEqual(two.asked().length, 1)
      }),
    verifies("caching.scope.private")
  )
})

describe("Response cache invalidation in 2026-07-28", () => {
  const kept = hints(600_000)
  const answers: NonNullable<Scripted.Script["answers"]> = {
    "resources/read": read(600_000),
    "resources/list": () => Modern.complete({ resources: [], ...kept }),
    "resources/templates/list": () => Modern.complete({ resourceTemplates: [], ...kept }),
    "prompts/list": () => Modern.complete({ prompts: [], ...kept }),
    "tools/list": () => Modern.complete({ tools: [tool("a")], ...kept })
  }
  const changes: ReadonlyArray<readonly [string, object, ReadonlyArray<string>]> = [
    ["notifications/tools/list_changed", {}, ["tools/list"]],
    ["notifications/prompts/list_changed", {}, ["prompts/list"]],
    ["notifications/resources/list_changed", {}, ["resources/list", "resources/templates/list"]],
    ["notifications/resources/updated", { uri: "a:1/part" }, ["resources/read"]]
  ]
  it.effect.each(changes)(
    "A cached answer is invalidated by %s",
    ([method, params, stale]) =>
      Effect.gen(function* () {
        const { answer, next } = yield* Modern.subscriptions(true)
        const { client, server } = yield* Modern.connected({ answers: { ...answers, "subscriptions/listen": answer } })
        const everything = Effect.all([
          client.readResource("a:1"),
          Stream.runDrain(client.listTools),
          Stream.runDrain(client.listPrompts),
          Stream.runDrain(client.listResources),
          Stream.runDrain(client.listResourceTemplates)
        ])
        yield* Effect.forkScoped(Stream.runDrain(client.toolChanges), { startImmediately: true })
        const { tell } = yield* next
        yield* everything
        const before = server.heard.length
        yield* everything
        assert.strictEqual(server.heard.length, before)
        tell(method, params)
        yield* quiesce
        yield* everything
        assert.sameMembers(Modern.methods(server).slice(before), [...stale])
      }),
    verifies("caching.notification.invalidates")
  )

  it.effect("An answer in flight when the change arrives is not cached", () =>
    Effect.gen(function* () {
      const { answer, next } = yield* Modern.subscriptions(true)
      const go = yield* Deferred.make<void>()
      const { client, server } = yield* Modern.connected({
        answers: {
          "subscriptions/listen": answer,
          "tools/list": () => Effect.as(Deferred.await(go), Modern.complete({ tools: [], ...kept }))
        }
      })
      yield* Effect.forkScoped(Stream.runDrain(client.toolChanges), { startImmediately: true })
      const { tell } = yield* next
      const first = yield* Effect.forkChild(Stream.runDrain(client.listTools), { startImmediately: true })
      yield* quiesce
      tell("notifications/tools/list_changed")
      yield* quiesce
      yield* Deferred.succeed(go, undefined)
      yield* Fiber.join(first)
      yield* Stream.runDrain(client.listTools)
      assert.strictEqual(server.requests("tools/list").length, 2)
    })
  )

  it.effect(
    "A rejected cursor invalidates the list's earlier pages",
    () =>
      Effect.gen(function* () {
        let cursors = 0
        let asked = 0
        const { client, server } = yield* Modern.connected({
          answers: {
            "tools/list": ({ cursor }) => {
              asked++
              if (cursor === undefined)
                return Modern.complete({ tools: [tool("a")], nextCursor: `${++cursors}`, ...kept })
              return cursor === "1" && asked > 2
                ? Effect.fail(McpError.invalidParams("No such cursor"))
                : Modern.complete({ tools: [tool(`b${text(cursor)}`)], ...hints(1000) })
            }
          }
        })
        assert.deepStrictEqual(yield* names(client), ["a", "b1"])
        yield* TestClock.adjust("2 seconds")
        // The first page is fresh; the second is requested with its cursor, which has expired.
        assert.strictEqual((yield* Effect.flip(names(client)))._tag, "McpError")
        assert.deepStrictEqual(
          server.requests("tools/list").map(({ params }) => params?.cursor),
          [undefined, "1", "1"]
        )
        assert.deepStrictEqual(yield* names(client), ["a", "b2"])
      }),
    verifies("caching.pages.discarded", "caching.page.fetched-again")
  )
})
