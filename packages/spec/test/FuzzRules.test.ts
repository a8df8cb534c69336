import { assert, it } from "@effect/vitest"
import * as FuzzRules from "../src/FuzzRules.ts"
import { isRequirementId } from "../src/Ledger.ts"

it("Fuzzer rules are found by the statements they cite", async () => {
  const rules = FuzzRules.byRequirement(await FuzzRules.all())
  assert.isTrue([...rules.keys()].every(isRequirementId))
  assert.deepStrictEqual(rules.get("http.headers.mismatch"), ["http-headers-mismatch"])
  assert.deepStrictEqual(rules.get("lifecycle.operation.capabilities-respected"), [
    "client-capabilities-respected",
    "server-capabilities-respected",
    "answers-only-what-it-declared"
  ])
  const names = (await FuzzRules.all()).map(({ name }) => name)
  assert.lengthOf(new Set(names), names.length)
})
