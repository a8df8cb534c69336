/** The content of a structured result: the mirror by default, or the tool's own. */
import * as Content from "@effect-mcp/core/Content"
import * as Prompt from "@effect-mcp/core/Prompt"
import * as Prompts from "@effect-mcp/core/Prompts"
import * as Resources from "@effect-mcp/core/Resources"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { everyVersion, session } from "../support/raw.ts"

const Report = Tool.make("report", {
  description: "",
  input: { rows: Schema.Int },
  output: { at: Schema.DateTimeUtcFromString, rows: Schema.Int }
})
const at = Schema.decodeSync(Schema.DateTimeUtcFromString)("2026-01-02T00:00:00.000Z")
const encoded = (rows: number) => ({ at: "2026-01-02T00:00:00.000Z", rows })
type Value = { readonly at: typeof at; readonly rows: number }
const report = (options?: Tools.OutputOptions<Value>) =>
  Tools.layer(Report, ({ rows }) => Effect.succeed({ at, rows }), options)

describe.each(everyVersion())("the content of a structured result (%s)", (version) => {
  const structure = (rows: number) => (version >= "2025-06-18" ? encoded(rows) : undefined)

  it.effect("Content defaults to the structured content as compact JSON", () =>
    Effect.gen(function* () {
      const client = yield* session(report(), { version })
      const { content, structuredContent } = yield* client.call("report", { rows: 3 })
      assert.deepStrictEqual(content, [{ type: "text", text: JSON.stringify(encoded(3)) }])
      assert.deepStrictEqual(structuredContent, structure(3))
    })
  )

  it.effect.each([
    ["text", "**3** rows", [{ type: "text", text: "**3** rows" }]],
    ["one block", Content.text("3 rows"), [{ type: "text", text: "3 rows" }]],
    ["several blocks", [Content.text("a"), Content.text("b")], [Content.text("a"), Content.text("b")]],
    ["no block", [], []]
  ] as ReadonlyArray<readonly [string, Tool.ToolContent & { readonly length?: number }, ReadonlyArray<object>]>)(
    "The tool's own content replaces the default JSON: %s",
    ([, own, sent]) =>
      Effect.gen(function* () {
        const seen: Array<unknown> = []
        const client = yield* session(
          report({
            content: (value) => {
              seen.push(value)
              return own
            }
          }),
          { version }
        )
        const { content, structuredContent } = yield* client.call("report", { rows: 3 })
        // Without structured content, a result must not be empty.
        const isEmpty = own.length === 0 && version < "2025-06-18"
        assert.deepStrictEqual(content, isEmpty ? [{ type: "text", text: JSON.stringify(encoded(3)) }] : sent)
        assert.deepStrictEqual(structuredContent, structure(3))
        assert.deepStrictEqual(seen, [{ at, rows: 3 }])
      })
  )

  it.effect.each([
    ["throws", () => assert.fail("thrown")],
    ["returns a promise that rejects", () => Promise.reject(new Error("rejected"))],
    ["returns undefined", () => undefined],
    ["returns a block of no known type", () => ({ type: "video", data: "AAAA" })],
    ["returns a block that violates the specification", () => ({ type: "image", data: "A", mimeType: "image/png" })]
  ] as ReadonlyArray<readonly [string, () => any]>)("Content that %s is replaced by the JSON", ([, content]) =>
    Effect.gen(function* () {
      const client = yield* session(report({ content }), { version })
      const result = yield* client.call("report", { rows: 3 })
      assert.deepStrictEqual(result.content, [{ type: "text", text: JSON.stringify(encoded(3)) }])
      assert.deepStrictEqual(result.structuredContent, structure(3))
      assert.notProperty(result, "isError")
    })
  )

  it.effect("A size limit counts the tool's own content plus the structured content", () =>
    Effect.gen(function* () {
      const own = (limit: number) =>
        Effect.flatMap(
          session(report({ content: () => "x".repeat(40), limits: { bytes: limit } }), { version }),
          (client) => Effect.map(client.call("report", { rows: 3 }), ({ isError }) => isError === true)
        )
      const size = 40 + JSON.stringify(encoded(3)).length
      assert.isFalse(yield* own(size))
      assert.isTrue(yield* own(size - 1))
    })
  )
})

