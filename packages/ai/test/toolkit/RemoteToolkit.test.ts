/** Tools of servers as a toolkit for a language model, in every revision. */
import { RemoteToolkit } from "@effect-mcp/ai"
import * as McpClients from "@effect-mcp/client/McpClients"
import { Memory, Progress, Tool, Tools } from "@effect-mcp/core"
import { TransportError } from "@effect-mcp/core/Transport"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpServer from "@effect-mcp/server/McpServer"
import { quiesce } from "@effect-mcp/testing/Quiesce"
import * as McpTest from "@effect-mcp/testing/McpTest"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Schema, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { LanguageModel, Prompt } from "effect/ai"
import { call, finish, model, text } from "../support/model.ts"

const Add = Tool.make("math.add", {
  description: "Adds",
  annotations: { readOnlyHint: true },
  input: { a: Schema.Finite, b: Schema.Finite },
  output: { sum: Schema.Finite }
})
const features = Layer.mergeAll(
  Tools.layer(Add, ({ a, b }) => Effect.as(Progress.report(1, { message: "adding" }), { sum: a + b })),
  Tools.layer(Tool.make("draw", { description: "Draws" }), () =>
    Effect.succeed([
      { type: "text" as const, text: "A dot" },
      { type: "image" as const, data: "AAAA", mimeType: "image/png" }
    ])
  ),
  Tools.layer(Tool.make("fail", { description: "Fails" }), () =>
    Effect.fail(new Tools.ToolFailure({ message: "It is broken" }))
  )
)

describe.each(Revision.all)("tools of a server in $version", (revision) => {
  const connected = McpTest.connect(features, revision)

  it.effect("A language model calls the tools of a server, and reads their results", () =>
    Effect.gen(function* () {
      const toolkit = yield* RemoteToolkit.fromClient(yield* connected)
      const { asked, layer } = model([call("1", "math_add", { a: 1, b: 2 }), finish("tool-calls")])
      const response = yield* Effect.provide(LanguageModel.generateText({ prompt: "1 + 2?", toolkit }), layer)
      assert.deepStrictEqual(
        asked[0]?.tools.map(({ name }) => name),
        ["math_add", "draw", "fail"]
      )
      const [result] = response.toolResults
      assert.isFalse(result?.isFailure)
      assert.deepInclude(result?.encodedResult, {
        content: [{ type: "text", text: `{"sum":3}` }],
        ...(revision.version < "2025-06-18" ? undefined : { structuredContent: { sum: 3 } })
      })
    })
  )

  it.effect("The tools of a server give media to the model as files", () =>
    Effect.gen(function* () {
      const toolkit = yield* RemoteToolkit.fromClient(yield* connected)
      const results = yield* Stream.runCollect(yield* toolkit.handle("draw", {}))
      assert.deepStrictEqual(results.at(-1)?.modelOutput, [
        Prompt.textPart({ text: "A dot" }),
        Prompt.filePart({ mediaType: "image/png", data: "AAAA" })
      ])
    })
  )

  it.effect("The tools of a server report their progress as preliminary results", () =>
    Effect.gen(function* () {
      const toolkit = yield* RemoteToolkit.fromClient(yield* connected)
      const results = yield* Stream.runCollect(yield* toolkit.handle("math_add", { a: 1, b: 2 }))
      const said = revision.rules.progressMessage ? "adding" : "1"
      assert.deepStrictEqual(
        results.map(({ preliminary, result }) => [preliminary, "content" in result ? result.content[0] : result]),
        [
          [true, { type: "text", text: said }],
          [false, { type: "text", text: `{"sum":3}` }]
        ]
      )
    })
  )

  it.effect(
    "A tool of a server fails with a message for the model: of the tool, of the server's refusal, or for input without an object",
    () =>
      Effect.gen(function* () {
        const toolkit = yield* RemoteToolkit.fromClient(yield* connected)
        const failureOf = (name: string, input: unknown) =>
          Effect.map(Effect.flatMap(toolkit.handle(name, input), Stream.runCollect), (results) => {
            const last = results.at(-1)
            assert.isTrue(last?.isFailure)
            return JSON.stringify(last?.encodedResult)
          })
        assert.include(yield* failureOf("fail", {}), "It is broken")
        assert.include(yield* failureOf("math_add", { a: "one" }), "Invalid arguments")
        assert.include(yield* failureOf("draw", "no object"), "must be a JSON object")
      })
  )
})

