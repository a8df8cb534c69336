import { assert, describe, it } from "@effect/vitest"
import * as Revision from "@effect-mcp/protocol/Revision"
import { wire } from "../wire.ts"

const names = (table: object) => Object.keys(table).toSorted()

describe("Methods by revision", () => {
  it.each(Revision.all)("$version has the methods in its published schema, and no others", (revision) => {
    const published = wire(revision.version)
    for (const kind of ["clientRequests", "serverRequests", "clientNotifications", "serverNotifications"] as const) {
      assert.deepStrictEqual(names(revision[kind]), names(published[kind]), kind)
    }
  })

  it("Revisions share a codec if they do not differ", () => {
    const [first, second, third, fourth] = Revision.stateful
    assert.strictEqual(first?.clientRequests["tools/call"]?.params, fourth?.clientRequests["tools/call"]?.params)
    assert.strictEqual(first?.clientRequests["prompts/list"]?.result, second?.clientRequests["prompts/list"]?.result)
    assert.notStrictEqual(second?.clientRequests["prompts/list"]?.result, third?.clientRequests["prompts/list"]?.result)
    assert.strictEqual(third?.serverRequests["roots/list"]?.result, fourth?.serverRequests["roots/list"]?.result)
    const [newest] = Revision.stateless
    assert.strictEqual(newest?.clientRequests["prompts/list"]?.params, fourth?.clientRequests["prompts/list"]?.params)
  })
})
