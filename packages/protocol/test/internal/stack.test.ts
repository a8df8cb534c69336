import { withoutStack } from "@effect-mcp/protocol/internal/stack"
import { McpError } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"

describe("Errors without stacks", () => {
  it("A request's error captures no stack frames", () => {
    assert.notInclude(McpError.invalidParams("limit is 0").stack ?? "", "\n")
  })

  it("Later errors in the program capture stack frames again", () => {
    withoutStack(() => 1)
    assert.throws(() =>
      withoutStack(() => {
        throw new Error("a failure")
      })
    )
    assert.include(new Error("another failure").stack ?? "", "\n")
  })
})
