import { assert, describe, it } from "@effect/vitest"
import { problems } from "../../../scripts/commits.ts"

describe("Commit messages", () => {
  it("An imperative subject with a body is accepted", () => {
    assert.deepStrictEqual(
      problems("Retry SQLite open while WAL is switched on\n\nTwo processes may start together.\n"),
      []
    )
  })

  it("Messages written by git are accepted", () => {
    assert.deepStrictEqual(problems("Merge branch 'main' into topic"), [])
  })

  it("Comments and the diff of a verbose commit are ignored", () => {
    const cut = "# ------------------------ >8 ------------------------"
    assert.deepStrictEqual(problems(`Fix a leak\n\nIt held streams.\n# Please enter\n${cut}\ndiff --git a b`), [])
    assert.lengthOf(problems(`Fix a leak\n\n# Please enter\n${cut}\ndiff --git a b`), 1)
  })

  it.each([
    ["a long subject", `Fix ${"x".repeat(70)}\n\nWhy.`, /74 characters/],
    ["a lower-case letter", "fix a leak\n\nWhy.", /capital letter/],
    ["a full stop", "Fix a leak.\n\nWhy.", /full stop/],
    ["the past tense", "Fixed a leak\n\nWhy.", /imperative/],
    ["no body", "Fix a leak", /no body/],
    ["no blank line", "Fix a leak\nWhy.", /no body/]
  ])("%s is rejected", (_, message, expected) => {
    const found = problems(message)
    assert.lengthOf(found, 1)
    assert.match(found.join(), expected)
  })
})
