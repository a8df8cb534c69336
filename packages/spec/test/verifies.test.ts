import { assert, describe, it } from "@effect/vitest"
import { verifies } from "@effect-mcp/spec/verifies"

describe("verifies", () => {
  it("appends the cited ids to a title", () => {
    assert.strictEqual(
      `refuses${verifies("tools.call.unknown-tool", "ping.receiver.empty-response")}`,
      "refuses [tools.call.unknown-tool, ping.receiver.empty-response]"
    )
  })

  it("throws on an id that is not in the ledger", () => {
    // @ts-expect-error an unknown id does not compile
    assert.throws(() => verifies("tools.call.no-such-id"), /tools\.call\.no-such-id/)
  })
})
