/** Schemas of upstream tools, as clients of a gateway see them. */
import { Memory, Tool, Tools } from "@effect-mcp/core"
import * as McpServer from "@effect-mcp/server/McpServer"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Schema, Stream } from "effect"
import * as McpClient from "@effect-mcp/client/McpClient"
import * as Gateway from "../src/Gateway.ts"

const File = Schema.Struct({
  kind: Schema.Literal("file"),
  path: Schema.String,
  "date<": Schema.optionalKey(Schema.String)
})
const Page = Schema.Struct({ kind: Schema.Literal("page"), url: Schema.String })
const Open = Tool.make("open", { description: "Opens", input: Schema.Union([File, Page]) })
const upstream = McpServer.layer({
  name: "behind",
  version: "1.0.0",
  features: Tools.layer(Open, (input) => Effect.succeed(input.kind === "file" ? input.path : input.url)),
  portability: "off"
})

const connected = (portability?: "project" | "off") =>
  Effect.gen(function* () {
    const { connect } = yield* Effect.map(Layer.build(upstream), Context.get(McpServer.McpServer))
    const connector = Effect.gen(function* () {
      const [near, far] = yield* Memory.pair()
      yield* connect(far)
      return near
    })
    const gateway = yield* Layer.build(Gateway.layer({ connector, portability }))
    const [near, far] = yield* Memory.pair()
    yield* Context.get(gateway, McpServer.McpServer).connect(far)
    return yield* McpClient.connect(near)
  })

describe("The schemas of upstream tools", () => {
  it.effect("Are forwarded unchanged by default", () =>
    Effect.gen(function* () {
      const [tool] = yield* Stream.runCollect((yield* connected()).listTools)
      assert.property(tool?.inputSchema, "anyOf")
    })
  )

  it.effect("Are projected with portability, and calls to each union member are forwarded unchanged", () =>
    Effect.gen(function* () {
      const client = yield* connected("project")
      const [tool] = yield* Stream.runCollect(client.listTools)
      assert.notProperty(tool?.inputSchema, "anyOf")
      assert.property(tool?.inputSchema["properties"], "date<")
      for (const [input, said] of [
        [{ kind: "file", path: "a.txt", "date<": "May" }, "a.txt"],
        [{ kind: "page", url: "x:y" }, "x:y"]
      ] as const) {
        const { content } = yield* client.callToolByName("open", input)
        assert.deepStrictEqual(content, [{ type: "text", text: said }])
      }
    })
  )
})
