/**
 * Limits on data that a server can make a client read, keep and repeat: lists, cached answers, known tools, and subscriptions that end at
 * once.
 */
import type * as McpClient from "@effect-mcp/client/McpClient"
import { ResponseCache } from "../../src/connection/ResponseCache.ts"
import { ToolCatalog } from "../../src/features/ToolCatalog.ts"
import * as Revision from "@effect-mcp/protocol/Revision"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schema, Stream } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import { TestClock } from "effect/testing"
import { Backoff } from "../../src/connection/Backoff.ts"
import { sizeOf } from "../../src/internal/sizeOf.ts"
import { all, connected } from "../support/connected.ts"
import * as Modern from "../support/modern.ts"

const fat = "x".repeat(1000)
/** The lists, and for each an endless one with large items. */
const lists: ReadonlyArray<
  readonly [
    method: string,
    items: (at: number) => object,
    read: (client: McpClient.McpClient["Service"]) => Stream.Stream<unknown, McpClient.ClientError>
  ]
> = [
  [
    "tools/list",
    (at) => ({ tools: [{ name: `t${at}`, description: fat, inputSchema: { type: "object" } }] }),
    (client) => client.listTools
  ],
  ["prompts/list", (at) => ({ prompts: [{ name: `p${at}`, description: fat }] }), (client) => client.listPrompts],
  ["resources/list", (at) => ({ resources: [{ uri: `a:${at}`, name: fat }] }), (client) => client.listResources],
  [
    "resources/templates/list",
    (at) => ({ resourceTemplates: [{ uriTemplate: `a:${at}/{b}`, name: fat }] }),
    (client) => client.listResourceTemplates
  ]
]

describe.each(all)("Endless lists in %s", (version) => {
  for (const [method, items, read] of lists) {
    const endless = (maxListBytes?: number) => {
      let at = 0
      const answer = () => ({ ...items(++at), nextCursor: `${at}`, ttlMs: 60_000, cacheScope: "private" })
      return connected({ version, answers: { [method]: answer } }, { maxListBytes })
    }

    it.effect(`An endless list fails ${method} with InvalidResult once it exceeds the client's byte limit`, () =>
      Effect.gen(function* () {
        const { client, server } = yield* endless(10_500)
        const error = yield* Effect.flip(Stream.runDrain(read(client)))
        assert.strictEqual(error._tag, "InvalidResult")
        if (error._tag !== "InvalidResult") return
        assert.match(
          error.message,
          /^The list is larger than 10500 bytes after 1\d pages\. Read fewer items, or raise `maxListBytes`\.$/
        )
        assert.isAtMost(server.requests(method).length, 11)
        // The error does not keep the page that exceeded the limit.
        assert.isUndefined(error.result)
      })
    )

    it.effect(`An endless list can be read in part by ${method}`, () =>
      Effect.gen(function* () {
        const { client, server } = yield* endless(10_500)
        for (const _ of [1, 2, 3]) yield* Stream.runDrain(Stream.take(read(client), 5))
        assert.isAtMost(server.requests(method).length, 15)
      })
    )
  }

  it.effect("An endless list with large cursors also fails", () =>
    Effect.gen(function* () {
      let at = 0
      const answer = () => ({ prompts: [], nextCursor: `${++at}${fat}`, ttlMs: 0, cacheScope: "private" })
      const { client, server } = yield* connected(
        { version, answers: { "prompts/list": answer } },
        { maxListBytes: 10_000 }
      )
      assert.strictEqual((yield* Effect.flip(Stream.runDrain(client.listPrompts)))._tag, "InvalidResult")
      assert.strictEqual(server.requests("prompts/list").length, 10)
    })
  )
})

describe("Value sizes", () => {
  it.prop("A value's size approximates its JSON size", { value: Arbitrary.schema(Schema.Json) }, ({ value }) => {
    const { length } = JSON.stringify(value)
    const size = sizeOf(value)
    return size >= (length - 2) / 8 && size <= length * 5
  })

  it("A value's size is measured even if it is nested deeper than the call stack", () => {
    let value: unknown = "end"
    for (let depth = 0; depth < 200_000; depth++) value = [value]
    assert.isAbove(sizeOf(value), 200_000)
  })

  it("Bytes count with their base64 size", () => {
    assert.strictEqual(sizeOf(new Uint8Array(300)), 400)
  })
})

