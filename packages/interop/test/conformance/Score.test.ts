/** How a run of a suite is judged. */
import { assert, describe, it } from "@effect/vitest"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { legs } from "@effect-mcp/interop/conformance/Leg"
import * as Score from "@effect-mcp/interop/conformance/Score"

const scenario = (name: string, ...statuses: ReadonlyArray<string>): readonly [string, Score.Scenario] => [
  name,
  { name, checks: statuses.map((status) => ({ id: `${name}-check`, status, name })) }
]

describe("Conformance scenarios", () => {
  const passes = (...statuses: ReadonlyArray<string>) => Score.problemOf(scenario("x", ...statuses)[1]) === undefined

  it("A scenario passes with a real check, no failure and no warning", () => {
    assert.isTrue(passes("SUCCESS", "INFO", "SKIPPED"))
    assert.isFalse(passes("SUCCESS", "FAILURE"))
    assert.isFalse(passes("SUCCESS", "WARNING"))
  })

  it("A scenario does not pass without checks or with message shape checks alone", () => {
    assert.isFalse(passes())
    assert.isFalse(passes("INFO", "SKIPPED"))
    assert.isDefined(Score.problemOf({ name: "x", checks: [{ id: "wire-schema-valid", status: "SUCCESS" }] }))
  })
})

describe("Conformance runs", () => {
  const judge = (baseline: Score.Baseline, expected = 2) =>
    Score.judge(new Map([scenario("good", "SUCCESS"), scenario("bad", "FAILURE")]), baseline, expected).surprises

  it("A run is as expected if exactly the baseline scenarios fail", () => {
    assert.deepStrictEqual(judge({ bad: "known" }), [])
  })

  it("A run reports an unlisted failure", () => {
    assert.deepStrictEqual(judge({}), ["bad fails: FAILURE bad-check: bad"])
  })

  it("A run reports a listed failure that passes or was not run", () => {
    assert.deepStrictEqual(judge({ bad: "known", good: "known", gone: "known" }), [
      "good passes: take it from the baseline",
      "gone is in the baseline, but was not run"
    ])
  })

  it("A run reports scenarios that were not run at all", () => {
    assert.deepStrictEqual(judge({ bad: "known" }, 3), ["2 scenarios were run, not 3"])
  })
})

it("A suite's result is found by name in any subfolder", () => {
  const directory = mkdtempSync(join(tmpdir(), "conformance-"))
  try {
    for (const folder of ["server-ping-2026-11-21T15-42-00-499Z", "auth/basic-cimd-2026-11-21T15-42-00-499Z"]) {
      mkdirSync(join(directory, folder), { recursive: true })
      writeFileSync(join(directory, folder, "checks.json"), JSON.stringify([{ id: "a", status: "SUCCESS", more: 1 }]))
    }
    assert.deepStrictEqual([...Score.read(directory).keys()].toSorted(), ["auth/basic-cimd", "ping"])
  } finally {
    rmSync(directory, { recursive: true })
  }
})

it("Every leg has a unique name", () => {
  assert.strictEqual(new Set(legs.map(({ name }) => name)).size, legs.length)
})
