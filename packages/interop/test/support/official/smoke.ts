/** A smoke test of an official client: a list, a call with progress, and a question with its answer. */
import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { toolNames } from "../names.ts"
import type { Official } from "../official.ts"
import { answering, call, using } from "./calls.ts"

export const smoke = (it: Vitest.MethodsNonLive<Official>): void => {
  it.effect("The SDK client lists tools, follows a call and answers a server question", () =>
    Effect.gen(function* () {
      const tools = yield* using((client) => client.allTools())
      assert.deepStrictEqual(
        tools.map(({ name }) => name),
        toolNames
      )
      assert.deepStrictEqual((yield* call("add", { a: 1.5, b: 2 })).structuredContent, { sum: 3.5 })
      const events: Array<number> = []
      yield* using((client) =>
        client.callTool("test_tool_with_progress", {}, { onprogress: ({ progress }) => void events.push(progress) })
      )
      assert.deepStrictEqual(events, [0, 50, 100])
      yield* answering("elicitation/create", () => ({ action: "decline" }))
      const { content } = yield* call("test_elicitation", { message: "Who are you?" })
      assert.strictEqual(content[0].text, "User response: action=decline, content={}")
    })
  )
}
