import { assert, describe, it } from "@effect/vitest"
import type { Fault } from "@effect-mcp/spec/Fault"
import { all, problems, put, turn } from "@effect-mcp/spec/Faults"
import { verdictOf } from "@effect-mcp/spec/Verdict"

const here = "packages/spec/test/Faults.test.ts"
const fault: Fault = {
  name: "a fault",
  file: "packages/spec/src/Fault.ts",
  from: "readonly to: string",
  to: "",
  test: here
}

const run = (code: number, ...statuses: ReadonlyArray<string>) => ({
  code,
  files: [
    {
      name: here,
      status: "failed",
      message: "no such export",
      assertionResults: statuses.map((status, index) => ({
        fullName: `test ${index}`,
        status,
        meta: { requirements: [`id.${index}`] }
      }))
    }
  ]
})

describe("Fault tables", () => {
  it("Every fault applies, with unique text, an existing test and known ids", async () => {
    const rows = await all()
    assert.isNotEmpty(rows)
    assert.deepStrictEqual(
      rows.flatMap((row) => problems(row).map((problem) => `${row.name}: ${problem}`)),
      []
    )
  })

  it("Every fault has a unique name", async () => {
    const names = (await all()).map(({ name }) => name)
    assert.deepStrictEqual(
      names.filter((name, index) => names.indexOf(name) !== index),
      []
    )
  })
})

describe("Fault rows", () => {
  it("A fault row explains why it does not apply", () => {
    assert.deepStrictEqual(problems(fault), [])
    assert.match(problems({ ...fault, file: "packages/spec/src/None.ts" }).join(), /no file .*None\.ts/)
    assert.match(problems({ ...fault, from: "no such text" }).join(), /0 times instead of once: no such text$/)
    assert.match(
      problems({ ...fault, from: "readonly file?: string" }).join(),
      /0 times .*\nThe nearest text is in line \d+: readonly file: string$/
    )
    assert.match(problems({ ...fault, from: "readonly" }).join(), /7 times instead of once/)
    assert.match(problems({ ...fault, to: fault.from }).join(), /same text/)
    assert.match(problems({ ...fault, test: "packages/spec/test/None.test.ts" }).join(), /no test file/)
    // @ts-expect-error an unknown id does not compile
    assert.match(problems({ ...fault, ids: ["tools.no.such"] }).join(), /no entry tools\.no\.such/)
  })

  it("A fault is inserted literally, even if the replacement contains a dollar sign", () => {
    assert.strictEqual(put({ ...fault, from: "b", to: "$&$1" }, "abc"), "a$&$1c")
    assert.isUndefined(put({ ...fault, from: "b" }, "abcb"))
  })
})

describe("Daily faults", () => {
  const rows = ["a", "b", "c", "d", "e"].map((name) => ({ ...fault, name }))
  const names = (count: number | undefined, day: number) =>
    turn(rows, count, day)
      .map(({ name }) => name)
      .join("")

  it("Without a count, every fault is due", () => {
    assert.strictEqual(names(undefined, 3), "abcde")
    assert.strictEqual(names(9, 3), "abcde")
  })

  it("The day's faults continue after the previous day's", () => {
    assert.deepStrictEqual(
      [0, 1, 2].map((day) => names(2, day)),
      ["ab", "cd", "ea"]
    )
  })
})

describe("Fault verdicts", () => {
  it("A fault is caught by the first failing test, with the citations of all failing ones", () => {
    assert.deepStrictEqual(verdictOf(run(1, "passed", "failed", "failed")), {
      _tag: "Dies",
      by: "test 1",
      cites: new Set(["id.1", "id.2"])
    })
  })

  it("A fault survives if all tests pass and no error occurs outside them", () => {
    assert.deepStrictEqual(verdictOf(run(0, "passed", "skipped")), { _tag: "Survives" })
    assert.strictEqual(verdictOf(run(1, "passed"))._tag, "Dies")
  })

  it("A fault has no verdict if no test ran", () => {
    assert.deepStrictEqual(verdictOf(run(1)), { _tag: "NotTested", why: "no such export" })
    assert.strictEqual(verdictOf({ code: 1, files: [] })._tag, "NotTested")
  })
})
