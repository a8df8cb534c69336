/** How a client decodes the result of a call: by the listed schema, by its text, or not at all. */
import type * as McpClient from "@effect-mcp/client/McpClient"
import * as Tool from "@effect-mcp/core/Tool"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Schema, Stream } from "effect"
import { connected, quiesce, since } from "../support/connected.ts"
import type * as Scripted from "../support/scripted.ts"

class NoTable extends Schema.TaggedError<NoTable>()("NoTable", { guests: Schema.Int }) {}

const Book = Tool.make("book", {
  description: "Books a table",
  input: { guests: Schema.Int },
  output: { reference: Schema.String },
  failure: NoTable
})

const text = (value: string) => [{ type: "text", text: value }]

const calling = (call: Scripted.Answer, options?: McpClient.Options & { readonly version?: any; tools?: object }) =>
  connected(
    {
      version: options?.version,
      answers: { "tools/call": call, "tools/list": () => ({ tools: options?.tools ?? [] }) }
    },
    options
  )

const listed = { name: "book", inputSchema: { type: "object" } }
const outputSchema = { type: "object", properties: { reference: { type: "string" } }, required: ["reference"] }

describe.each(since("2025-06-18"))("Listed tool results over %s", (version) => {
  it.effect(
    "A listed tool's result is checked against its output schema",
    () =>
      Effect.gen(function* () {
        const results = [{ reference: 1 }, { reference: "R1" }, undefined]
        const { client } = yield* calling(
          () => {
            const structuredContent = results.shift()
            return { content: [], ...(structuredContent === undefined ? undefined : { structuredContent }) }
          },
          { version, tools: [{ ...listed, outputSchema }] }
        )
        yield* Stream.runDrain(client.listTools)
        const error = yield* Effect.flip(client.callToolByName("book"))
        assert.strictEqual(error._tag, "InvalidResult")
        assert.include(error.message, "reference")
        assert.deepStrictEqual((yield* client.callToolByName("book")).structuredContent, { reference: "R1" })
        assert.strictEqual((yield* Effect.flip(client.callToolByName("book")))._tag, "InvalidResult")
      }),
    verifies("tools.result.structured-validated", "tools.security.result-validated")
  )

  it.effect("A result is not checked if the tool failed, was never listed, or checks are off", () =>
    Effect.gen(function* () {
      const failed = { content: [], isError: true }
      const { client } = yield* calling(() => failed, { version, tools: [{ ...listed, outputSchema }] })
      yield* Stream.runDrain(client.listTools)
      assert.deepStrictEqual(yield* client.callToolByName("book"), failed)

      const wrong = { content: [], structuredContent: { reference: 1 } }
      const unlisted = yield* calling(() => wrong, { version })
      assert.deepStrictEqual(yield* unlisted.client.callToolByName("book"), wrong)

      const off = yield* calling(() => wrong, { version, tools: [{ ...listed, outputSchema }], validateOutput: false })
      yield* Stream.runDrain(off.client.listTools)
      assert.deepStrictEqual(yield* off.client.callToolByName("book"), wrong)
    })
  )

  it.effect("A result is not checked against an outdated schema", () =>
    Effect.gen(function* () {
      const result = { content: [], structuredContent: { renamed: 1 } }
      const { client, server } = yield* calling(() => result, { version, tools: [{ ...listed, outputSchema }] })
      yield* Stream.runDrain(client.listTools)
      server.peer.notify("notifications/tools/list_changed")
      yield* quiesce
      assert.deepStrictEqual(yield* client.callToolByName("book"), result)
    })
  )

  it.effect(
    "A tool whose output schema does not compile is not called",
    () =>
      Effect.gen(function* () {
        const odd = { ...outputSchema, $schema: "http://example.com/my-own-dialect" }
        const { client, server } = yield* calling(() => ({ content: [] }), {
          version,
          tools: [{ ...listed, outputSchema: odd }]
        })
        yield* Stream.runDrain(client.listTools)
        const error = yield* Effect.flip(client.callToolByName("book"))
        assert.strictEqual(error._tag, "InvalidResult")
        assert.include(error.message, "my-own-dialect")
        assert.deepStrictEqual(server.requests("tools/call"), [])
      }),
    verifies("json-schema.dialect.unsupported")
  )
})

describe.each(since("2024-11-05"))("Any tool's results over %s", (version) => {
  it.effect(
    "A result with content missing from the revision fails the call",
    () =>
      Effect.gen(function* () {
        const wrong = [text(1 as never), "text", [{ type: "film" }], [{ type: "image", data: "AA==" }]]
        for (const content of wrong) {
          const { client } = yield* calling(() => ({ content }), { version })
          const error = yield* Effect.flip(client.callToolByName("book"))
          assert.strictEqual(error._tag, "InvalidResult", JSON.stringify(content))
        }
      }),
    verifies("tools.security.result-validated")
  )
})

const Search = Tool.make("search", { description: "Searches", output: Schema.Array(Schema.String) })

describe.each(since("2024-11-05"))("Output without structured content over %s", (version) => {
  it.effect("A typed output is read from JSON text if there is no structured content", () =>
    Effect.gen(function* () {
      const { client } = yield* calling(() => ({ content: text(`{"reference":"R1"}`) }), { version })
      assert.deepStrictEqual(yield* client.callTool(Book, { guests: 1 }), { reference: "R1" })
      const { client: searching } = yield* calling(() => ({ content: text('["R1"]') }), { version })
      assert.deepStrictEqual(yield* searching.callTool(Search, {}), ["R1"])
    })
  )

  it.effect("A typed output that is in neither place fails with a clear error", () =>
    Effect.gen(function* () {
      const { client } = yield* calling(() => ({ content: text("R1") }), { version })
      const error = yield* Effect.flip(client.callTool(Book, { guests: 1 }))
      assert.strictEqual(error._tag, "InvalidResult")
      assert.include(error.message, "returned no structured content, and its text is not JSON")
    })
  )
})

it.effect("A call with a name instead of a Tool fails and names the right function", () =>
  Effect.gen(function* () {
    const { client } = yield* calling(() => ({ content: [] }))
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what plain JavaScript may give
    const exit = yield* Effect.exit(client.callTool("book" as never, {}))
    const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
    assert.instanceOf(error, TypeError)
    assert.include(error.message, "To call a tool by name, use callToolByName")
  })
)
