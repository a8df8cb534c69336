import type * as McpClient from "@effect-mcp/client/McpClient"
import * as Tool from "@effect-mcp/core/Tool"
import { failureKey } from "@effect-mcp/core/Tools"
import type { Exchange } from "@effect-mcp/core/Peer"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { all, cancellation, collect, connected, quiesce } from "../support/connected.ts"
import type * as Scripted from "../support/scripted.ts"

class NoTable extends Schema.TaggedError<NoTable>()("NoTable", { guests: Schema.Int }) {}

const Book = Tool.make("book", {
  description: "Books a table",
  input: { guests: Schema.Int },
  output: { reference: Schema.String },
  failure: NoTable
})

const Say = Tool.make("say", { description: "Says something" })
const text = (value: string) => [{ type: "text", text: value }]

const tokenOf = (request: JsonRpc.Request | undefined): string | number => {
  const meta = request?.params?._meta as { readonly progressToken: string | number }
  return meta.progressToken
}

const tells = (exchange: Exchange, progress: number, more: object = {}) =>
  exchange.peer.notify("notifications/progress", {
    progressToken: tokenOf(exchange.request),
    progress,
    ...more
  })

const calling = (call: Scripted.Answer, options?: McpClient.Options & { readonly version?: any; tools?: object }) =>
  connected(
    {
      version: options?.version,
      answers: { "tools/call": call, "tools/list": () => ({ tools: options?.tools ?? [] }) }
    },
    options
  )

