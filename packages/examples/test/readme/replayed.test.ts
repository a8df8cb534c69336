import { NodeServices } from "@effect/platform-node"
import { McpClient } from "@effect-mcp/client"
import { Add } from "@effect-mcp/examples/calculator"
import { Cassette } from "@effect-mcp/fuzz"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { fileURLToPath } from "node:url"

// effect-mcp call add a=1 b=2 -- effect-mcp record calculator.jsonl -- node
// calculator-server.ts
const file = fileURLToPath(new URL("calculator.jsonl", import.meta.url))
const calculator = Cassette.replayed(file).pipe(
  Layer.provide(NodeServices.layer)
)

layer(calculator)("recorded calculator", (it) => {
  it.effect("A recorded calculator returns the recorded sum", () =>
    Effect.gen(function* () {
      const client = yield* McpClient.McpClient
      assert.deepStrictEqual(yield* client.callTool(Add, { a: 1, b: 2 }), {
        sum: 3
      })
    })
  )

  it.effect("A request missing from the recording fails", () =>
    Effect.gen(function* () {
      const client = yield* McpClient.McpClient
      const error = yield* Effect.flip(
        Effect.asVoid(client.callToolByName("add", { a: 1, b: 3 }))
      )
      assert.include(error?.message, "does not have this request")
    })
  )
})
