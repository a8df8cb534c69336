import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import * as path from "node:path"
import * as Goals from "../src/Goals.ts"
import { type Cell, type Figures, type Row, type Table, table } from "../src/Measure.ts"
import * as Options from "../src/Options.ts"
import { root } from "../src/Process.ts"
import * as Report from "../src/Report.ts"
import * as Results from "../src/Results.ts"
import * as Short from "../src/Short.ts"

const title = "stdio tools/call, 64 in flight"
const goal = `${title}, async functions, 2025`

const cell = (key: string, rounds: ReadonlyArray<Figures>): Cell => {
  const left = [...rounds]
  return { key, against: { raw: "raw 2025" }, round: async () => left.shift() ?? {} }
}
const cpu = (...values: ReadonlyArray<number>): ReadonlyArray<Figures> => values.map((us) => ({ "cpu us": us }))
const row = (key: string, us: number): Row => ({ key, figures: { "cpu us": us } })
const measured = (...rows: ReadonlyArray<Row>): ReadonlyArray<Table> => [{ title, rows }]
const reached = (tables: ReadonlyArray<Table>) => Goals.rows(tables).find((reached) => reached.goal.title === goal)

describe("Tables of rounds", () => {
  it("A table uses the lowest CPU and latency of all rounds, and the median of the rest", async () => {
    const rounds = [
      { "cpu us": 5, "per s": 10, "p99 ms": 3 },
      { "cpu us": 9, "per s": 30, "p99 ms": 1 },
      { "cpu us": 6, "per s": 20, "p99 ms": 2 }
    ]
    const { rows } = await table(title, [cell("raw 2025", cpu(4, 2, 3)), cell("ours 2025", rounds)], 3)
    assert.deepStrictEqual(
      rows.map(({ figures }) => figures),
      [
        { "cpu us": 2, "x raw": 1 },
        { "cpu us": 5, "per s": 20, "p99 ms": 1, "x raw": 2.5 }
      ]
    )
  })

  it("A table measures a sparse row in every other round", async () => {
    const asked: Array<string> = []
    const counted = (key: string, sparse: boolean): Cell => ({
      key,
      sparse,
      round: async () => {
        asked.push(key)
        return {}
      }
    })
    await table(title, [counted("raw", false), counted("sdk2", true)], 3)
    assert.deepStrictEqual(asked, ["raw", "sdk2", "raw", "raw", "sdk2"])
  })

  it("A table reports failures and continues", async () => {
    const broken: Cell = { key: "ours 2025", round: () => Promise.reject(new Error("no\nway")) }
    const made = await table(title, [cell("raw 2025", cpu(1, 2)), broken], 2)
    assert.match(Report.text(made), /ours 2025 +Error: no way$/m)
    assert.deepStrictEqual(made.rows[0]?.figures, { "cpu us": 1, "x raw": 1 })
  })
})

describe("Performance gate", () => {
  it("The gate passes a figure that exactly meets its goal", () => {
    const tables = measured(row("raw 2025", 10), row("ours 2025", 24))
    assert.strictEqual(reached(tables)?.state, "met")
    assert.deepStrictEqual(Goals.missed(Goals.rows(tables)), [])
  })

  it("The gate names each figure that misses its goal, and by how much", () => {
    const tables = measured(row("raw 2025", 10), row("ours 2025", 24.1))
    assert.deepStrictEqual(Goals.missed(Goals.rows(tables)), [`${goal}: 2.41, goal 2.4`])
  })

  it("The gate does not pass a failure", () => {
    const failed = { key: "ours 2025", figures: {}, error: "exit 1" }
    assert.deepStrictEqual(Goals.missed(Goals.rows(measured(row("raw 2025", 10), failed))), [
      `${goal}: failed, goal 2.4`
    ])
    const noRaw = measured({ key: "raw 2025", figures: {}, error: "exit 1" }, row("ours 2025", 1))
    assert.deepStrictEqual(Goals.missed(Goals.rows(noRaw)), [`${goal}: failed, goal 2.4`])
  })

  it("The gate ignores rows that did not run, peers and rows without a goal", () => {
    assert.deepStrictEqual(Goals.missed(Goals.rows([])), [])
    const tables = measured(row("raw 2025", 1), row("ours 2025", 1), row("sdk2 2025", 0.1), row("ours:metrics 2025", 9))
    assert.deepStrictEqual(Goals.missed(Goals.rows(tables)), [])
    const noted = Goals.rows(tables).filter(({ state }) => state === "noted")
    assert.deepStrictEqual(
      noted.map(({ ours }) => ours),
      [9]
    )
  })

  it("The gate uses the median of several runs' ratios, not a ratio of medians", () => {
    const runs = [
      measured(row("raw 2025", 1), row("ours 2025", 1.9)),
      measured(row("raw 2025", 4), row("ours 2025", 7)),
      measured(row("raw 2025", 2), row("ours 2025", 9))
    ]
    const both = Goals.medians(runs.map(Goals.rows))
    assert.deepStrictEqual(Goals.missed(both), [])
    assert.strictEqual(both.find((reached) => reached.goal.title === goal)?.ours, 1.9)
    assert.deepStrictEqual(Results.medians(runs)[0]?.rows, [row("raw 2025", 2), row("ours 2025", 7)])
  })

  it("The median of runs keeps a table found only in the first run", () => {
    const [only] = measured(row("raw 2025", 1))
    assert.isDefined(only)
    assert.deepStrictEqual(Results.medians([[only], []]), [only])
  })
})

describe("RESULTS.md", () => {
  const results = readFileSync(path.join(root, "RESULTS.md"), "utf8")

  it.each(Short.documents)("The short table in $file matches the results page", (document) => {
    const text = readFileSync(document.file, "utf8")
    assert.strictEqual(Short.replaced(text, document, results), text)
  })

  it("The README's picture matches the results page", async () => {
    assert.strictEqual(`${await Short.picture(results)}\n`, readFileSync(Short.pictureFile, "utf8"))
  })

  it("A short table uses the results page's figures", () => {
    const goals = Goals.rows(
      measured(row("raw 2025", 10), row("ours 2025", 15), row("raw 2026", 10), row("ours 2026", 30))
    )
    const text = Report.markdown(Goals.table(goals)).replace("### ", "## ")
    assert.strictEqual(
      Short.table(text, [["async", `${title}, async functions`]])
        .split("\n")
        .at(-1),
      "| async | 1.50 / 3.00 |        |            |      |"
    )
  })
})

describe("Options", () => {
  it("Results are written only for a complete run", () => {
    assert.isTrue(Options.parse(["--quick", "--write"]).write)
    assert.throws(() => Options.parse(["--write", "--only", "stdio"]), /whole run/)
  })
})
