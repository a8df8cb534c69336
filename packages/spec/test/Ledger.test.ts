import { assert, describe, it } from "@effect/vitest"
import { areas, ledger } from "@effect-mcp/spec/Ledger"
import { link, pages, sectionIn } from "@effect-mcp/spec/Pages"
import { at, requirements, server, stateful } from "@effect-mcp/spec/Requirement"

const entries = Object.entries(ledger)

describe("Ledger", () => {
  it("The ledger rejects a duplicate id", () => {
    const once = at("basic", stateful, { "area.topic.behaviour": server.must("It does it.") })
    assert.throws(() => requirements(once, once), /area\.topic\.behaviour/)
  })

  it("Every id starts with its area, in a form a test can cite", () => {
    for (const [area, { entries }] of Object.entries(areas)) {
      for (const [id] of entries) {
        assert.isTrue(id.startsWith(`${area}.`), id)
        assert.match(id, /^[a-z][a-z0-9-]*(\.[a-z0-9-]+)+$/)
      }
    }
  })

  it("Every entry lists its revisions, oldest first and without duplicates", () => {
    for (const [id, { revisions, softer }] of entries) {
      assert.isNotEmpty(revisions, id)
      assert.deepStrictEqual([...revisions], [...new Set(revisions)].toSorted(), id)
      assert.isTrue(
        (softer ?? []).every((revision) => revisions.includes(revision)),
        id
      )
    }
  })

  it("Every entry links to a page that exists in each of its revisions", () => {
    for (const [id, entry] of entries) {
      for (const revision of entry.revisions) {
        const [page] = sectionIn(entry, revision).split("#")
        assert.include(pages[revision], page, `${id} in ${revision}`)
      }
    }
  })

  it("Every entry is one sentence of at most 200 characters", () => {
    for (const [id, { text }] of entries) {
      assert.match(text, /^[A-Z`].*\.$/, id)
      assert.notMatch(text, /[.!?] |\n/, id)
      assert.isAtMost(text.length, 200, id)
    }
  })

  it("A section's link is derived even if the section has moved since", () => {
    const site = "https://modelcontextprotocol.io/specification"
    const request = ledger["json-rpc.request.id-type"]
    assert.strictEqual(link(request, "2025-11-25"), `${site}/2025-11-25/basic#requests`)
    assert.strictEqual(link(request, "2024-11-05"), `${site}/2024-11-05/basic/messages#requests`)
    const timeout = link(ledger["lifecycle.timeout.every-request"], "2026-07-28")
    assert.strictEqual(timeout, `${site}/2026-07-28/basic/patterns/cancellation#timeouts`)
    assert.strictEqual(link(ledger["security.consent.tools"], "2025-06-18"), `${site}/2025-06-18#key-principles`)
  })
})
