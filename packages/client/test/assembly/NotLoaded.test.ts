/** What becomes of a client whose rare parts cannot be loaded, and of requests that wait for them at the same time. */
import * as Extension from "@effect-mcp/core/Extension"
import * as McpClient from "@effect-mcp/client/McpClient"
import * as Tool from "@effect-mcp/core/Tool"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schema, Stream } from "effect"
import { vi } from "vitest"
import * as Parts from "../../src/assembly/RareParts.ts"
import { NotLoaded } from "../../src/ClientError.ts"
import { quiesce } from "../support/connected.ts"
import * as Modern from "../support/modern.ts"
import * as Scripted from "../support/scripted.ts"

/** The import of the rare parts: rejected, or given once the gate is open. */
const module = vi.hoisted(() => ({
  load: (): Promise<unknown> => Promise.reject(new TypeError("Failed to fetch dynamically imported module"))
}))
vi.mock("../../src/assembly/loadRareParts.ts", async () => {
  const { imported } = await import("../../src/internal/Late.ts")
  return { rareParts: { loaded: () => undefined, load: imported(() => module.load()) } }
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

const script = {
  capabilities: { ...Scripted.everything, extensions: { [Noting.id]: {} } },
  answers: {
    "tools/call": () => Modern.complete({ content: [], structuredContent: { sum: 3 } }),
    "tools/list": () => Modern.complete({ tools: [], ttlMs: 0, cacheScope: "private" }),
    "resources/read": () => Modern.complete({ contents: [], ttlMs: 0, cacheScope: "private" }),
    "x/a": () => Modern.complete({})
  }
}

const rejected = () => Promise.reject(new TypeError("Failed to fetch dynamically imported module"))

describe("Rare parts that cannot be loaded", () => {
  it.effect(
    "Each request that needs them fails with NotLoaded, and nothing else does; the next one loads them again",
    () =>
      Effect.gen(function* () {
        module.load = rejected
        const { client, server } = yield* Modern.connected(script, { extensions: { [Noting.id]: {} } })
        const before = server.heard.length
        const needing = {
          request: client.raw.request("x/a"),
          list: Stream.runDrain(client.listTools),
          read: client.readResource("x:/a"),
          notifications: Stream.runDrain(client.notifications(Noting.notifications.told)),
          watch: Stream.runDrain(Stream.take(client.watchResource("x:/a"), 1)),
          task: client.startByName("add", {})
        }
        for (const [name, effect] of Object.entries(needing)) {
          const error = yield* Effect.flip<unknown, unknown, never>(effect)
          assert.instanceOf(error, NotLoaded, name)
          assert.include(error.message, "Failed to fetch dynamically imported module")
        }
        assert.strictEqual(server.heard.length, before)
        assert.deepStrictEqual(yield* client.callTool(Add, { a: 1, b: 2 }), { sum: 3 })

        module.load = () => Promise.resolve(Parts)
        yield* needing.request
        yield* needing.list
        yield* needing.watch
      })
  )

  it.effect("A client does not connect to a server with sessions, and does so at the next try", () =>
    Effect.gen(function* () {
      const connect = Effect.flatMap(Scripted.make(), ({ transport }) => McpClient.connect(transport))
      module.load = rejected
      assert.instanceOf(yield* Effect.flip(connect), NotLoaded)
      module.load = () => Promise.resolve(Parts)
      assert.strictEqual((yield* connect).revision.version, "2025-11-25")
    })
  )
})

describe("Rare parts that several requests wait for", () => {
  it.effect("Each of them is made once", () =>
    Effect.gen(function* () {
      const made: Array<string> = []
      const gate = Promise.withResolvers<void>()
      const parts: typeof Parts = {
        ...Parts,
        makeWatch: (...args) => (made.push("watches"), Parts.makeWatch(...args)),
        makeExtensions: (...args) => (made.push("extensions"), Parts.makeExtensions(...args)),
        statelessMemory: (...args) => (made.push("memory"), Parts.statelessMemory(...args))
      }
      module.load = () => gate.promise.then(() => parts)
      const { client } = yield* Modern.connected(script)
      const twice = <A, E>(effect: Effect.Effect<A, E>) =>
        Effect.all([effect, effect].map((one) => Effect.forkChild(one, { startImmediately: true })))
      const waiting = [
        yield* twice(Stream.runDrain(Stream.take(client.watchResource("x:/a"), 1))),
        yield* twice(client.raw.request("x/a")),
        yield* twice(client.readResource("x:/a"))
      ]
      yield* quiesce
      assert.deepStrictEqual(made, [])
      gate.resolve()
      for (const fiber of waiting.flat()) yield* Fiber.await(fiber)
      assert.deepStrictEqual(made.toSorted(), ["extensions", "memory", "watches"])
    })
  )
})
