/** A client whose model answers the servers' questions, in every revision. */
import { ModelSampling } from "@effect-mcp/ai"
import { Sampling, Tool, Tools } from "@effect-mcp/core"
import * as Revision from "@effect-mcp/protocol/Revision"
import type { CreateMessageParams } from "@effect-mcp/protocol/model/Sampling"
import * as McpTest from "@effect-mcp/testing/McpTest"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { AiError, Prompt } from "effect/ai"
import { call, finish, model, text } from "../support/model.ts"

const hello: CreateMessageParams = {
  maxTokens: 10,
  systemPrompt: "Be short",
  messages: [
    { role: "user", content: { type: "text", text: "Hello" } },
    { role: "assistant", content: { type: "text", text: "Hi" } },
    { role: "user", content: { type: "image", data: "AAAA", mimeType: "image/png" } }
  ]
}

/** Calls a tool that asks the client's model, and returns the answer it gets. */
const asking = (revision: Revision.Revision, params: CreateMessageParams) =>
  Effect.gen(function* () {
    const Ask = Tool.make("ask", { description: "Asks the model" })
    const ask = Tools.layer(Ask, () => Effect.map(Sampling.createMessage(params), (result) => JSON.stringify(result)))
    const client = yield* McpTest.connect(ask, revision)
    const { content, isError } = yield* client.callToolByName("ask")
    const [block] = content
    assert(block?.type === "text")
    return isError === true ? block.text : JSON.parse(block.text)
  })
const answering = ({ layer }: ReturnType<typeof model>, options?: ModelSampling.Options) =>
  Layer.provide(ModelSampling.layer(options), layer)

describe.each(Revision.all)("Sampling with a language model in $version", (revision) => {
  it.effect("Sampling returns the model's message for the server's prompt", () =>
    Effect.gen(function* () {
      const double = model([text("A dot"), finish("stop")])
      const result = yield* Effect.provide(asking(revision, hello), answering(double, { name: "double" }))
      assert.deepStrictEqual(result, {
        role: "assistant",
        content: { type: "text", text: "A dot" },
        model: "double",
        stopReason: "endTurn"
      })
      assert.deepStrictEqual(double.asked[0]?.prompt.content, [
        Prompt.systemMessage({ content: "Be short" }),
        Prompt.userMessage({ content: [Prompt.textPart({ text: "Hello" })] }),
        Prompt.assistantMessage({ content: [Prompt.textPart({ text: "Hi" })] }),
        Prompt.userMessage({ content: [Prompt.filePart({ mediaType: "image/png", data: "AAAA" })] })
      ])
    })
  )

  it.effect("Sampling reports that the model ran out of tokens", () =>
    Effect.gen(function* () {
      const result = yield* Effect.provide(asking(revision, hello), answering(model([text("A"), finish("length")])))
      assert.include(result, { stopReason: "maxTokens", model: "unknown" })
    })
  )

  it.effect("Sampling reveals only the kind of a model error to the server", () =>
    Effect.gen(function* () {
      const error = AiError.make({
        module: "test",
        method: "generateText",
        reason: new AiError.AuthenticationError({ kind: "InvalidKey" })
      })
      const failure = yield* Effect.flip(Effect.provide(asking(revision, hello), answering(model(error))))
      assert.include(failure.message, "AuthenticationError")
      assert.notInclude(failure.message, "InvalidKey")
    })
  )

  it.effect("Sampling uses the model hinted at by the server, or else the first", () =>
    Effect.gen(function* () {
      const used: Array<readonly [string, number]> = []
      const choice = (name: string): ModelSampling.ModelChoice => ({
        name,
        use: (generate, { maxTokens }) =>
          Effect.suspend(() => {
            used.push([name, maxTokens])
            return generate
          })
      })
      const layer = answering(model([text("A"), finish("stop")]), { models: [choice("small-1"), choice("large-2")] })
      const hints = { modelPreferences: { hints: [{ name: "none" }, { name: "large" }] } }
      const large = yield* Effect.provide(asking(revision, { ...hello, ...hints }), layer)
      const small = yield* Effect.provide(asking(revision, hello), layer)
      assert.deepStrictEqual([large.model, small.model], ["large-2", "small-1"])
      assert.deepStrictEqual(used, [
        ["large-2", 10],
        ["small-1", 10]
      ])
    })
  )

  const hasTools = revision.version >= "2025-11-25"
  if (hasTools) {
    it.effect("Sampling offers the server's tools to the model and returns its calls to the server", () =>
      Effect.gen(function* () {
        const double = model([text("I look"), call("c2", "look", { at: "sky" }), finish("tool-calls")])
        const params: CreateMessageParams = {
          ...hello,
          messages: [
            { role: "user", content: { type: "text", text: "Look" } },
            { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "look", input: { at: "sea" } }] },
            {
              role: "user",
              content: [{ type: "tool_result", toolUseId: "c1", content: [{ type: "text", text: "Blue" }] }]
            }
          ],
          tools: [{ name: "look", inputSchema: { type: "object" } }],
          toolChoice: { mode: "required" }
        }
        const result = yield* Effect.provide(asking(revision, params), answering(double))
        assert.deepStrictEqual(result.content, [
          { type: "text", text: "I look" },
          { type: "tool_use", id: "c2", name: "look", input: { at: "sky" } }
        ])
        assert.strictEqual(result.stopReason, "toolUse")
        const [asked] = double.asked
        assert.deepStrictEqual([asked?.tools.map(({ name }) => name), asked?.toolChoice], [["look"], "required"])
        assert.deepStrictEqual(asked?.prompt.content.slice(2), [
          Prompt.assistantMessage({
            content: [Prompt.toolCallPart({ id: "c1", name: "look", params: { at: "sea" }, providerExecuted: false })]
          }),
          Prompt.toolMessage({
            content: [
              Prompt.toolResultPart({
                id: "c1",
                name: "look",
                isFailure: false,
                result: "Blue",
                providerExecuted: false
              })
            ]
          })
        ])
      })
    )
  }
})
