import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { Content, Logging, Shape, Tool } from "@effect-mcp/protocol"

describe("Model values", () => {
  it("A valid value passes its check as the same object", () => {
    const value = { content: [{ type: "text", text: "a", "x-b": 1 }], "x-a": [] }
    assert.strictEqual(Schema.decodeUnknownSync(Shape.verbatim(Tool.CallToolResult))(value), value as never)
  })

  it("An invalid value is rejected with the error's path", () => {
    const decode = Schema.decodeUnknownSync(Shape.verbatim(Tool.CallToolResult))
    assert.throws(() => decode({ content: [{ type: "text" }] }), /Missing key\s+at \["content"\]\[0\]\["text"\]/)
    assert.throws(() => decode({ content: [{ type: "video" }] }), /\["content"\]\[0\]/)
    assert.throws(() => decode(null), /Expected/)
  })

  it("A missing field is never null", () => {
    assert.throws(() => Schema.decodeUnknownSync(Content.TextContent)({ type: "text", text: "a", _meta: null }))
  })

  it("A misspelt field does not compile", () => {
    const good: Tool.CallToolResult = { content: [{ type: "text", text: "a" }], structuredContent: [1] }
    // @ts-expect-error: `tetx` is not a field
    const required: Tool.CallToolResult = { content: [{ type: "text", tetx: "a" }] }
    // @ts-expect-error: `anotations` is not a field
    const optional: Tool.CallToolResult = { content: [{ type: "text", text: "a", anotations: {} }] }
    assert.strictEqual([good, required, optional].length, 3)
  })

  it("A JSON object is an object, not an array or null", () => {
    assert.isTrue(Shape.isJsonObject({}))
    for (const other of [[], null, "a", 1, undefined]) assert.isFalse(Shape.isJsonObject(other))
  })
})

describe("Logging levels", () => {
  it("Logging levels are ordered from debug to emergency", () => {
    assert.deepStrictEqual(Logging.LoggingLevel.literals.map(Logging.severity), [0, 1, 2, 3, 4, 5, 6, 7])
    assert.isTrue(Logging.isAtLeast("error", "warning"))
    assert.isTrue(Logging.isAtLeast("info", "info"))
    assert.isFalse(Logging.isAtLeast("debug", "info"))
  })
})
