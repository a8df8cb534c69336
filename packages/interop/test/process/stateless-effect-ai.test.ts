/**
 * Effect's own MCP modules with ours, each as client and as server, in the two revisions that Effect's client speaks.
 */
import { NodeServices } from "@effect/platform-node"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Schema } from "effect"
import { McpClient as EffectClient, McpProtocol } from "effect/ai"
import { ChildProcess } from "effect/process"
import { inlineTools } from "../support/names.ts"
import { serverFile } from "../support/official.ts"
import { suite } from "../support/effect-ai-suite.ts"
import { client, fileOf, layerClient } from "../support/our-client.ts"

const options = { excludeTestServices: true }
const protocols = [McpProtocol.v2026_07_28, McpProtocol.v2025_11_25] as const
const theirServer = fileOf("../fixtures/effect-ai-server.ts")

const theirClient = (protocol: (typeof protocols)[number]) =>
  EffectClient.layerStdio({
    name: "effect-ai",
    version: "4.1.0",
    command: ChildProcess.make(process.execPath, [serverFile, "--stdio"]),
    protocol
  }).pipe(Layer.provide(NodeServices.layer))

for (const protocol of protocols) {
  const version = protocol.protocolVersion

  layer(theirClient(protocol), options)(`Effect's own client drives the reference server in ${version}`, (it) => {
    const tool = Effect.fnUntraced(function* (name: string) {
      const tools = yield* (yield* EffectClient.McpClient).listTools()
      const tool = tools.find((tool) => tool.name === name)
      assert(tool !== undefined, name)
      return tool
    })

    it.effect("Effect's client negotiates the revision and lists everything", () =>
      Effect.gen(function* () {
        const mcp = yield* EffectClient.McpClient
        assert.strictEqual(mcp.protocolVersion, version)
        assert.strictEqual(mcp.serverInfo?.name, "effect-mcp-everything")
        assert.match(mcp.instructions ?? "", /Call anything/)
        assert.deepStrictEqual(
          (yield* mcp.listTools()).map(({ name }) => name),
          // In 2025-11-25 its client omits tools that only run as a task; in 2026-07-28 the server does.
          inlineTools
        )
        assert.strictEqual((yield* mcp.listResources()).length, 6)
        assert.strictEqual((yield* mcp.listPrompts()).length, 5)
      })
    )

    it.effect("Effect's client calls tools with every kind of content and receives their failures", () =>
      Effect.gen(function* () {
        const mcp = yield* EffectClient.McpClient
        const schema = Schema.Struct({ sum: Schema.Finite })
        assert.deepStrictEqual(yield* mcp.callTool({ tool: yield* tool("add"), schema, arguments: { a: 1, b: 2 } }), {
          sum: 3
        })
        const mixed = yield* mcp.callTool({ tool: yield* tool("test_multiple_content_types") })
        assert.deepStrictEqual(
          mixed.content.map(({ type }) => type),
          ["text", "image", "resource"]
        )
        assert.isTrue((yield* mcp.callTool({ tool: yield* tool("test_error_handling") })).isError)
        const refused = yield* Effect.flip(mcp.callTool({ tool: yield* tool("fail"), arguments: { as: "protocol" } }))
        assert.deepInclude(refused.reason, { _tag: "ProtocolError", code: -32602 })
      })
    )

    it.effect("Effect's client reads resources and gets prompts", () =>
      Effect.gen(function* () {
        const mcp = yield* EffectClient.McpClient
        const { contents } = yield* mcp.readResource({ uri: "test://template/7/data" })
        assert.deepInclude(contents[0], { mimeType: "application/json" })
        const missing = yield* Effect.flip(mcp.readResource({ uri: "test://nowhere" }))
        assert.deepInclude(missing.reason, { code: version === "2026-07-28" ? -32602 : -32002 })
        const prompts = yield* mcp.listPrompts()
        const prompt = prompts.find(({ name }) => name === "test_prompt_with_arguments")
        assert(prompt !== undefined)
        const { messages } = yield* mcp.getPrompt({ prompt, arguments: { arg1: "a", arg2: "b" } })
        assert.deepInclude(messages[0]?.content, { text: "Prompt with arguments: arg1='a', arg2='b'" })
      })
    )

    it.effect("Effect's client stops a handler by interrupting its call", () =>
      Effect.gen(function* () {
        const mcp = yield* EffectClient.McpClient
        const slow = yield* tool("slow")
        const waiting = yield* Effect.forkChild(mcp.callTool({ tool: slow, arguments: { label: "given up" } }), {
          startImmediately: true
        })
        // The request is written before the next one and gets no answer.
        yield* mcp.callTool({ tool: yield* tool("echo"), arguments: { message: "first" } })
        yield* Fiber.interrupt(waiting)
        const labels = Effect.map(mcp.readResource({ uri: "test://interruptions" }), ({ contents: [content] }) =>
          content !== undefined && "text" in content ? content.text : ""
        )
        while ((yield* labels) === "[]") yield* Effect.yieldNow
        assert.strictEqual(yield* labels, JSON.stringify(["given up"]))
      })
    )

    it.effect(
      "Effect's client is asked nothing, because it declares nothing",
      () =>
        Effect.gen(function* () {
          const mcp = yield* EffectClient.McpClient
          const asking = yield* tool("test_input_required_result_elicitation")
          if (version === "2026-07-28") {
            const { reason } = yield* Effect.flip(mcp.callTool({ tool: asking }))
            assert.deepInclude(reason, { _tag: "ProtocolError", code: -32021 })
          } else assert.isTrue((yield* mcp.callTool({ tool: asking })).isError)
          const either = yield* mcp.callTool({ tool: yield* tool("test_input_required_result_capabilities") })
          assert.deepInclude(either.content[0], { text: "User: nobody; model: nobody" })
        }),
      verifies("mrtr.questions.declared")
    )
  })

  suite("stdio", version, layerClient([theirServer, version]))
}

describe("Our client and Effect's own dual-revision server", () => {
  it.live("Our client and Effect's server negotiate the newer revision", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* client).revision.version, "2026-07-28")
    }).pipe(Effect.provide(layerClient([theirServer])))
  )
})
