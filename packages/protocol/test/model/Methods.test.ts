import { assert, describe, it } from "@effect/vitest"
import * as Revision from "@effect-mcp/protocol/Revision"

/** What the published schema of each revision lists, less the tasks of 2025-11-25, which are an extension here. */
const clientRequests = [
  "completion/complete",
  "initialize",
  "logging/setLevel",
  "ping",
  "prompts/get",
  "prompts/list",
  "resources/list",
  "resources/read",
  "resources/subscribe",
  "resources/templates/list",
  "resources/unsubscribe",
  "tools/call",
  "tools/list"
]
const serverRequests = ["ping", "roots/list", "sampling/createMessage"]
const clientNotifications = [
  "notifications/cancelled",
  "notifications/initialized",
  "notifications/progress",
  "notifications/roots/list_changed"
]
const serverNotifications = [
  "notifications/cancelled",
  "notifications/message",
  "notifications/progress",
  "notifications/prompts/list_changed",
  "notifications/resources/list_changed",
  "notifications/resources/updated",
  "notifications/tools/list_changed"
]
const listed: { readonly [version: string]: { asks?: ReadonlyArray<string>; tells?: ReadonlyArray<string> } } = {
  "2024-11-05": {},
  "2025-03-26": {},
  "2025-06-18": { asks: ["elicitation/create"] },
  "2025-11-25": { asks: ["elicitation/create"], tells: ["notifications/elicitation/complete"] }
}

const names = (table: object) => Object.keys(table).toSorted()

describe("The methods of a revision", () => {
  it("The methods of every stateful revision are listed here", () => {
    assert.deepStrictEqual(
      Revision.stateful.map((revision) => revision.version),
      Object.keys(listed)
    )
  })

  for (const revision of Revision.stateful) {
    const { asks = [], tells = [] } = listed[revision.version] ?? {}
    it(`The revision ${revision.version} has the methods of its published schema, and no others`, () => {
      assert.deepStrictEqual(names(revision.clientRequests), clientRequests)
      assert.deepStrictEqual(names(revision.serverRequests), [...serverRequests, ...asks].toSorted())
      assert.deepStrictEqual(names(revision.clientNotifications), clientNotifications)
      assert.deepStrictEqual(names(revision.serverNotifications), [...serverNotifications, ...tells].toSorted())
    })
  }

  it("The revision 2026-07-28 has the methods of its published schema, and no others", () => {
    const july = Revision.get("2026-07-28")!
    const gone = ["initialize", "logging/setLevel", "ping", "resources/subscribe", "resources/unsubscribe"]
    const kept = clientRequests.filter((method) => !gone.includes(method))
    assert.deepStrictEqual(names(july.clientRequests), [...kept, "server/discover", "subscriptions/listen"].toSorted())
    assert.deepStrictEqual(names(july.serverRequests), ["elicitation/create", "roots/list", "sampling/createMessage"])
    assert.deepStrictEqual(names(july.clientNotifications), ["notifications/cancelled"])
    const told = [...serverNotifications, "notifications/subscriptions/acknowledged"]
    assert.deepStrictEqual(names(july.serverNotifications), told.toSorted())
  })

  it("Revisions share a codec where they do not differ", () => {
    const [first, second, third, fourth] = Revision.stateful
    assert.strictEqual(first?.clientRequests["tools/call"]?.params, fourth?.clientRequests["tools/call"]?.params)
    assert.strictEqual(first?.clientRequests["prompts/list"]?.result, second?.clientRequests["prompts/list"]?.result)
    assert.notStrictEqual(second?.clientRequests["prompts/list"]?.result, third?.clientRequests["prompts/list"]?.result)
    assert.strictEqual(third?.serverRequests["roots/list"]?.result, fourth?.serverRequests["roots/list"]?.result)
    const [newest] = Revision.stateless
    assert.strictEqual(newest?.clientRequests["prompts/list"]?.params, fourth?.clientRequests["prompts/list"]?.params)
  })
})
