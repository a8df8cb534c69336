import { Revision } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Review } from "@effect-mcp/examples/workspace/tools"
import { connect } from "./support.ts"

describe.each(Revision.all)("Review prompt over $version", (revision) => {
  it.effect("The review prompt contains the file, and the focus if given", () =>
    Effect.gen(function* () {
      const client = yield* connect(revision)
      const { messages } = yield* client.getPrompt(Review, { path: "src/index.ts", focus: "naming" })
      assert.deepStrictEqual(messages, [
        { role: "user", content: { type: "text", text: "Review src/index.ts. Look at naming first." } },
        {
          role: "user",
          content: {
            type: "resource",
            resource: {
              uri: "file:///workspace/src/index.ts",
              mimeType: "text/typescript",
              text: "export const needle = 1\n"
            }
          }
        }
      ])
      const plain = yield* client.getPrompt(Review, { path: "src/index.ts" })
      assert.deepStrictEqual(plain.messages[0]?.content, { type: "text", text: "Review src/index.ts." })
    })
  )

  it.effect("The review prompt completes focuses and paths, first by prefix, then by substring", () =>
    Effect.gen(function* () {
      const client = yield* connect(revision)
      const complete = (name: string, value: string) =>
        Effect.map(
          client.complete({ ref: { type: "ref/prompt", name: "review" }, argument: { name, value } }),
          ({ values }) => values
        )
      assert.deepStrictEqual(yield* complete("path", "R"), ["README.md", "src/deep/a b#c.ts", "src/index.ts"])
      assert.deepStrictEqual(yield* complete("path", "src/d"), ["src/deep/a b#c.ts"])
      assert.deepStrictEqual(yield* complete("focus", "n"), ["naming"])
      assert.deepStrictEqual(yield* complete("focus", "x"), [])
    })
  )
})

describe("Review prompt", () => {
  it.effect.each(["nope.ts", "../secret", "/etc/passwd"])(
    "The review prompt answers -32602 for %s, without saying why",
    (path) =>
      Effect.gen(function* () {
        const client = yield* connect()
        const error = yield* Effect.flip(client.getPrompt(Review, { path }))
        assert.deepInclude(error, { _tag: "McpError", code: -32602, message: `Not in the workspace: ${path}` })
      })
  )
})
