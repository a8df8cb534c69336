/** What a client does without its rare parts, and requests that wait until they are loaded. */
import * as Extension from "@effect-mcp/core/Extension"
import * as Tool from "@effect-mcp/core/Tool"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schema, Stream } from "effect"
import { vi } from "vitest"
import { quiesce } from "../support/connected.ts"
import * as Modern from "../support/modern.ts"
import { everything } from "../support/scripted.ts"

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

const Noting = Extension.make("com.example/noting", {
  notifications: {
    told: Extension.notification("notifications/com.example/told", { from: "server", params: { n: Schema.Finite } })
  }
})
const Told = Noting.notifications.told

const script = {
  capabilities: { ...everything, extensions: { [Noting.id]: {} } },
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
    "A client that connects, calls a tool by its contract and closes loads no rare parts; later requests wait for them in their order, and notifications that arrive meanwhile are kept",
    () =>
      Effect.gen(function* () {
        const { client, server } = yield* Modern.connected(script, { extensions: { [Noting.id]: {} } })
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
        const noted = yield* fork(Stream.runCollect(Stream.take(client.notifications(Told), 2)))
        yield* quiesce
        yield* Fiber.interrupt(second)
        for (const n of [1, 2]) server.peer.notify(Told.method, { n })
        assert.strictEqual(sent().length, before)

        module.gate.resolve()
        assert.deepStrictEqual(yield* Fiber.join(noted), [{ n: 1 }, { n: 2 }])
        yield* Effect.all([Fiber.join(first), Fiber.join(third), Fiber.join(listing)])
        assert.deepStrictEqual(sent().slice(before), ["x/a", "x/c", "tools/list"])
        assert.strictEqual(module.imports, 1)
      })
  )
})
