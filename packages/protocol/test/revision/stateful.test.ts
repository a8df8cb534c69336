/** What is known of the revisions with sessions without their codecs agrees with the revisions themselves. */
import * as Stateful from "@effect-mcp/protocol/internal/stateful"
import { earlyNotifications } from "@effect-mcp/protocol/internal/v2026_07_28"
import * as Revision from "@effect-mcp/protocol/Revision"
import { assert, describe, it } from "@effect/vitest"

describe("The revisions with sessions", () => {
  it("Their versions, the newest one and its rules are those of their codecs", () => {
    assert.deepStrictEqual(
      Revision.stateful.map(({ version }) => version),
      Stateful.versions
    )
    assert.strictEqual(Revision.latestStateful.version, Stateful.latest)
    assert.strictEqual(Revision.latestStateful.rules, Stateful.rules)
  })

  it("A notification that arrives before a revision is agreed on is one that the newest of them knows", () => {
    assert.deepStrictEqual(Object.keys(earlyNotifications), Object.keys(Revision.latestStateful.serverNotifications))
  })
})
