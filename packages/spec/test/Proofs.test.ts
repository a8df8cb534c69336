import { assert, describe, it } from "@effect/vitest"
import { citations, collect, faults, isForOthers, levelIn, standings, type Test } from "@effect-mcp/spec/Proofs"
import { ledger } from "@effect-mcp/spec/Ledger"
import { verifies } from "@effect-mcp/spec/verifies"

const test = (title: string, state: Test["state"] = "passed"): Test => ({
  title,
  file: "packages/a/test/a.test.ts",
  state
})

const standing = (revision: string, area: string, tests: ReadonlyArray<Test>) =>
  standings(collect(tests)).find((all) => all.revision === revision && all.area === area)

// Not through `verifies`, so that the title of this test does not cite what it is about.
const cite = (...ids: ReadonlyArray<string>) => `some behaviour [${ids.join(", ")}]`

describe("Proofs", () => {
  it("reads back what verifies wrote, in a title of any depth", () => {
    const suffix = verifies("tools.call.unknown-tool", "json-rpc.request.id-type")
    const ids = ["tools.call.unknown-tool", "json-rpc.request.id-type"]
    assert.deepStrictEqual(citations(`calls > refuses${suffix}`), ids)
    assert.deepStrictEqual(citations(`calls${suffix} > over 2025-06-18${verifies("ping.failure.logged")}`), [
      ...ids,
      "ping.failure.logged"
    ])
  })

  it("takes no other brackets in a title for a citation", () => {
    for (const title of ["keeps [1, 2]", "parses a[b.c]", "accepts [x]", "reads [A.b]", "matches [a.b]c"]) {
      assert.isEmpty(citations(title), title)
    }
  })

  it("finds an id that is not in the ledger, whatever became of its test", () => {
    for (const state of ["passed", "failed", "skipped"] as const) {
      const [fault, ...more] = faults(collect([test(cite("tools.no.such"), state)]), true)
      assert.match(fault ?? "", /^tools\.no\.such is not in the requirements ledger/)
      assert.isEmpty(more)
    }
  })

  it("finds a cited test that is skipped, unless the run was narrowed by test name", () => {
    const proofs = collect([test(cite("ping.failure.logged"), "skipped"), test("something else", "skipped")])
    assert.lengthOf(faults(proofs), 1)
    assert.match(faults(proofs)[0] ?? "", /^ping\.failure\.logged is cited by a test that is skipped: some behaviour/)
    assert.isEmpty(faults(proofs, true))
  })

  it("leaves a failure to the runner", () => {
    assert.isEmpty(faults(collect([test(cite("ping.failure.logged"), "failed")])))
  })

  it("counts a requirement as proven when all tests that cite it pass", () => {
    const id = "ping.receiver.empty-response"
    const proven = (tests: ReadonlyArray<Test>) =>
      (standing("2025-11-25", "ping", tests)?.proven ?? []).some((entry) => entry.id === id)
    assert.isFalse(proven([]))
    assert.isTrue(proven([test(cite(id))]))
    assert.isTrue(proven([test(cite(id)), test(cite(id, "ping.failure.logged"))]))
    assert.isFalse(proven([test(cite(id)), test(cite(id), "failed")]))
  })

  it("counts a title that names revisions for those alone", () => {
    const tests = [test(`over 2025-06-18 > ${cite("ping.failure.logged")}`)]
    assert.lengthOf(standing("2025-06-18", "ping", tests)?.proven ?? [], 1)
    assert.isEmpty(standing("2025-11-25", "ping", tests)?.proven ?? [undefined])
  })

  it("counts a requirement only in the revisions that contain it", () => {
    const tests = [test(cite("json-rpc.batch.receive"))]
    assert.lengthOf(standing("2025-03-26", "json-rpc", tests)?.proven ?? [], 1)
    assert.isEmpty(standing("2025-06-18", "json-rpc", tests)?.proven ?? [undefined])
    assert.isUndefined(standing("2024-11-05", "tasks", []))
    assert.isUndefined(standing("2026-07-28", "ping", []))
    assert.isUndefined(standing("2025-11-25", "mrtr", []))
  })

  it("counts apart what only others can keep", () => {
    const others = new Set((standing("2025-11-25", "tools", [])?.others ?? []).map((entry) => entry.id))
    assert.isTrue(others.has("tools.consent.human-in-loop"))
    assert.isTrue(others.has("tools.security.output-sanitized"))
    assert.isFalse(isForOthers(ledger["tools.security.input-validated"]))
  })

  it("knows in which revisions a MUST was only a SHOULD", () => {
    const respected = ledger["lifecycle.operation.version-respected"]
    assert.strictEqual(levelIn(respected, "2025-03-26"), "SHOULD")
    assert.strictEqual(levelIn(respected, "2025-06-18"), "MUST")
  })
})
