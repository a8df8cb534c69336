import { assert, describe, it } from "@effect/vitest"
import { verifies } from "@effect-mcp/spec/verifies"

const ids = ["tools.call.unknown-tool", "ping.receiver.empty-response"] as const

describe("verifies", () => {
  it("The function verifies gives the options of a test that cites ids", () => {
    assert.deepStrictEqual(verifies(...ids), { meta: { requirements: ids } })
  })

  it("The function verifies throws on an id that is not in the ledger", () => {
    // @ts-expect-error an unknown id does not compile
    assert.throws(() => verifies("tools.call.no-such-id"), /tools\.call\.no-such-id/)
  })
})