describe("toolkits of several servers", () => {
  const connected = McpTest.connect(features, "2026-07-28")

  it.effect(
    "A toolkit has the tools that pass its filter, by prefixed names and with the approval of its options",
    () =>
      Effect.gen(function* () {
        const [one, other] = [yield* connected, yield* connected]
        const toolkit = yield* RemoteToolkit.fromClients([
          [one, { prefix: "one_", filter: ({ name }) => name !== "fail" }],
          [other, { needsApproval: ({ annotations }) => annotations?.readOnlyHint !== true }]
        ])
        assert.deepStrictEqual(
          Object.entries(toolkit.tools).map(([name, { needsApproval }]) => [name, needsApproval]),
          [
            ["one_math_add", undefined],
            ["one_draw", undefined],
            ["math_add", false],
            ["draw", true],
            ["fail", true]
          ]
        )
        const { layer } = model([call("1", "one_math_add", { a: 2, b: 2 }), text("done"), finish("tool-calls")])
        const { toolResults } = yield* Effect.provide(LanguageModel.generateText({ prompt: "?", toolkit }), layer)
        assert.lengthOf(toolResults, 1)
      })
  )

  it.effect("A toolkit is refused where two tools have one name for the model", () =>
    Effect.gen(function* () {
      const client = yield* connected
      const error = yield* Effect.flip(RemoteToolkit.fromClients([[client], [client]]))
      assert(error._tag === "NameTaken")
      assert.strictEqual(error.name, "math_add")
    })
  )

  it.effect("A toolkit is made of a table of servers, and the model reads a failure for a server that is gone", () =>
    Effect.gen(function* () {
      const built = yield* Layer.build(McpServer.layer({ name: "test", version: "1", features }))
      const server = Context.get(built, McpServer.McpServer)
      const wire = yield* Scope.make()
      let tries = 0
      const once = Effect.gen(function* () {
        if (tries++ > 0) return yield* new TransportError({ reason: "Open", message: "There is no such process" })
        const [near, far] = yield* Scope.provide(Memory.pair(), wire)
        yield* Scope.provide(server.connect(far), wire)
        return near
      })
      const lasting = Effect.gen(function* () {
        const [near, far] = yield* Memory.pair()
        yield* server.connect(far)
        return near
      })
      const clients = yield* McpClients.make({
        one: McpClients.server({ connector: once }),
        two: McpClients.server({ connector: lasting })
      })
      const toolkit = yield* RemoteToolkit.fromServers(clients, { filter: ({ name }) => name !== "fail" })
      assert.deepStrictEqual(Object.keys(toolkit.tools), ["one_math_add", "one_draw", "two_math_add", "two_draw"])
      const { layer } = model([call("1", "two_math_add", { a: 2, b: 2 }), finish("tool-calls")])
      const { toolResults } = yield* Effect.provide(LanguageModel.generateText({ prompt: "?", toolkit }), layer)
      assert.deepInclude(toolResults[0]?.encodedResult, { structuredContent: { sum: 4 } })
      yield* Scope.close(wire, Exit.void)
      yield* quiesce
      yield* TestClock.adjust("1 second")
      const results = yield* Effect.flatMap(toolkit.handle("one_draw", {}), Stream.runCollect)
      assert.isTrue(results.at(-1)?.isFailure)
      assert.include(JSON.stringify(results.at(-1)?.encodedResult), "The server one is not connected")
    })
  )
})
