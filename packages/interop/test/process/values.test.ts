/** Outputs of every JSON type, typed by a Tool value, over every transport and in every revision. */
import { Tool, Tools } from "@effect-mcp/core"
import { Revision } from "@effect-mcp/protocol"
import { Harness } from "@effect-mcp/testing"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Schema, Stream } from "effect"
import { gateway, http, node, socket, sse, web } from "../support/harnesses.ts"

const values = {
  object: Tool.make("object", { description: "An object.", output: { sum: Schema.Finite } }),
  array: Tool.make("array", { description: "An array.", output: Schema.Array(Schema.Struct({ id: Schema.Int })) }),
  text: Tool.make("text", { description: "A string.", output: Schema.String }),
  number: Tool.make("number", { description: "A number.", output: Schema.Finite }),
  nothing: Tool.make("nothing", { description: "Null.", output: Schema.Null }),
  either: Tool.make("either", {
    description: "Either of two objects.",
    output: Schema.Union([Schema.Struct({ a: Schema.Int }), Schema.Struct({ b: Schema.Int })])
  })
}
const features = Layer.mergeAll(
  Tools.layer(values.object, () => Effect.succeed({ sum: 3 })),
  Tools.layer(values.array, () => Effect.succeed([{ id: 1 }, { id: 2 }])),
  Tools.layer(values.text, () => Effect.succeed("seven")),
  Tools.layer(values.number, () => Effect.succeed(7)),
  Tools.layer(values.nothing, () => Effect.succeed(null)),
  Tools.layer(values.either, () => Effect.succeed({ b: 1 }))
)

const cases = [
  ...Harness.cases(Revision.all, [Harness.memory, Harness.bytes, socket, http, node, web, gateway]),
  ...Harness.cases(Revision.stateful, [sse])
]

it.live.each(cases)("Output of any JSON type is typed, and its schema is listed if allowed ($title)", (one) =>
  Effect.gen(function* () {
    const { anyStructuredContent, structuredOutput } = one.revision.rules
    const client = yield* one.open(features)
    const listed = yield* Stream.runCollect(client.listTools)
    assert.deepStrictEqual(
      listed.filter(({ outputSchema }) => outputSchema !== undefined).map(({ name }) => name),
      anyStructuredContent ? Object.keys(values) : structuredOutput ? ["object", "either"] : []
    )
    assert.deepStrictEqual(yield* client.callTool(values.object, {}), { sum: 3 })
    assert.deepStrictEqual(yield* client.callTool(values.array, {}), [{ id: 1 }, { id: 2 }])
    assert.strictEqual(yield* client.callTool(values.text, {}), "seven")
    assert.strictEqual(yield* client.callTool(values.number, {}), 7)
    assert.isNull(yield* client.callTool(values.nothing, {}))
    assert.deepStrictEqual(yield* client.callTool(values.either, {}), { b: 1 })
  })
)
