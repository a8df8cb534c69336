import { assert, describe, it } from "@effect/vitest"
import { problems } from "../../../scripts/commits.ts"

describe("commit messages", () => {
  it("Accepts an imperative subject with a body", () => {
    assert.deepStrictEqual(
      problems("Retry SQLite open while WAL is switched on\n\nTwo processes may start together.\n"),
      []
    )
  })

  it("Accepts messages that git writes", () => {
    assert.deepStrictEqual(problems("Merge branch 'main' into topic"), [])
  })

  it("Ignores comments and the diff of a verbose commit", () => {
    const cut = "# ------------------------ >8 ------------------------"
    assert.deepStrictEqual(problems(`Fix a leak\n\nIt held streams.\n# Please enter\n${cut}\ndiff --git a b`), [])
    assert.lengthOf(problems(`Fix a leak\n\n# Please enter\n${cut}\ndiff --git a b`), 1)
  })

  it.each([
    ["a long subject", `Fix ${"x".repeat(70)}\n\nWhy.`, /74 characters/],
    ["a small letter", "fix a leak\n\nWhy.", /capital letter/],
    ["a full stop", "Fix a leak.\n\nWhy.", /full stop/],
    ["the past tense", "Fixed a leak\n\nWhy.", /imperative/],
    ["no body", "Fix a leak", /no body/],
    ["no blank line", "Fix a leak\nWhy.", /no body/]
  ])("Rejects %s", (_, message, expected) => {
    const found = problems(message)
    assert.lengthOf(found, 1)
    assert.match(found.join(), expected)
  })
})