describe.each(all)("Tool calls over %s", (version) => {
  it.effect("A typed call encodes the input and decodes the output", () =>
    Effect.gen(function* () {
      const { client, server } = yield* calling(
        () => ({ content: text(`{"reference":"R1"}`), structuredContent: { reference: "R1" } }),
        { version }
      )
      assert.deepStrictEqual(yield* client.callTool(Book, { guests: 2 }), { reference: "R1" })
      const params = server.requests("tools/call")[0]?.params
      assert.strictEqual(params?.name, "book")
      assert.deepStrictEqual(params?.arguments, { guests: 2 })
    })
  )

  it.effect("A call with non-object arguments is rejected before it is sent", () =>
    Effect.gen(function* () {
      const { client, server } = yield* calling(() => ({ content: [] }), { version })
      const Shout = Tool.make("shout", { description: "", input: Schema.String })
      const error = yield* Effect.flip(client.callTool(Shout, "hello"))
      assert.instanceOf(error, McpError.McpError)
      assert.strictEqual(error.code, McpError.InvalidParams)
      assert.include(error.message, "must be a JSON object")
      assert.deepStrictEqual(server.requests("tools/call"), [])
    })
  )

  it.effect("A call without an output schema returns the whole result", () =>
    Effect.gen(function* () {
      const { client } = yield* calling(() => ({ content: text("hello") }), { version })
      assert.deepStrictEqual(yield* client.callTool(Say, {}), { content: [{ type: "text", text: "hello" }] })
    })
  )

  it.effect("A typed call fails with the declared failure as a value", () =>
    Effect.gen(function* () {
      const failure = { _tag: "NoTable", guests: 9 }
      const { client } = yield* calling(
        () => ({ content: text("full"), isError: true, _meta: { [failureKey]: failure } }),
        { version }
      )
      const error = yield* Effect.flip(client.callTool(Book, { guests: 9 }))
      assert.instanceOf(error, NoTable)
      assert.strictEqual(error.guests, 9)
    })
  )

  it.effect("A typed call fails with the text of any other failure", () =>
    Effect.gen(function* () {
      const { client } = yield* calling(
        () => ({ content: [...text("The kitchen"), ...text("is on fire")], isError: true }),
        { version }
      )
      const error = yield* Effect.flip(client.callTool(Book, { guests: 9 }))
      assert.strictEqual(error._tag, "ToolFailure")
      assert.strictEqual(error.message, "The kitchen\nis on fire")
      assert.isTrue((yield* client.callToolByName("book")).isError)
    })
  )

  it.effect("A typed call treats an undecodable failure as text", () =>
    Effect.gen(function* () {
      const { client } = yield* calling(
        () => ({ content: text("full"), isError: true, _meta: { [failureKey]: "what?" } }),
        { version }
      )
      assert.strictEqual((yield* Effect.flip(client.callTool(Book, { guests: 9 })))._tag, "ToolFailure")
    })
  )

  it.effect("A typed call rejects an output that violates the contract", () =>
    Effect.gen(function* () {
      const { client } = yield* calling(() => ({ content: text("{}"), structuredContent: { reference: 1 } }), {
        version
      })
      assert.strictEqual((yield* Effect.flip(client.callTool(Book, { guests: 9 })))._tag, "InvalidResult")
    })
  )

  it.effect("A typed call rejects an invalid input and sends nothing", () =>
    Effect.gen(function* () {
      const { client, server } = yield* calling(() => ({ content: [] }), { version })
      const error = yield* Effect.flip(client.callTool(Book, { guests: 1.5 }))
      assert.strictEqual((error as McpError.McpError).code, McpError.InvalidParams)
      assert.deepStrictEqual(server.requests("tools/call"), [])
    })
  )

  it.effect("A call fails with the server's error", () =>
    Effect.gen(function* () {
      const { client } = yield* calling(() => Effect.fail(McpError.invalidParams("Unknown tool: x")), { version })
      const error = yield* Effect.flip(client.callToolByName("x"))
      assert.deepStrictEqual(error, McpError.invalidParams("Unknown tool: x"))
    })
  )

  it.effect("A call whose answer is not a result fails", () =>
    Effect.gen(function* () {
      const { client } = yield* calling(() => ({ content: "hello" }), { version })
      assert.strictEqual((yield* Effect.flip(client.callToolByName("x")))._tag, "InvalidResult")
    })
  )

  it.effect("A call sends its _meta", () =>
    Effect.gen(function* () {
      const { client, server } = yield* calling(() => ({ content: [] }), { version })
      yield* client.callToolByName("x", {}, { meta: { "example.com/a": 1 } })
      const meta = server.requests("tools/call")[0]?.params?._meta as JsonRpc.Params
      assert.strictEqual(meta["example.com/a"], 1)
    })
  )

  it.effect(
    "A call reports progress to a callback and a queue, under a unique token",
    () =>
      Effect.gen(function* () {
        const { client, server } = yield* calling(
          (_, exchange) => {
            tells(exchange, 1, { total: 2 })
            tells(exchange, 2, { total: 2 })
            return { content: [] }
          },
          { version }
        )
        const seen: Array<readonly [number, number | undefined]> = []
        yield* client.callToolByName("x", {}, { onProgress: ({ progress, total }) => seen.push([progress, total]) })
        yield* client.callToolByName("x")
        assert.deepStrictEqual(seen, [
          [1, 2],
          [2, 2]
        ])
        const tokens = server.requests("tools/call").map(tokenOf)
        assert.strictEqual(new Set(tokens).size, 2)
        assert.isTrue(tokens.every((token) => typeof token === "string" || Number.isInteger(token)))
      }),
    verifies("progress.token.type", "progress.token.unique")
  )

  it.effect("A call as a stream emits progress, then its result", () =>
    Effect.gen(function* () {
      const { client } = yield* calling(
        (_, exchange) => {
          tells(exchange, 1, { message: "one" })
          return { content: [], structuredContent: { reference: "R1" } }
        },
        { version }
      )
      const events = yield* collect(client.callToolStream(Book, { guests: 1 }))
      assert.deepStrictEqual(events, [
        { _tag: "Progress", progress: 1, total: undefined, message: "one" },
        { _tag: "Result", value: { reference: "R1" } }
      ])
    })
  )

  it.effect("A call as a stream fails like a plain call", () =>
    Effect.gen(function* () {
      const { client } = yield* calling(() => Effect.fail(McpError.internalError()), { version })
      assert.strictEqual((yield* Effect.flip(Stream.runDrain(client.callToolByNameStream("x"))))._tag, "McpError")
    })
  )

  it.effect(
    "Interrupting a call's caller cancels it at the server",
    () =>
      Effect.gen(function* () {
        const reached = yield* Deferred.make<void>()
        const { client, server } = yield* calling(
          () => Effect.andThen(Deferred.succeed(reached, undefined), Effect.never),
          { version }
        )
        const fiber = yield* Effect.forkChild(client.callToolByName("x"))
        yield* Deferred.await(reached)
        yield* Fiber.interrupt(fiber)
        const cancelled = yield* cancellation(server)
        const id = server.requests("tools/call")[0]?.id
        assert.strictEqual(cancelled.params?.requestId, id)
        // Its answer was already on the way: nothing breaks.
        server.peer.sink.send({ jsonrpc: "2.0", id: id as number, result: { content: [] } }, "control")
        yield* client.ping
      }),
    verifies(
      "cancellation.sender.own-request",
      "cancellation.sender.in-progress",
      "cancellation.sender.ignores-late-response"
    )
  )

  it.effect("Abandoning a call's stream cancels the call", () =>
    Effect.gen(function* () {
      const { client, server } = yield* calling(
        (_, exchange) => {
          tells(exchange, 1)
          return Effect.never
        },
        { version }
      )
      yield* Stream.runDrain(Stream.take(client.callToolByNameStream("x"), 1))
      yield* cancellation(server)
    })
  )

  it.effect(
    "A call times out after 60 seconds of silence and cancels the request",
    () =>
      Effect.gen(function* () {
        const { client, server } = yield* calling(() => Effect.never, { version })
        const fiber = yield* Effect.forkChild(Effect.flip(client.callToolByName("x")))
        yield* quiesce
        yield* TestClock.adjust("59 seconds")
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* Fiber.join(fiber))._tag, "Timeout")
        yield* cancellation(server)
      }),
    verifies("lifecycle.timeout.every-request", "lifecycle.timeout.cancels", "tools.security.timeout")
  )

  it.effect(
    "Progress keeps a call alive, but not beyond its maximum time",
    () =>
      Effect.gen(function* () {
        const called = yield* Deferred.make<Exchange>()
        const { client } = yield* calling(
          (_, exchange) => Effect.andThen(Deferred.succeed(called, exchange), Effect.never),
          { version }
        )
        const fiber = yield* Effect.forkChild(
          Effect.flip(client.callToolByName("x", {}, { timeout: "30 seconds", maxTotal: "70 seconds" }))
        )
        const exchange = yield* Deferred.await(called)
        for (let at = 20; at <= 60; at += 20) {
          yield* TestClock.adjust("20 seconds")
          tells(exchange, at)
          yield* quiesce
          assert.isUndefined(fiber.pollUnsafe(), `still waiting at ${at} s`)
        }
        yield* TestClock.adjust("10 seconds")
        assert.strictEqual((yield* Fiber.join(fiber))._tag, "Timeout")
      }),
    verifies("lifecycle.timeout.per-request", "lifecycle.timeout.maximum")
  )
})

describe("Progress callbacks", () => {
  it("The onProgress type rejects a function that returns an Effect", () => {
    const events: Array<unknown> = []
    const told: (event: { readonly progress: number }) => void = (event) => events.push(event)
    const plain: ReadonlyArray<McpClient.CallOptions["onProgress"]> = [
      told,
      (event) => events.push(event),
      (event) => void events.push(event),
      ({ message }) => message,
      ({ progress, total }) => progress === total,
      (event) => event,
      () => [events],
      () => new Map(),
      () => Effect.runFork(Effect.void),
      async () => {},
      () => undefined,
      () => null,
      undefined
    ]
    const effect: McpClient.CallOptions = {
      // @ts-expect-error an Effect that does not run
      onProgress: () => Effect.void
    }
    const both: McpClient.CallOptions = {
      // @ts-expect-error an Effect that does not run, in one of two cases
      onProgress: ({ progress }) => (progress > 1 ? Effect.sync(() => events.push(progress)) : undefined)
    }
    assert.isDefined([plain, effect, both])
  })
})