describe("Cached answers", () => {
  const answer = (text: string) => ({ text, ttlMs: 1000 })
  const kept = (cache: ResponseCache, names: ReadonlyArray<string>) =>
    names.filter((name) => cache.get("resources/read", { uri: name }, 0) !== undefined)

  it("Cached answers share a byte limit, and the oldest are evicted first", () => {
    const cache = new ResponseCache(100, 3500)
    for (const uri of ["a", "b", "c", "d"]) cache.put("resources/read", { uri }, answer(fat), 0, 0)
    assert.deepStrictEqual(kept(cache, ["a", "b", "c", "d"]), ["b", "c", "d"])
  })

  it("A replaced, stale or invalidated answer frees its room", () => {
    const cache = new ResponseCache(100, 3500)
    for (let round = 0; round < 10; round++) cache.put("resources/read", { uri: "a" }, answer(fat), 0, 0)
    for (const uri of ["b", "c"]) cache.put("resources/read", { uri }, answer(fat), 0, 0)
    assert.deepStrictEqual(kept(cache, ["a", "b", "c"]), ["a", "b", "c"])
    cache.get("resources/read", { uri: "a" }, 2000)
    cache.put("resources/read", { uri: "d" }, answer(fat), 0, 0)
    assert.deepStrictEqual(kept(cache, ["b", "c", "d"]), ["b", "c", "d"])
    cache.forget("resources/read")
    for (const uri of ["e", "f", "g"]) cache.put("resources/read", { uri }, answer(fat), 1, 0)
    assert.deepStrictEqual(kept(cache, ["e", "f", "g"]), ["e", "f", "g"])
  })

  it("An answer over the limit evicts no cached answer", () => {
    const cache = new ResponseCache(100, 3500)
    cache.put("resources/read", { uri: "a" }, answer(fat), 0, 0)
    cache.put("resources/read", { uri: "b" }, answer(fat.repeat(10)), 0, 0)
    assert.deepStrictEqual(kept(cache, ["a", "b"]), ["a"])
  })
})

describe("Known tools", () => {
  const tool = (name: string) => ({ name, description: fat, inputSchema: { type: "object" as const } })
  const catalog = () => new ToolCatalog({ revision: Revision.latestStateful, headers: false }, () => {}, 3500)

  it("Known tools have a byte limit, and the least recently listed are evicted first", () => {
    const tools = catalog()
    tools.learn(["a", "b", "c"].map(tool))
    tools.learn([tool("a")])
    tools.learn([tool("d")])
    assert.deepStrictEqual(
      ["a", "b", "c", "d"].filter((name) => tools.knows(name)),
      ["a", "c", "d"]
    )
  })

  it("Evicted tools free their room", () => {
    const tools = catalog()
    for (let round = 0; round < 3; round++) {
      tools.forget()
      tools.learn(["a", "b", "c"].map(tool))
    }
    assert.isTrue(["a", "b", "c"].every((name) => tools.knows(name)))
  })
})

describe("Subscriptions that send an update and end immediately", () => {
  it.effect("A subscription that ends after each update is reopened with growing delays", () =>
    Effect.gen(function* () {
      const backoff = new Backoff({ delay: 100, attempts: 3 })
      const lasted: Array<boolean> = []
      for (let round = 0; round < 6; round++) {
        yield* backoff.started
        backoff.succeeded()
        lasted.push(yield* backoff.failed)
        const waiting = yield* Effect.forkChild(backoff.wait, { startImmediately: true })
        // Each wait is shortened at random by up to a half.
        yield* TestClock.adjust(round === 0 ? 0 : round === 1 ? 49 : 99)
        assert.strictEqual(waiting.pollUnsafe() === undefined, round > 0)
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(waiting)
      }
      assert.deepStrictEqual(lasted, [false, false, false, false, false, false])
    })
  )

  it.effect("A 2026-07-28 subscription that ends after each update is reopened after a pause", () =>
    Effect.gen(function* () {
      const { client, next, server } = yield* Modern.listening()
      const watching = yield* Effect.forkChild(Stream.runDrain(client.watchResource("a:b")), { startImmediately: true })
      const first = yield* next
      first.tell("notifications/resources/updated", { uri: "a:b" })
      yield* client.ping
      first.end()
      // Renewed at once the first time, and after a wait from then on.
      const second = yield* next
      second.tell("notifications/resources/updated", { uri: "a:b" })
      yield* client.ping
      second.end()
      for (let round = 0; round < 5; round++) yield* client.ping
      assert.strictEqual(server.requests("subscriptions/listen").length, 2)
      yield* TestClock.adjust("200 millis")
      yield* next
      yield* Fiber.interrupt(watching)
    })
  )
})
