/** Our client with a server made with Effect's own MCP modules, over any wire. */
import type { McpClient } from "@effect-mcp/client"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, type Layer, Queue, Stream } from "effect"
import { call, client, Host, listening, textOf, untilHeard } from "./our-client.ts"

const options = { excludeTestServices: true }

export const suite = <E>(
  wire: string,
  version: "2025-11-25" | "2026-07-28",
  connected: Layer.Layer<McpClient.McpClient | Host, E>
): void => {
  layer(connected, options)(`Our client drives Effect's own server of ${version} over ${wire}`, (it) => {
    it.effect(
      "Our client detects the server's revision",
      () =>
        Effect.gen(function* () {
          const mcp = yield* client
          assert.strictEqual(mcp.revision.version, version)
          assert.deepInclude(mcp.serverInfo, { name: "effect-ai", version: "4.1.0" })
          assert.strictEqual(mcp.instructions, "Effect's own.")
          yield* mcp.ping
        }),
      verifies("stdio.compatibility.probes")
    )

    it.effect("Our client lists and calls tools and sees their progress", () =>
      Effect.gen(function* () {
        const mcp = yield* client
        const tools = yield* Stream.runCollect(mcp.listTools)
        assert.sameMembers(
          tools.map(({ name }) => name),
          ["add", "echo", "progress", "wait", "ask", "grow", "greet"]
        )
        assert.strictEqual(yield* call("echo", { message: "hello" }), "hello")
        assert.deepInclude(yield* mcp.callToolByName("add", { a: 1, b: 2 }), { structuredContent: { sum: 3 } })
        assert.deepInclude(yield* Effect.flip(mcp.callToolByName("no_such_tool")), { code: -32602 })
        const events = yield* Stream.runCollect(mcp.callToolByNameStream("progress"))
        assert.deepStrictEqual(
          events.map((event) => (event._tag === "Progress" ? event.progress : textOf(event.value))),
          [1, 2, 3, "done"]
        )
      })
    )

    it.effect("Our client reads resources, gets prompts and completes arguments", () =>
      Effect.gen(function* () {
        const mcp = yield* client
        assert.strictEqual((yield* Stream.runCollect(mcp.listResources)).length, 2)
        assert.strictEqual(yield* mcp.readResourceText("effect://text"), "Some text.")
        const { messages } = yield* mcp.getPromptByName("greet", { name: "Ann" })
        assert.deepInclude(messages[0]?.content, { text: "Greet Ann." })
        const ref = { type: "ref/prompt", name: "greet" } as const
        assert.deepStrictEqual((yield* mcp.complete({ ref, argument: { name: "name", value: "A" } })).values, ["Ann"])
      })
    )

    it.effect("Our client cancels a call", () =>
      Effect.gen(function* () {
        const mcp = yield* client
        const progress = yield* Queue.unbounded<unknown>()
        const waiting = yield* Effect.forkChild(
          mcp.callToolByName(
            "wait",
            { label: "first" },
            { onProgress: (event) => void Queue.offerUnsafe(progress, event) }
          )
        )
        yield* Queue.take(progress)
        yield* Fiber.interrupt(waiting)
        const interrupted = mcp.readResourceText("effect://interrupted")
        yield* Effect.repeat(interrupted, { until: (labels): boolean => JSON.parse(labels).includes("first") })
      })
    )

    it.effect("Our client watches a resource, cancels a call and is notified of a new tool", () =>
      Effect.gen(function* () {
        const mcp = yield* client
        const updates = yield* listening(mcp.watchResource("effect://interrupted"))
        yield* Queue.take(updates)
        const progress = yield* Queue.unbounded<unknown>()
        const waiting = yield* Effect.forkChild(
          mcp.callToolByName(
            "wait",
            { label: "given up" },
            { onProgress: (event) => void Queue.offerUnsafe(progress, event) }
          )
        )
        yield* Queue.take(progress)
        yield* Fiber.interrupt(waiting)
        assert.deepInclude(yield* Queue.take(updates), { _tag: "Updated" })
        assert.include(JSON.parse(yield* mcp.readResourceText("effect://interrupted")), "given up")
        const changes = yield* listening(mcp.toolChanges)
        yield* untilHeard(changes, (name) => call("grow", { name }))
        assert.strictEqual(yield* call("leaf"), "I am leaf.")
      })
    )

    if (version === "2026-07-28") {
      it.effect(
        "Our client answers the server's questions in rounds",
        () =>
          Effect.gen(function* () {
            const { answers } = yield* Host
            answers.form = () => ({ action: "accept", content: { name: "Ada" } })
            assert.strictEqual(yield* call("greet"), "Hello, Ada! (a state)")
          }),
        verifies("mrtr.client.state-echoed", "mrtr.client.answers-all")
      )
    } else {
      it.effect("Our client answers the server's questions by request", () =>
        Effect.gen(function* () {
          const { answers } = yield* Host
          answers.form = () => ({ action: "accept", content: { name: "Ada" } })
          assert.strictEqual(yield* call("ask"), "Hello, Ada!")
          answers.form = () => ({ action: "decline" })
          assert.strictEqual(yield* call("ask"), "Hello, a stranger!")
        })
      )
    }

    it.effect("Our client drops no server message", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual((yield* Host).dropped, [])
      })
    )
  })
}
