/** What a client does without its rare parts, and requests that wait until they are loaded. */
import * as Tool from "@effect-mcp/core/Tool"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schema, Stream } from "effect"
import { vi } from "vitest"
import { quiesce } from "../support/connected.ts"
import * as Modern from "../support/modern.ts"

/** The module waits for the gate when it is imported. */
const module = vi.hoisted(() => ({ imports: 0, gate: Promise.withResolvers<void>() }))
vi.mock("../../src/assembly/RareParts.ts", async (original) => {
  module.imports++
  await module.gate.promise
  return await original()
})

const Add = Tool.make("add", {
  description: "",
  input: { a: Schema.Finite, b: Schema.Finite },
  output: { sum: Schema.Finite }
})

const script = {
  answers: {
    "tools/call": () => Modern.complete({ content: [], structuredContent: { sum: 3 } }),
    "tools/list": () => Modern.complete({ tools: [], ttlMs: 0, cacheScope: "private" }),
    "x/a": () => Modern.complete({}),
    "x/b": () => Modern.complete({}),
    "x/c": () => Modern.complete({})
  }
}

describe("RareParts", () => {
  it.effect(
    "A client that connects, calls a tool by its contract and closes loads no rare parts; later requests wait for them in their order",
    () =>
      Effect.gen(function* () {
        const { client, server } = yield* Modern.connected(script)
        assert.deepStrictEqual(yield* client.callTool(Add, { a: 1, b: 2 }), { sum: 3 })
        assert.strictEqual((yield* client.callToolByName("add", { a: 1, b: 2 })).isError, undefined)
        assert.strictEqual(module.imports, 0)

        const sent = () => server.heard.flatMap((message) => ("method" in message ? [message.method] : []))
        const before = sent().length
        const fork = <A, E>(effect: Effect.Effect<A, E>) => Effect.forkChild(effect, { startImmediately: true })
        const first = yield* fork(client.raw.request("x/a"))
        const second = yield* fork(client.raw.request("x/b"))
        const third = yield* fork(client.raw.request("x/c"))
        const listing = yield* fork(Stream.runCollect(client.listTools))
        yield* quiesce
        yield* Fiber.interrupt(second)
        assert.strictEqual(sent().length, before)

        module.gate.resolve()
        yield* Effect.all([Fiber.join(first), Fiber.join(third), Fiber.join(listing)])
        assert.deepStrictEqual(sent().slice(before), ["x/a", "x/c", "tools/list"])
        assert.strictEqual(module.imports, 1)
      })
  )
})
