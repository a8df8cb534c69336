import { assert, describe, it } from "@effect/vitest"
import * as Score from "@effect-mcp/release/mutation/Score"

const mutant = (status: string, line = 1) => ({
  fileName: "src/a.ts",
  location: { start: { line, column: 5 }, end: { line, column: 10 } },
  mutatorName: "EqualityOperator",
  replacement: "a <= b",
  status
})

const lines = (...values: ReadonlyArray<Score.Line>): string =>
  values.map((line) => `${JSON.stringify(line)}\n`).join("")

const planned = { skipped: 7, unreached: 20, reached: 80 }

describe("Mutation scores", () => {
  it("Killed and timed-out mutants count as caught, and crashes are excluded", () => {
    const text = lines(
      planned,
      ...["Killed", "Timeout", "Survived", "RuntimeError", "Killed"].map((status) => mutant(status))
    )
    const score = Score.count(text)
    assert.deepStrictEqual(score, { planned, tried: 4, found: 3, survivors: [mutant("Survived")] })
  })

  it("A run that ended before the first mutant has no score", () => {
    assert.strictEqual(Score.count(""), undefined)
  })

  it("Mutants that no test reaches lower the score", () => {
    const row = Score.row("core", { planned, tried: 4, found: 3, survivors: [] }, "2026-11-28")
    assert.strictEqual(row, "| `core` | 100 | 80 % | 4 | 75 % | 60 % | 2026-11-28 |")
  })

  it("Only the package's own row is replaced", () => {
    const page = "text\n| `core`   | - |\n| `auth` | - |\n"
    assert.strictEqual(Score.update(page, "core", "| `core` | 1 |"), "text\n| `core` | 1 |\n| `auth` | - |\n")
    assert.throws(() => Score.update(page, "tasks", ""), /no row for tasks/)
  })

  it("A survivor is described by its location and the changed text", () => {
    const text = Score.describe(mutant("Survived", 2), "first\nif (a < b) {\n")
    assert.strictEqual(text, "src/a.ts:2:5  EqualityOperator: a < b -> a <= b")
  })
})
