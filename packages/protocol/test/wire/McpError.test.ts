/** The members that an error takes from the object it is created from, which may come from the wire. */
import { assert, describe, it } from "@effect/vitest"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"

describe("McpError", () => {
  it("Only code, message and data are taken from a received error", () => {
    const arrived = {
      code: -32602,
      message: "Wrong",
      data: { field: "a" },
      name: "Other",
      stack: "forged",
      _tag: "Other"
    }
    const error = new McpError.McpError(arrived)
    assert.deepStrictEqual(
      { code: error.code, message: error.message, data: error.data, tag: error._tag, name: error.name },
      { code: -32602, message: "Wrong", data: { field: "a" }, tag: "McpError", name: "McpError" }
    )
    assert.notStrictEqual(error.stack, "forged")
  })

  it("An error from an untyped program is valid JSON-RPC whatever its code", () => {
    for (const code of [NaN, 1.5, "E_GONE", undefined]) {
      const error: McpError.McpError = Reflect.construct(McpError.McpError, [{ code, message: "gone" }])
      const message: unknown = JSON.parse(JSON.stringify(JsonRpc.failure(1, error)))
      const read = JsonRpc.classify(message)
      assert.isFalse(read instanceof JsonRpc.Invalid, JSON.stringify(message))
      assert.strictEqual(error.code, McpError.InternalError)
    }
  })

  it("An error without data is sent without a data member", () => {
    assert.isFalse("data" in McpError.invalidParams("Wrong"))
    assert.isFalse("data" in new McpError.McpError({ code: 1, message: "Wrong", data: undefined }))
    assert.isTrue(McpError.invalidParams("Wrong") instanceof Error)
  })
})
