/** The client's model uses tools of a handler, in sessions and in rounds. */
import * as Sampling from "@effect-mcp/core/Sampling"
import * as Tool from "@effect-mcp/core/Tool"
import * as ToolLoop from "@effect-mcp/core/ToolLoop"
import * as Tools from "@effect-mcp/core/Tools"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { everyVersion, session } from "../support/raw.ts"

const Add = Tool.make("add", {
  description: "Adds",
  input: { a: Schema.Finite, b: Schema.Finite },
  output: { sum: Schema.Finite },
  failure: Schema.Struct({ tooLarge: Schema.Finite })
})
const Solve = Tool.make("solve", { description: "Solves" })

const use = (id: string, name: string, input: object) => ({ type: "tool_use", id, name, input, _meta: { "x/id": id } })
const message = (...content: ReadonlyArray<object>) => ({ role: "assistant", model: "double", content })
const text = { type: "text", text: "42" }

const versions = everyVersion().filter((version) => version >= "2025-11-25")

describe.each(versions)("a loop of tools (%s)", (version) => {
  /** Calls a tool whose handler loops. The model gives these answers, and the last one again and again. */
  const solved = Effect.fnUntraced(function* (answers: ReadonlyArray<object>, options?: ToolLoop.Options) {
    const prompts: Array<any> = []
    let runs = 0
    const add = ToolLoop.tool(Add, ({ a, b }) => {
      runs++
      return a > 100 ? Effect.fail({ tooLarge: a }) : Effect.succeed({ sum: a + b })
    })
    const solve = Tools.layer(Solve, () =>
      ToolLoop.run(
        { messages: [{ role: "user", content: { type: "text", text: "?" } }], maxTokens: 9 },
        [add],
        options
      ).pipe(Effect.map(Sampling.text))
    )
    const client = yield* session(solve, {
      version,
      capabilities: { sampling: { tools: {} } },
      answer: (_method, params) =>
        Effect.sync(() => {
          prompts.push(params)
          return answers[Math.min(prompts.length, answers.length) - 1]
        })
    })
    return { result: yield* client.call("solve"), prompts, runs: () => runs }
  })

  it.effect(
    "The model receives the result of each tool it calls",
    () =>
      Effect.gen(function* () {
        const first = message(
          { type: "text", text: "Let me see" },
          use("1", "add", { a: 1, b: 2 }),
          use("2", "add", { a: 3, b: 4 })
        )
        const second = message(use("3", "add", { a: 3, b: 7 }))
        const { prompts, result, runs } = yield* solved([first, second, message(text)])
        assert.deepStrictEqual(result.content, [text])
        assert.strictEqual(runs(), 3)
        assert.lengthOf(prompts, 3)
        assert.deepStrictEqual(
          prompts[0].tools.map(({ name }: any) => name),
          ["add"]
        )
        const sum = (toolUseId: string, sum: number) => ({
          type: "tool_result",
          toolUseId,
          content: [{ type: "text", text: JSON.stringify({ sum }) }],
          structuredContent: { sum }
        })
        assert.deepStrictEqual(prompts[2].messages.slice(1), [
          { role: "assistant", content: first.content },
          { role: "user", content: [sum("1", 3), sum("2", 7)] },
          { role: "assistant", content: second.content },
          { role: "user", content: [sum("3", 10)] }
        ])
      }),
    verifies("sampling.tools.structured-result-conforms", "sampling.tools.meta-preserved")
  )

  it.effect("Failures of tools, wrong arguments and unknown tools are results with isError", () =>
    Effect.gen(function* () {
      const { prompts, result } = yield* solved([
        message(use("1", "add", { a: 101, b: 2 }), use("2", "add", { a: "x" }), use("3", "toString", {})),
        message(text)
      ])
      assert.deepStrictEqual(result.content, [text])
      const results: ReadonlyArray<any> = prompts[1].messages.at(-1).content
      assert.deepStrictEqual(
        results.map(({ isError }) => isError),
        [true, true, true]
      )
      const texts = results.map(({ content }) => content[0].text)
      assert.include(texts[0], "101")
      assert.include(texts[1], "Invalid arguments for tool add")
      assert.include(texts[2], 'The model called an unknown tool: "toString"')
    })
  )

  it.effect(
    "After the last iteration, the model is asked to answer without tools",
    () =>
      Effect.gen(function* () {
        const again = message(use("1", "add", { a: 1, b: 2 }))
        const obeys = yield* solved([again, again, message(text)], { iterations: 2 })
        assert.deepStrictEqual(obeys.result.content, [text])
        assert.deepStrictEqual(
          obeys.prompts.map(({ toolChoice }) => toolChoice),
          [undefined, undefined, { mode: "none" }]
        )
        const insists = yield* solved([again], { iterations: 2 })
        assert.isTrue(insists.result.isError)
        assert.include(insists.result.content[0].text, "called tools 2 times in a row")
        assert.strictEqual(insists.runs(), 2)
        assert.lengthOf(insists.prompts, 3)
      }),
    verifies("sampling.tools.iteration-limit")
  )

  it.effect("A client whose model cannot use tools is not asked", () =>
    Effect.gen(function* () {
      const solve = Tools.layer(Solve, () =>
        ToolLoop.run<never>({ messages: [], maxTokens: 9 }, []).pipe(
          Effect.map(Sampling.text),
          Effect.catchTag("CapabilityMissing", ({ capability }) => Effect.succeed(capability))
        )
      )
      const client = yield* session(solve, { version, capabilities: { sampling: {} } })
      assert.deepStrictEqual((yield* client.call("solve")).content, [{ type: "text", text: "sampling.tools" }])
    })
  )
})
