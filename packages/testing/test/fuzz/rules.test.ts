import { ledger, isRequirementId } from "@effect-mcp/spec/Ledger"
import { every } from "@effect-mcp/spec/Requirement"
import * as Fuzz from "@effect-mcp/testing/Fuzz"
import { assert, describe, it } from "@effect/vitest"

const holds = ({ since, until }: Fuzz.Rule) =>
  every.filter((version) => (since === undefined || since <= version) && (until === undefined || version <= until))
const cited = Fuzz.rules.filter(({ requirement }) => requirement !== undefined)

describe("The rules of the fuzzer", () => {
  it("have different names", () => {
    const names = Fuzz.rules.map(({ name }) => name)
    assert.deepStrictEqual(names, [...new Set(names)])
  })

  it("cite the ledger, unless they are about robustness", () => {
    for (const { level, name, requirement } of Fuzz.rules) {
      assert.strictEqual(requirement === undefined, level === "robustness", name)
    }
  })

  it.each(cited)("say of $name what the ledger says", (rule) => {
    const id = rule.requirement ?? ""
    assert.isTrue(isRequirementId(id), id)
    if (!isRequirementId(id)) return
    const statement = ledger[id]
    assert.strictEqual(statement.level.split(" ")[0], rule.level)
    assert.strictEqual(statement.section, rule.section)
    assert.notStrictEqual(statement.party, "client")
    for (const version of holds(rule)) assert.include(statement.revisions, version)
    const softer = holds(rule).filter((version) => rule.softerUntil !== undefined && version <= rule.softerUntil)
    assert.deepStrictEqual(
      softer,
      (statement.softer ?? []).filter((version) => holds(rule).includes(version))
    )
  })
})
