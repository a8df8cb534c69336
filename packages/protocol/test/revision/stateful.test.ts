/** The codec-free facts about the revisions with sessions agree with the revisions themselves. */
import { earlyNotifications, stateful as Stateful } from "@effect-mcp/protocol/internal/eras"
import * as Revision from "@effect-mcp/protocol/Revision"
import { assert, describe, it } from "@effect/vitest"

describe("Session revisions", () => {
  it("The versions, newest version and rules match the codecs", () => {
    assert.deepStrictEqual(
      Revision.stateful.map(({ version }) => version),
      Stateful.versions
    )
    assert.strictEqual(Revision.latestStateful.version, Stateful.latest)
    assert.strictEqual(Revision.latestStateful.rules, Stateful.rules)
  })

  it("Before negotiation, notifications follow the newest revision", () => {
    assert.deepStrictEqual(Object.keys(earlyNotifications), Object.keys(Revision.latestStateful.serverNotifications))
  })
})
