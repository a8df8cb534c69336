/** Our client's answers when a server asks for its model, user or roots. */
import type { McpClient } from "@effect-mcp/client"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, type Vitest } from "@effect/vitest"
import { Effect, Queue, SubscriptionRef } from "effect"
import { call, client, Host, listening } from "./our-client.ts"

export const asking = (it: Vitest.MethodsNonLive<McpClient.McpClient | Host>): void => {
  it.effect("Our client answers with its host's model", () =>
    Effect.gen(function* () {
      const { answers } = yield* Host
      answers.createMessage = ({ messages, systemPrompt }) => ({
        role: "assistant",
        model: "parrot",
        content: { type: "text", text: `${messages[0].content.text} (${systemPrompt})` }
      })
      assert.strictEqual(yield* call("sample", { prompt: "Say it" }), "parrot: Say it (Be brief.)")
    })
  )

  it.effect("Our client answers forms with the user's action", () =>
    Effect.gen(function* () {
      const { answers } = yield* Host
      answers.form = ({ requestedSchema }) => {
        assert.deepStrictEqual(requestedSchema.properties.color, { type: "string", enum: ["red", "green"] })
        return { action: "accept", content: { name: "Ada", age: 36 } }
      }
      assert.deepStrictEqual(JSON.parse(yield* call("ask")), {
        action: "accept",
        content: { name: "Ada", age: 36 }
      })
      answers.form = () => ({ action: "decline" })
      assert.deepStrictEqual(JSON.parse(yield* call("ask")), { action: "decline" })
    })
  )

  it.effect("Our client consents to a URL and is notified of its completion", () =>
    Effect.gen(function* () {
      const { answers } = yield* Host
      const completed = yield* listening(yield* Effect.map(client, (mcp) => mcp.elicitationsCompleted))
      let asked: unknown
      answers.url = (params) => {
        asked = params
        return { action: "accept" }
      }
      assert.strictEqual(yield* call("visit", { url: "https://example.com/", id: "id-1" }), "accept")
      assert.deepInclude(asked, { mode: "url", url: "https://example.com/", elicitationId: "id-1" })
      assert.strictEqual(yield* Queue.take(completed), "id-1")
    })
  )

  it.effect(
    "Our client sends its roots and notifies the server when they change",
    () =>
      Effect.gen(function* () {
        const mcp = yield* client
        const { roots } = yield* Host
        assert.deepStrictEqual(JSON.parse(yield* call("roots")), [{ uri: "file:///old", name: "Old" }])
        const events = yield* listening(mcp.watchResource("fixture://roots"))
        yield* Queue.take(events)
        yield* SubscriptionRef.set(roots, [{ uri: "file:///new" }])
        yield* Queue.take(events)
        assert.deepStrictEqual(JSON.parse(yield* mcp.readResourceText("fixture://roots")), [{ uri: "file:///new" }])
      }),
    verifies("roots.capability.declared", "roots.list-changed.sent")
  )
}
