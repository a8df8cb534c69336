/** Scripted users, models and tools. */
import { Elicitation, type RequestContext, Tools } from "@effect-mcp/core"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Revision from "@effect-mcp/protocol/Revision"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Schema } from "effect"
import * as ElicitationTest from "../../src/doubles/ElicitationTest.ts"
import * as McpTest from "../../src/McpTest.ts"
import * as SamplingTest from "../../src/doubles/SamplingTest.ts"
import * as ToolsTest from "../../src/doubles/ToolsTest.ts"
import { Bookings, features, Greet, Think } from "../features.ts"

const textOf = (result: { readonly content: ReadonlyArray<object> }) =>
  result.content.map((block) => ("text" in block ? block.text : block))

describe("Scripted user", () => {
  it.effect("A scripted user answers in order and fails after its last answer", () =>
    Effect.gen(function* () {
      const Name = Schema.Struct({ name: Schema.String })
      assert.deepStrictEqual(yield* Elicitation.form("first", Name), { name: "Ada" })
      assert.deepInclude(yield* Effect.flip(Elicitation.form("second", Name)), { _tag: "Declined", action: "decline" })
      assert.deepInclude(yield* Effect.flip(Elicitation.confirm("third")), { _tag: "Declined", action: "cancel" })
      assert.deepInclude(yield* Effect.flip(Elicitation.confirm("fourth")), { _tag: "McpError", code: -32603 })
      const asked = yield* (yield* ElicitationTest.ElicitationTest).asked
      assert.deepStrictEqual(
        asked.map(({ message }) => message),
        ["first", "second", "third", "fourth"]
      )
    }).pipe(Effect.provide(ElicitationTest.layerScripted([{ name: "Ada" }, "decline", "cancel"])))
  )

  it.effect("A scripted answer with an action fails with a hint to list only contents", () =>
    Effect.gen(function* () {
      const Name = Schema.Struct({ name: Schema.String })
      const error = yield* Effect.flip(Elicitation.form("first", Name))
      assert.deepInclude(error, {
        _tag: "McpError",
        message: "The script has { action, content }: list the contents only"
      })
      assert.deepStrictEqual(yield* Elicitation.form("second", Schema.Struct({ action: Schema.String })), {
        action: "wait"
      })
    }).pipe(
      Effect.provide(
        ElicitationTest.layerScripted([
          // @ts-expect-error the content of a form has no objects
          { action: "accept", content: { name: "Ada" } },
          { action: "wait" }
        ])
      )
    )
  )

  for (const revision of Revision.withElicitation) {
    it.effect(`A scripted user is asked over the wire in ${revision.version}`, () =>
      Effect.gen(function* () {
        const client = yield* McpTest.connect(features, revision)
        assert.deepStrictEqual(textOf(yield* client.callTool(Greet, {})), ["Hello Ada"])
        assert.strictEqual((yield* Effect.flip(client.callTool(Greet, {})))._tag, "ToolFailure")
        assert.strictEqual((yield* (yield* ElicitationTest.ElicitationTest).asked).length, 2)
      }).pipe(Effect.provide([Bookings.layerTest, ElicitationTest.layerScripted([{ name: "Ada" }, "cancel"])]))
    )
  }
})

describe("Scripted model", () => {
  for (const revision of Revision.all) {
    it.effect(`A scripted model answers in order over the wire and records the prompts in ${revision.version}`, () =>
      Effect.gen(function* () {
        const client = yield* McpTest.connect(features, revision)
        const think = (about: string) => client.callTool(Think, { about })
        assert.deepStrictEqual(textOf(yield* think("one")), ["I"])
        // With a session, the tool learns of the refusal. Without one, the client does not send the request again.
        assert.deepInclude(
          yield* Effect.flip(think("two")),
          revision.era === "stateful" ? { _tag: "ToolFailure" } : { _tag: "McpError", code: McpError.UserRejected }
        )
        assert.deepInclude(yield* Effect.flip(think("three")), { _tag: "McpError", code: -32603 })
        const prompts = yield* (yield* SamplingTest.SamplingTest).prompts
        assert.deepStrictEqual(
          prompts.map(({ messages }) => messages[0]?.content),
          ["one", "two", "three"].map((text) => ({ type: "text" as const, text }))
        )
      }).pipe(
        Effect.provide([
          Bookings.layerTest,
          SamplingTest.layerScripted(["I", new McpError.McpError({ code: McpError.UserRejected, message: "no" })])
        ])
      )
    )
  }
})

/** The stubs use none of a request's services. */
const provided = <A, E>(effect: Effect.Effect<A, E, RequestContext.RequestServices>): Effect.Effect<A, E> =>
  Effect.provideContext(effect, Context.empty() as Context.Context<RequestContext.RequestServices>)

describe("Stubbed tools", () => {
  it.effect("Stubbed tools answer by name and arguments, and record the calls", () =>
    Effect.gen(function* () {
      const tools = yield* Tools.Tools
      const call = (name: string, args: Record<string, unknown> = {}) =>
        provided(tools.call({ name, arguments: args }) ?? Effect.succeed({ content: [], isError: true }))
      assert.deepStrictEqual(yield* call("fixed"), { content: [{ type: "text", text: "always" }] })
      assert.deepStrictEqual(yield* call("double", { n: 2 }), { content: [{ type: "text", text: "4" }] })
      assert.deepInclude(yield* Effect.flip(call("broken")), { code: -32602 })
      assert.deepStrictEqual(yield* call("toString"), { content: [], isError: true })
      assert.deepStrictEqual(
        (yield* provided(tools.list)).map(({ name }) => name),
        ["fixed", "double", "broken"]
      )
      assert.deepStrictEqual(
        (yield* (yield* ToolsTest.ToolsTest).calls).map(({ name }) => name),
        ["fixed", "double", "broken", "toString"]
      )
    }).pipe(
      Effect.provide(
        ToolsTest.layerStub({
          fixed: "always",
          double: ({ n }) => String(Number(n) * 2),
          broken: McpError.invalidParams("no")
        })
      )
    )
  )
})
