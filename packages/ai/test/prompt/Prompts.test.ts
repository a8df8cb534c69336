/** Server prompts for a language model, and `effect/ai` prompts on a server, in every revision. */
import { RemotePrompt, ServedPrompt } from "@effect-mcp/ai"
import { Prompt as McpPrompt, Prompts } from "@effect-mcp/core"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpTest from "@effect-mcp/testing/McpTest"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { LanguageModel, Prompt } from "effect/ai"
import { finish, model, text } from "../support/model.ts"

const Review = McpPrompt.make("review", { arguments: { file: Schema.String } })

/** An `effect/ai` prompt. */
const reviewing = (file: string) =>
  Prompt.fromMessages([
    Prompt.systemMessage({ content: "Be brief" }),
    Prompt.userMessage({
      content: [
        Prompt.textPart({ text: `Review ${file}` }),
        Prompt.filePart({ mediaType: "image/png", data: new Uint8Array([1, 2, 3]) }),
        Prompt.filePart({ mediaType: "application/pdf", fileName: "a b.pdf", data: "AQID" })
      ]
    }),
    Prompt.assistantMessage({
      content: [Prompt.reasoningPart({ text: "hm" }), Prompt.textPart({ text: "Which part?" })]
    }),
    Prompt.userMessage({
      content: [Prompt.filePart({ mediaType: "text/html", data: new URL("https://example.com/spec") })]
    })
  ])

const features = Layer.mergeAll(
  Prompts.layer(Review, ({ file }) => Effect.sync(() => ServedPrompt.messages(reviewing(file)))),
  Prompts.layer(McpPrompt.make("broken"), () =>
    Effect.sync(() =>
      ServedPrompt.messages(
        Prompt.fromMessages([
          Prompt.assistantMessage({
            content: [Prompt.toolCallPart({ id: "1", name: "x", params: {}, providerExecuted: false })]
          })
        ])
      )
    )
  )
)

describe.each(Revision.all)("Prompts in $version", (revision) => {
  it.effect("A served prompt has one message per part and reaches a model unchanged", () =>
    Effect.gen(function* () {
      const client = yield* McpTest.connect(features, revision)
      const { messages } = yield* client.getPrompt(Review, { file: "main.ts" })
      const isLinked = revision.version >= "2025-06-18"
      assert.deepStrictEqual(
        messages.map(({ content, role }) => `${role} ${content.type}`),
        [
          "user text",
          "user text",
          "user image",
          "user resource",
          "assistant text",
          isLinked ? "user resource_link" : "user text"
        ]
      )
      const prompt = yield* RemotePrompt.get(client, Review, { file: "main.ts" })
      assert.deepStrictEqual(
        prompt.content.map(({ role }) => role),
        ["user", "assistant", "user"]
      )
      assert.deepStrictEqual(prompt.content[0]?.content, [
        Prompt.textPart({ text: "Be brief" }),
        Prompt.textPart({ text: "Review main.ts" }),
        Prompt.filePart({ mediaType: "image/png", data: "AQID" }),
        Prompt.filePart({ mediaType: "application/pdf", fileName: "file:///a%20b.pdf", data: "AQID" })
      ])
      assert.include(JSON.stringify(prompt.content[2]?.content), "https://example.com/spec")
      const { asked, layer } = model([text("Fine"), finish("stop")])
      yield* Effect.provide(LanguageModel.generateText({ prompt }), layer)
      assert.lengthOf(asked[0]?.prompt.content ?? [], 3)
    })
  )

  it("A skill becomes a message of the user, without characters that hide text", () => {
    const skill = { prompt: "<mcp-skill-1>\nRefund\u200b it\n</mcp-skill-1>" }
    const { content } = RemotePrompt.fromSkill(skill)
    assert.deepStrictEqual(
      content.map(({ content, role }) => [role, content]),
      [["user", [Prompt.textPart({ text: "<mcp-skill-1>\nRefund it\n</mcp-skill-1>" })]]]
    )
    const [raw] = RemotePrompt.fromSkill(skill, { raw: true }).content
    assert.deepStrictEqual(raw?.content, [Prompt.textPart({ text: skill.prompt })])
  })

  it.effect("A prompt with tool calls is a defect", () =>
    Effect.gen(function* () {
      const client = yield* McpTest.connect(features, revision)
      const error = yield* Effect.flip(RemotePrompt.getByName(client, "broken"))
      assert.deepInclude(error, { _tag: "McpError", code: -32603 })
    })
  )
})
