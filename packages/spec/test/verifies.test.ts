import { assert, describe, it } from "@effect/vitest"
import { verifies } from "@effect-mcp/spec/verifies"

const ids = ["tools.call.unknown-tool", "ping.receiver.empty-response"] as const

describe("verifies", () => {
  it("verifies returns the options of a test that cites ids", () => {
    assert.deepStrictEqual(verifies(...ids), { meta: { requirements: ids } })
  })

  it("verifies throws on an id missing from the ledger", () => {
    // @ts-expect-error an unknown id does not compile
    assert.throws(() => verifies("tools.call.no-such-id"), /tools\.call\.no-such-id/)
  })
})