describe("hand-written blocks", () => {
  const Shows = Tool.make("shows", { description: "" })
  const wrong: ReadonlyArray<readonly [string, Tool.ToolOutput]> = [
    ["base64", { type: "image", data: "A", mimeType: "image/png" }],
    ["base64 of audio", { type: "audio", data: "A-==", mimeType: "audio/wav" }],
    ["media type", { type: "image", data: "AAAA", mimeType: "png" }],
    ["priority", { type: "text", text: "", annotations: { priority: 2 } }],
    ["date", { type: "text", text: "", annotations: { lastModified: "today" } }],
    ["blob", { type: "resource", resource: { uri: "x:1", blob: "?" } }],
    ["relative URI", { type: "resource", resource: { uri: "notes.txt", text: "" } }],
    ["URI with a line break", { type: "resource_link", uri: "x:\n", name: "x" }],
    ["icon", { type: "resource_link", uri: "x:1", name: "x", icons: [{ src: "http://example.com/a.png" }] }],
    ["block in a result", { content: [{ type: "image", data: "A", mimeType: "image/png" }] }]
  ]
  const right: ReadonlyArray<Tool.ToolOutput> = [
    "text",
    { type: "image", data: "AAAA", mimeType: "image/png", annotations: { priority: 0.5 } },
    { type: "resource_link", uri: "file:///a%20b", name: "x", icons: [{ src: "data:image/png;base64,AAAA" }] },
    [
      Content.text("a", { annotations: { audience: ["user"], priority: 1 } }),
      Content.image(new Uint8Array(3), "image/gif")
    ]
  ]

  for (const version of everyVersion()) {
    for (const later of [false, true]) {
      it.effect(
        `A tool never sends a block that the specification forbids${later ? " when it answers later" : ""} (${version})`,
        () =>
          Effect.gen(function* () {
            let output: Tool.ToolOutput = ""
            const shows = Tools.layer(Shows, () =>
              later ? Effect.map(Effect.yieldNow, () => output) : Effect.succeed(output)
            )
            const client = yield* session(shows, { version })
            for (const [what, block] of wrong) {
              output = block
              const { code } = yield* client.refused("tools/call", { name: "shows" })
              assert.strictEqual(code, McpError.InternalError, what)
            }
            for (const block of right) {
              output = block
              assert.notProperty(yield* client.call("shows"), "isError")
            }
          })
      )
    }
  }

  it.effect.each(everyVersion())("Prompts, resources and lists never send a forbidden block (%s)", (version) =>
    Effect.gen(function* () {
      const image = { type: "image", data: "A", mimeType: "image/png" } as const
      const member = { uri: "x:1", name: "x", annotations: { priority: 2 } }
      const client = yield* session(
        Layer.mergeAll(
          Prompts.layer(Prompt.make("bad"), () => Effect.succeed(Prompts.user(image))),
          Resources.layer({ uri: "bad://blob", name: "blob" }, Effect.succeed([{ uri: "bad://blob", blob: "A" }])),
          Resources.layerTemplate(
            { uriTemplate: "bad://{id}/list", name: "list", list: Effect.succeed([member]) },
            () => Effect.succeed("")
          )
        ),
        { version }
      )
      for (const [method, params] of [
        ["prompts/get", { name: "bad" }],
        ["resources/read", { uri: "bad://blob" }],
        ["resources/list", {}]
      ] as const) {
        assert.strictEqual((yield* client.refused(method, params)).code, McpError.InternalError, method)
      }
    })
  )

  it.effect("A modified copy of a constructor's block is validated again", () =>
    Effect.gen(function* () {
      const made = Content.image(new Uint8Array(300), "image/png")
      let output: Tool.ToolOutput = made
      const client = yield* session(Tools.layer(Shows, () => Effect.succeed(output)))
      assert.deepStrictEqual((yield* client.call("shows")).content, [made])
      output = { ...made, data: "A" }
      assert.strictEqual((yield* client.refused("tools/call", { name: "shows" })).code, McpError.InternalError)
    })
  )
})
