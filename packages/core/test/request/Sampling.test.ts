/** Rules for tool uses and their results, which both sides check. */
import * as McpError from "@effect-mcp/protocol/McpError"
import type { SamplingMessage } from "@effect-mcp/protocol/model/Sampling"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import * as Sampling from "../../src/request/Sampling.ts"

const text = (role: "assistant" | "user", value = "t"): SamplingMessage => ({
  role,
  content: { type: "text", text: value }
})
const use = (...ids: ReadonlyArray<string>): SamplingMessage => ({
  role: "assistant",
  content: ids.map((id) => ({ type: "tool_use" as const, id, name: "n", input: {} }))
})
const result = (...ids: ReadonlyArray<string>): SamplingMessage => ({
  role: "user",
  content: ids.map((toolUseId) => ({ type: "tool_result" as const, toolUseId, content: [] }))
})
const as = (role: "assistant" | "user", message: SamplingMessage): SamplingMessage => ({ ...message, role })
const mixed = (message: SamplingMessage): SamplingMessage => ({
  ...message,
  content: [...(Array.isArray(message.content) ? message.content : [message.content]), { type: "text", text: "t" }]
})

const fine: ReadonlyArray<readonly [string, ReadonlyArray<SamplingMessage>]> = [
  ["no message", []],
  ["texts in any order", [text("user"), text("user"), text("assistant")]],
  ["a use and its result", [text("user"), use("a"), result("a")]],
  ["uses and their results in another order", [use("a", "b"), result("b", "a")]],
  ["a use alongside a text", [mixed(use("a")), result("a")]],
  ["the same id used again later", [use("a"), result("a"), use("a"), result("a")]]
]
const wrong: ReadonlyArray<readonly [string, ReadonlyArray<SamplingMessage>]> = [
  ["a use at the end", [use("a")]],
  ["a use without its result", [use("a"), text("user")]],
  ["one result too few", [use("a", "b"), result("a")]],
  ["one result too many", [use("a"), result("a", "b")]],
  ["a result without a use", [result("a")]],
  ["a result twice", [use("a"), result("a", "a")]],
  ["a result one message late", [use("a"), text("user"), result("a")]],
  ["a result alongside a text", [use("a"), mixed(result("a"))]],
  ["a result from the assistant", [use("a"), as("assistant", result("a"))]],
  ["a use from the user", [as("user", use("a")), result("a")]],
  ["an id used twice at once", [use("a", "a"), result("a")]]
]

describe("Sampling messages with tool uses", () => {
  for (const [name, messages] of fine) {
    it.effect(`Messages can contain ${name}`, () => Sampling.check(messages))
  }
  for (const [name, messages] of wrong) {
    it.effect(`Messages that contain ${name} fail with -32602`, () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* Effect.flip(Sampling.check(messages))).code, McpError.InvalidParams)
      })
    )
  }

  it.effect("Messages are validated before a handler asks the model", () =>
    Effect.gen(function* () {
      const proxy = Sampling.proxy(
        {
          ask: () => Effect.die("must not be asked"),
          askExtension: () => Effect.die("must not be asked"),
          once: (_name, _schema, effect) => effect
        },
        { tools: true, context: true }
      )
      const exit = yield* Effect.exit(proxy.createMessage({ messages: [use("a")], maxTokens: 1 }))
      assert.isTrue(Exit.hasFails(exit))
    })
  )
})

describe("Model hints", () => {
  const models = ["gpt-large", "claude-3-haiku", "claude-3-sonnet"]
  const hinted = (...names: ReadonlyArray<string>) =>
    Sampling.hinted(models, { hints: names.map((name) => ({ name })), intelligencePriority: 1, speedPriority: 0 })

  it(
    "The first matching hint selects the first model whose name contains it",
    verifies("sampling.hints.in-order", "sampling.hints.substring", "sampling.security.hints-respected"),
    () => {
      assert.strictEqual(hinted("sonnet", "gpt"), "claude-3-sonnet")
      assert.strictEqual(hinted("gemini", "CLAUDE", "gpt"), "claude-3-haiku")
    }
  )

  it("Priorities count only if no hint matches", verifies("sampling.hints.before-priorities"), () => {
    assert.strictEqual(hinted("haiku"), "claude-3-haiku")
    assert.isUndefined(hinted("gemini"))
    assert.isUndefined(Sampling.hinted(models, undefined))
    assert.isUndefined(Sampling.hinted(models, { hints: [{}] }))
  })
})

it("Sampling.text joins a message's text blocks", () => {
  assert.strictEqual(Sampling.text(text("assistant", "one")), "one")
  assert.strictEqual(Sampling.text(mixed(text("assistant", "one"))), "one\nt")
  assert.strictEqual(Sampling.text(use("a")), "")
})
