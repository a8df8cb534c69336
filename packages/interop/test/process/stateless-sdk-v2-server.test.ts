/** Our client and a server of both eras made with the official SDK v2, over stdio. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Queue, Stream } from "effect"
import { suite } from "../support/modern-suite.ts"
import { call, client, fileOf, layerClient } from "../support/our-client.ts"

const server = [fileOf("../fixtures/sdk-v2-modern-server.ts")]

suite("stdio", layerClient(server))

describe("Our client and an SDK v2 server", () => {
  it.live(
    "Our client's watches and calls fail immediately with a clear error in 2026-07-28 when the server leaves",
    () =>
      Effect.gen(function* () {
        const mcp = yield* client
        const uri = "fixture://touched"
        const watching = yield* Queue.unbounded<unknown>()
        const watched = yield* Effect.forkChild(
          Stream.runForEach(mcp.watchResource(uri), (event) => Queue.offer(watching, event)),
          { startImmediately: true }
        )
        assert.deepStrictEqual(yield* Queue.take(watching), { _tag: "Watching", uri })
        const progress = yield* Queue.unbounded<unknown>()
        const waiting = yield* Effect.forkChild(
          mcp.callToolByName(
            "wait",
            { label: "left" },
            { onProgress: (event) => void Queue.offerUnsafe(progress, event) }
          )
        )
        yield* Queue.take(progress)
        assert.strictEqual(yield* call("quit"), "Bye.")
        assert.strictEqual((yield* Effect.flip(Fiber.join(watched)))._tag, "Closed")
        assert.strictEqual((yield* Effect.flip(Fiber.join(waiting)))._tag, "Closed")
      }).pipe(Effect.provide(layerClient(server, { reconnect: false })))
  )
})
