import { assert, describe, it } from "@effect/vitest"
import { collect, faults, isForOthers, levelIn, provesIn, standings, type Test } from "@effect-mcp/spec/Proofs"
import { ledger } from "@effect-mcp/spec/Ledger"
import { every } from "@effect-mcp/spec/Requirement"

const test = (
  requirements: ReadonlyArray<string>,
  state: Test["state"] = "passed",
  title = "some behaviour"
): Test => ({
  title,
  file: "packages/a/test/a.test.ts",
  state,
  requirements
})

const standing = (revision: string, area: string, tests: ReadonlyArray<Test>) =>
  standings(collect(tests)).find((all) => all.revision === revision && all.area === area)

const cite = (...ids: ReadonlyArray<string>) => ids

describe("Proofs", () => {
  it("An id missing from the ledger is reported, regardless of its test's state", () => {
    for (const state of ["passed", "failed", "skipped"] as const) {
      const [fault, ...more] = faults(collect([test(cite("tools.no.such"), state)]), true)
      assert.match(fault ?? "", /^tools\.no\.such is not in the requirements ledger/)
      assert.isEmpty(more)
    }
  })

  it("A skipped test with a citation is reported, unless the run was filtered by name", () => {
    const proofs = collect([test(cite("ping.failure.logged"), "skipped"), test([], "skipped")])
    assert.lengthOf(faults(proofs), 1)
    assert.match(faults(proofs)[0] ?? "", /^ping\.failure\.logged is cited by a test that is skipped: some behaviour/)
    assert.isEmpty(faults(proofs, true))
  })

  it("A failed test is left to the runner", () => {
    assert.isEmpty(faults(collect([test(cite("ping.failure.logged"), "failed")])))
  })

  it("A requirement is proven if every test that cites it passes", () => {
    const id = "ping.receiver.empty-response"
    const proven = (tests: ReadonlyArray<Test>) =>
      (standing("2025-11-25", "ping", tests)?.proven ?? []).some((entry) => entry.id === id)
    assert.isFalse(proven([]))
    assert.isTrue(proven([test(cite(id), "passed", "in 2025-11-25")]))
    assert.isTrue(
      proven([
        test(cite(id), "passed", "in 2025-11-25"),
        test(cite(id, "ping.failure.logged"), "passed", "in 2025-11-25")
      ])
    )
    assert.isFalse(proven([test(cite(id), "passed", "in 2025-11-25"), test(cite(id), "failed", "in 2025-11-25")]))
  })

  it("A test whose title names revisions counts only for those", () => {
    const tests = [test(cite("ping.failure.logged"), "passed", "over 2025-06-18 > some behaviour")]
    assert.lengthOf(standing("2025-06-18", "ping", tests)?.proven ?? [], 1)
    assert.isEmpty(standing("2025-11-25", "ping", tests)?.proven ?? [undefined])
  })

  it("A test whose title names no revision counts for all revisions with the same code", () => {
    const requirement = { ...ledger["tools.call.unknown-tool"], revisions: every }
    const silent = test(cite("tools.call.unknown-tool"))
    for (const revision of every) {
      assert.isFalse(provesIn(silent, requirement, revision), revision)
      assert.isTrue(provesIn(silent, { ...requirement, sameInAll: true }, revision), revision)
      assert.isTrue(provesIn(silent, { ...requirement, revisions: [revision] }, revision), revision)
      assert.isTrue(provesIn({ ...silent, title: `in ${revision}` }, requirement, revision), revision)
    }
  })

  it("A requirement counts only in the revisions that contain it", () => {
    const tests = [test(cite("json-rpc.batch.receive"))]
    assert.lengthOf(standing("2025-03-26", "json-rpc", tests)?.proven ?? [], 1)
    assert.isEmpty(standing("2025-06-18", "json-rpc", tests)?.proven ?? [undefined])
    assert.isUndefined(standing("2024-11-05", "tasks", []))
    assert.isUndefined(standing("2026-07-28", "ping", []))
    assert.isUndefined(standing("2025-11-25", "mrtr", []))
  })

  it("Requirements that only others can meet are counted separately", () => {
    const others = new Set((standing("2025-11-25", "tools", [])?.others ?? []).map((entry) => entry.id))
    assert.isTrue(others.has("tools.consent.human-in-loop"))
    assert.isTrue(others.has("tools.security.output-sanitized"))
    assert.isFalse(isForOthers(ledger["tools.security.input-validated"]))
  })

  it("A requirement can be a SHOULD in some revisions and a MUST in others", () => {
    const respected = ledger["lifecycle.operation.version-respected"]
    assert.strictEqual(levelIn(respected, "2025-03-26"), "SHOULD")
    assert.strictEqual(levelIn(respected, "2025-06-18"), "MUST")
  })
})
