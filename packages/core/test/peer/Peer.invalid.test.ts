/** Input that is not a message gets an answer if possible, and the following lines are read as usual. */
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as Framing from "../../src/transport/Framing.ts"
import { request, serve, quiesce, success } from "../support/wire.ts"

const bytes = (text: string) => new TextEncoder().encode(text)
const huge = "x".repeat(2000)

/** One line over the limit, read with a limit of 1000 bytes. */
const oversize = (json: unknown) => {
  const [inbound] = new Framing.LineDecoder(1000).push(bytes(`${JSON.stringify(json)}\n`))
  return inbound!
}

describe("Invalid lines", () => {
  it.effect("An invalid line gets -32700 with the revision's placeholder id and the next line is read", () =>
    Effect.gen(function* () {
      let id: null | undefined = null
      const { push, messages } = yield* serve(() => Effect.succeed({}), { unreadableId: () => id })
      push("{nonsense")
      yield* quiesce
      id = undefined
      push("nonsense}")
      push(request(1))
      yield* quiesce
      assert.deepStrictEqual(
        messages().map((message) => [Object.hasOwn(message, "id"), message.id, message.error?.code]),
        [
          [true, null, -32700],
          [false, undefined, -32700],
          [true, 1, undefined]
        ]
      )
    })
  )

  it.effect("An invalid request with a readable id gets -32600 with that id", () =>
    Effect.gen(function* () {
      const { receive, messages } = yield* serve(() => Effect.die("must not run"))
      receive({ jsonrpc: "1.0", id: "a", method: "work" })
      receive({ jsonrpc: "2.0", id: 0, method: 7 })
      receive({ jsonrpc: "2.0", id: "", method: "work", params: [1] })
      assert.deepStrictEqual(
        messages().map(({ id, error }) => [id, error.code]),
        [
          ["a", -32600],
          [0, -32600],
          ["", -32600]
        ]
      )
    })
  )

  it.effect(
    "An invalid answer fails its request and is never answered",
    () =>
      Effect.gen(function* () {
        const { peer, receive, messages, dropped } = yield* serve(() => Effect.never)
        const fiber = yield* Effect.forkChild(Effect.flip(peer.request("ask")), { startImmediately: true })
        receive({ jsonrpc: "2.0", id: 1, result: {}, error: { code: 1, message: "both" } })
        receive({ jsonrpc: "2.0", id: 99, result: {}, error: {} })
        receive({ jsonrpc: "2.0", id: null, result: {} })
        assert.strictEqual((yield* Fiber.join(fiber))._tag, "McpError")
        assert.strictEqual(messages().length, 1)
        assert.strictEqual(dropped.length, 2)
      }),
    verifies("json-rpc.response.not-both")
  )

  it.effect("Two peers do not answer each other's errors", () =>
    Effect.gen(function* () {
      const one = yield* serve(() => Effect.succeed({}))
      const other = yield* serve(() => Effect.succeed({}))
      one.receive("{nonsense")
      one.receive({ jsonrpc: "2.0", id: 5 })
      for (const message of one.messages()) other.receive(message)
      assert.strictEqual(one.messages().length, 2)
      assert.deepStrictEqual(other.messages(), [])
    })
  )
})

describe("Lines over the limit", () => {
  it.effect("An oversized request is rejected with its id, wherever the line contains it", () =>
    Effect.gen(function* () {
      const { peer, messages } = yield* serve(() => Effect.die("must not run"))
      peer.receive(oversize({ jsonrpc: "2.0", id: 1, method: "work", params: { huge } }))
      peer.receive(oversize({ jsonrpc: "2.0", method: "work", params: { huge }, id: "two" }))
      peer.receive(oversize({ method: "work", params: { huge }, id: 0, jsonrpc: "2.0" }))
      peer.receive(oversize({ jsonrpc: "2.0", id: "", params: { huge }, method: "work" }))
      assert.deepStrictEqual(
        messages().map(({ id, error }) => [id, error.code]),
        [
          [1, -32600],
          ["two", -32600],
          [0, -32600],
          ["", -32600]
        ]
      )
    })
  )

  it.effect("An oversized request does not fail a local request with the same id", () =>
    Effect.gen(function* () {
      const { peer, receive, messages } = yield* serve(() => Effect.die("must not run"))
      const fiber = yield* Effect.forkChild(peer.request("ask"), { startImmediately: true })
      peer.receive(oversize({ jsonrpc: "2.0", id: 1, params: { huge }, method: "work" }))
      receive(success(1, "answered"))
      assert.strictEqual(yield* Fiber.join(fiber), "answered")
      assert.deepInclude(messages()[1], { id: 1 })
    })
  )

  it.effect("An oversized answer immediately fails the request it answers", () =>
    Effect.gen(function* () {
      const { peer, messages } = yield* serve(() => Effect.never)
      const ask = Effect.forkChild(Effect.flip(peer.request("ask")), { startImmediately: true })
      const fibers = [yield* ask, yield* ask, yield* ask]
      peer.receive(oversize({ jsonrpc: "2.0", id: 1, result: { huge } }))
      peer.receive(oversize({ result: { huge }, id: 2, jsonrpc: "2.0" }))
      peer.receive(oversize({ jsonrpc: "2.0", id: 3, error: { code: 1, message: huge } }))
      for (const fiber of fibers) assert.strictEqual((yield* Fiber.join(fiber))._tag, "McpError")
      assert.strictEqual(messages().length, 3)
    })
  )

  it.effect("An oversized non-JSON line is answered without an id", () =>
    Effect.gen(function* () {
      const { peer, messages } = yield* serve(() => Effect.never)
      peer.receive(oversize(huge))
      assert.strictEqual(messages()[0].error.code, -32600)
      assert.notProperty(messages()[0], "id")
    })
  )
})
