/** The server's name and its tools. */
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { toolNames } from "../names.ts"
import { Official } from "../official.ts"
import { call, failure, listening, updated, using } from "./calls.ts"

export const tools = (it: Vitest.MethodsNonLive<Official>, name: string): void => {
  it.effect(
    "The SDK client receives the server's name and capabilities",
    () =>
      Effect.gen(function* () {
        const { client } = yield* Official
        assert.deepStrictEqual(client.getServerVersion(), {
          name: "effect-mcp-everything",
          version: "0.1.0",
          title: "Everything",
          description: "The reference server of effect-mcp."
        })
        assert.match(client.getInstructions() ?? "", /every feature of the protocol/)
        const declared: { readonly extensions?: object; readonly tasks?: object } = client.getServerCapabilities() ?? {}
        const { extensions, tasks, ...capabilities } = declared
        assert.containsAllKeys(extensions, ["io.modelcontextprotocol/skills"])
        assert.deepInclude(tasks ?? {}, { cancel: {}, requests: { tools: { call: {} } } })
        assert.deepStrictEqual(capabilities, {
          logging: {},
          tools: { listChanged: true },
          resources: { listChanged: true, subscribe: true },
          prompts: { listChanged: true },
          completions: {}
        })
      }),
    verifies(
      "lifecycle.initialize.response",
      "tools.capability.declared",
      "resources.capability.declared",
      "prompts.capability.declared",
      "completion.capability.declared",
      "logging.capability.declared"
    )
  )

  it.effect(
    "The SDK client receives an empty answer to a ping",
    () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* using((client) => client.ping()), {})
      }),
    verifies("ping.receiver.empty-response")
  )

  it.effect(
    "The SDK client lists every tool, and a foreign input schema verbatim",
    () =>
      Effect.gen(function* () {
        const tools = yield* using((client) => client.allTools())
        assert.deepStrictEqual(
          tools.map(({ name }) => name).filter((name) => !name.startsWith("grown_")),
          toolNames
        )
        const schemaOf = (name: string) => tools.find((tool) => tool.name === name)?.inputSchema
        assert.deepStrictEqual(schemaOf("test_simple_text"), {
          type: "object",
          properties: {},
          additionalProperties: false
        })
        assert.deepStrictEqual(schemaOf("json_schema_2020_12_tool"), {
          $schema: "https://json-schema.org/draft/2020-12/schema",
          type: "object",
          $defs: {
            address: {
              $anchor: "addressDef",
              type: "object",
              properties: { street: { type: "string" }, city: { type: "string" } }
            }
          },
          properties: {
            name: { type: "string" },
            address: { $ref: "#/$defs/address" },
            contactMethod: { type: "string", enum: ["phone", "email"] },
            phone: { type: "string" },
            email: { type: "string" }
          },
          allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
          if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
          then: { required: ["phone"] },
          else: { required: ["email"] },
          additionalProperties: false
        })
      }),
    verifies("tools.definition.input-schema-object", "tools.definition.no-parameters", "tools.name.unique")
  )

  it.effect("The SDK client receives every kind of content, even without sending arguments", () =>
    Effect.gen(function* () {
      const contents = (name: string) => Effect.map(call(name), (result) => result.content)
      assert.deepStrictEqual(yield* contents("test_simple_text"), [
        { type: "text", text: "This is a simple text response for testing." }
      ])
      const [image] = yield* contents("test_image_content")
      assert.deepInclude(image, { type: "image", mimeType: "image/png" })
      assert.strictEqual(Buffer.from(image.data, "base64").toString("latin1", 1, 4), "PNG")
      const [audio] = yield* contents("test_audio_content")
      assert.deepInclude(audio, { type: "audio", mimeType: "audio/wav" })
      assert.strictEqual(Buffer.from(audio.data, "base64").toString("latin1", 8, 12), "WAVE")
      assert.deepStrictEqual(yield* contents("test_embedded_resource"), [
        {
          type: "resource",
          resource: {
            uri: "test://embedded-resource",
            mimeType: "text/plain",
            text: "This is an embedded resource content."
          }
        }
      ])
      const mixed: ReadonlyArray<{ readonly type: string }> = yield* contents("test_multiple_content_types")
      assert.deepStrictEqual(
        mixed.map(({ type }) => type),
        ["text", "image", "resource"]
      )
    })
  )

  it.effect(
    "The SDK client receives a structured result along with its text",
    () =>
      Effect.gen(function* () {
        // Clients check results against the schemas that they have listed.
        yield* using((client) => client.allTools())
        const { structuredContent, content } = yield* call("add", { a: 1.5, b: 2 })
        assert.deepStrictEqual(structuredContent, { sum: 3.5 })
        assert.deepStrictEqual(JSON.parse(content[0].text), { sum: 3.5 })
      }),
    verifies("tools.result.structured-text-mirror", "tools.result.structured-conforms")
  )

  it.effect("The SDK client receives a megabyte in one piece", () =>
    Effect.gen(function* () {
      const { content } = yield* call("big", { bytes: 1_000_000 })
      assert.strictEqual(content[0].text.length, 1_000_000)
    })
  )

  it.effect(
    "The SDK client receives the right answers to a hundred concurrent calls",
    () =>
      Effect.gen(function* () {
        const messages = Array.from({ length: 100 }, (_, i) => `call ${i}`)
        const results = yield* Effect.forEach(messages, (message) => call("echo", { message }), {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(
          results.map(({ content }) => content[0].text),
          messages
        )
      }),
    verifies("json-rpc.response.same-id")
  )

  it.effect(
    "The SDK client receives a tool's failure in the result, and other failures as errors",
    () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* call("test_error_handling"), {
          content: [{ type: "text", text: "This tool intentionally returns an error for testing" }],
          isError: true
        })
        assert.deepInclude(yield* call("fail", { as: "tool" }), { isError: true })
        assert.deepInclude(yield* call("echo", { message: 1 }), { isError: true })
        assert.strictEqual((yield* failure(call("fail", { as: "protocol" }))).code, -32602)
        assert.strictEqual((yield* failure(call("no_such_tool"))).code, -32602)
        const defect = yield* failure(call("fail", { as: "defect" }))
        assert.strictEqual(defect.code, -32603)
        assert.notMatch(defect.message, /inside/)
      }),
    verifies(
      "tools.call.error-in-result",
      "tools.call.unknown-tool",
      "tools.call.invalid-input-in-result",
      "tools.security.input-validated",
      "json-rpc.error.code-and-message"
    )
  )

  it.effect(
    "The SDK client receives a call's progress if requested",
    () =>
      Effect.gen(function* () {
        const events: Array<unknown> = []
        const result = yield* using((client) =>
          client.callTool("test_tool_with_progress", {}, { onprogress: (event) => void events.push(event) })
        )
        assert.deepStrictEqual(
          events.map((event) => ({ ...(event as object) })),
          [0, 50, 100].map((progress) => ({ progress, total: 100 }))
        )
        assert.notStrictEqual(result.isError, true)
      }),
    verifies("progress.value.increases", "progress.token.from-active-request")
  )

  it.effect(
    "Cancelling an SDK client's call interrupts its handler, runs its finalizer and suppresses the answer",
    () =>
      Effect.gen(function* () {
        const uri = "test://interruptions"
        const until = yield* listening
        yield* using((client) => client.subscribeResource({ uri }))
        const aborter = new AbortController()
        const cancelled = yield* Effect.flip(
          using((client) =>
            client.callTool(
              "slow",
              { label: `${name} gave up` },
              {
                signal: aborter.signal,
                onprogress: () => aborter.abort("enough")
              }
            )
          )
        )
        assert.match(String(cancelled.cause), /enough/)
        yield* until(updated(uri))
        const { contents } = yield* using((client) => client.readResource({ uri }))
        assert.deepStrictEqual(JSON.parse(contents[0].text), [`${name} gave up`])
      }),
    verifies("cancellation.receiver.stops", "cancellation.receiver.frees-resources")
  )
}
