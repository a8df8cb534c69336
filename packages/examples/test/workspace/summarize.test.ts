import { Sampling } from "@effect-mcp/core"
import type { CreateMessageParams } from "@effect-mcp/protocol/model/Sampling"
import { Revision } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Summarize } from "@effect-mcp/examples/workspace/tools"
import { connect } from "./support.ts"

const model = (asked: Array<CreateMessageParams>) =>
  Sampling.layer((params) => {
    asked.push(params)
    return Effect.succeed({ role: "assistant", model: "test", content: { type: "text", text: "It exports a number." } })
  })

describe.each(Revision.all)("Summarize over $version", (revision) => {
  it.effect("summarize passes the file to the client's model and returns its answer", () =>
    Effect.gen(function* () {
      const asked: Array<CreateMessageParams> = []
      const client = yield* Effect.provide(connect(revision), model(asked))
      const { content } = yield* client.callTool(Summarize, { path: "src/index.ts" })
      assert.deepStrictEqual(content, [{ type: "text", text: "It exports a number." }])
      assert.strictEqual(asked.length, 1)
      assert.include(JSON.stringify(asked[0]?.messages), "export const needle = 1")
    })
  )

  it.effect("summarize fails with a reason if the client has no model", () =>
    Effect.gen(function* () {
      const client = yield* connect(revision)
      const error = yield* Effect.flip(client.callTool(Summarize, { path: "src/index.ts" }))
      assert.strictEqual(error._tag, "ToolFailure")
      assert.include(error.message, "needs sampling")
    })
  )
})

describe("Summarize", () => {
  it.effect.each([
    { path: "logo.png", message: "Not a text file: logo.png" },
    { path: "../../etc/passwd", message: "Not in the workspace: ../../etc/passwd" }
  ])("summarize never shows the model $path", ({ message, path }) =>
    Effect.gen(function* () {
      const asked: Array<CreateMessageParams> = []
      const client = yield* Effect.provide(connect(), model(asked))
      assert.strictEqual((yield* Effect.flip(client.callTool(Summarize, { path }))).message, message)
      assert.deepStrictEqual(asked, [])
    })
  )
})
