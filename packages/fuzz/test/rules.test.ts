import { ledger, isRequirementId } from "@effect-mcp/spec/Ledger"
import { every } from "@effect-mcp/spec/Requirement"
import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import * as FuzzClient from "@effect-mcp/fuzz/FuzzClient"
import { assert, describe, it } from "@effect/vitest"

type Statement = (typeof Fuzz.rules)[number] | (typeof FuzzClient.rules)[number]

const holds = ({ since, until }: Statement) =>
  every.filter((version) => (since === undefined || since <= version) && (until === undefined || version <= until))
const sides = [
  { about: "servers", rules: Fuzz.rules, other: "client" },
  { about: "clients", rules: FuzzClient.rules, other: "server" }
] as const

describe.each(sides)("$about fuzzer rules", ({ other, rules }) => {
  const cited = rules.filter(({ requirement }) => requirement !== undefined)

  it("Fuzzer rules have distinct names", () => {
    const names = rules.map(({ name }) => name)
    assert.deepStrictEqual(names, [...new Set(names)])
  })

  it("Fuzzer rules cite the ledger, unless they concern robustness", () => {
    for (const { level, name, requirement } of rules) {
      assert.strictEqual(requirement === undefined, level === "robustness", name)
    }
  })

  it.each(cited)("The rule $name matches the ledger", (rule) => {
    const id = rule.requirement ?? ""
    assert.isTrue(isRequirementId(id), id)
    if (!isRequirementId(id)) return
    const statement = ledger[id]
    assert.strictEqual(statement.level.split(" ")[0], rule.level)
    assert.strictEqual(statement.section, rule.section)
    assert.notStrictEqual(statement.party, other)
    for (const version of holds(rule)) assert.include(statement.revisions, version)
    const softer = holds(rule).filter((version) => rule.softerUntil !== undefined && version <= rule.softerUntil)
    assert.deepStrictEqual(
      softer,
      (statement.softer ?? []).filter((version) => holds(rule).includes(version))
    )
  })
})
