import { assert, describe, it } from "@effect/vitest"
import { cited, verifies } from "@effect-mcp/spec/verifies"

const ids = ["tools.call.unknown-tool", "ping.receiver.empty-response"] as const

describe("verifies", () => {
  it("gives the options of a test that cites ids", () => {
    assert.deepStrictEqual(verifies(...ids).meta, { requirements: ids })
    assert.deepStrictEqual(cited("refuses", verifies(...ids).meta), ids)
  })

  it("appends the cited ids to a title", () => {
    assert.strictEqual(`refuses${verifies(...ids)}`, "refuses [tools.call.unknown-tool, ping.receiver.empty-response]")
    assert.deepStrictEqual(cited(`calls${verifies(ids[0])} > refuses in 2025-06-18${verifies(ids[1])}`, {}), ids)
  })

  it("takes no other brackets in a title for a citation", () => {
    for (const title of ["keeps [1, 2]", "parses a[b.c]", "accepts [x]", "reads [A.b]", "matches [a.b]c"]) {
      assert.isEmpty(cited(title, {}), title)
    }
  })

  it("throws on an id that is not in the ledger", () => {
    // @ts-expect-error an unknown id does not compile
    assert.throws(() => verifies("tools.call.no-such-id"), /tools\.call\.no-such-id/)
  })
})
