import * as Revision from "@effect-mcp/protocol/Revision"
import * as Tool from "@effect-mcp/core/Tool"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema, Stream } from "effect"
import { fileURLToPath } from "node:url"
import * as McpClient from "@effect-mcp/client/McpClient"
import * as Scripted from "./support/scripted.ts"

const Add = Tool.make("add", {
  description: "Adds",
  input: { a: Schema.Int, b: Schema.Int },
  output: { sum: Schema.Int }
})

describe.each(Revision.stateful.map((r) => r.version))("smoke %s", (version) => {
  it.effect("talks", () =>
    Effect.gen(function* () {
      const server = yield* Scripted.make({
        version,
        answers: {
          "tools/list": () => ({ tools: [Add.descriptor] }),
          "tools/call": ({ arguments: a }: any) => ({
            content: [{ type: "text", text: JSON.stringify({ sum: a.a + a.b }) }],
            structuredContent: { sum: a.a + a.b }
          })
        }
      })
      const client = yield* McpClient.connect(server.transport)
      assert.strictEqual(client.revision.version, version)
      const tools = yield* Stream.runCollect(client.tools)
      assert.strictEqual(tools.length, 1)
      assert.deepStrictEqual(yield* client.call(Add, { a: 1, b: 2 }), { sum: 3 })
      assert.deepStrictEqual((yield* client.callTool("add", { a: 1, b: 2 })).structuredContent, { sum: 3 })
    })
  )
})

const fixture = fileURLToPath(new URL("./fixtures/server.ts", import.meta.url))

it.live("talks to a process", () =>
  Effect.gen(function* () {
    const client = yield* McpClient.McpClient
    assert.deepStrictEqual(yield* client.call(Add, { a: 1, b: 2 }), { sum: 3 })
  }).pipe(
    Effect.provide(
      McpClient.layerStdio({ command: process.execPath, args: [fixture] }).pipe(Layer.provide(NodeServices.layer))
    )
  )
)
