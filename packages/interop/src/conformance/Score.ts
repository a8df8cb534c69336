/**
 * Judges a suite's results, more strictly than the suite does.
 *
 * A scenario passes if nothing failed, nothing raised a warning, and a check other than the message shape passed: some scenarios find
 * nothing to complain about when nothing happens at all.
 */
import { Schema } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative, sep } from "node:path"

const Check = Schema.Struct({
  id: Schema.String,
  status: Schema.String,
  name: Schema.optionalKey(Schema.String),
  errorMessage: Schema.optionalKey(Schema.String)
})
export type Check = typeof Check.Type
const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Array(Check)))

export interface Scenario {
  readonly name: string
  readonly checks: ReadonlyArray<Check>
}

/** Checks of the message shape, which every instrumented scenario has in addition to its own. */
const shapes: ReadonlySet<string> = new Set(["wire-schema-valid", "wire-schema-harness-error"])

/** Returns the reason why a scenario does not pass, or `undefined` if it passes. */
export const problemOf = ({ checks }: Scenario): string | undefined => {
  const bad = checks.find(({ status }) => status === "FAILURE") ?? checks.find(({ status }) => status === "WARNING")
  if (bad !== undefined) return `${bad.status} ${bad.id}: ${bad.errorMessage ?? bad.name ?? "no reason given"}`
  return checks.some(({ id, status }) => status === "SUCCESS" && !shapes.has(id)) ? undefined : "Nothing was checked"
}

/** Returns all scenarios in a suite's output directory, by name. A scenario that ran twice has the checks of both runs. */
export const read = (directory: string): ReadonlyMap<string, Scenario> => {
  const scenarios = new Map<string, Scenario>()
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (entry.name !== "checks.json") continue
    const file = join(entry.parentPath, entry.name)
    const folder = relative(directory, dirname(file)).split(sep).join("/")
    const name = folder.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, "")
    const checks = [...(scenarios.get(name)?.checks ?? []), ...decode(readFileSync(file, "utf8"))]
    scenarios.set(name, { name, checks })
  }
  return scenarios
}

/** Scenarios that are known to fail, with the reason. */
export type Baseline = { readonly [scenario: string]: string }

export interface Verdict {
  readonly passed: number
  readonly run: number
  readonly checks: { readonly SUCCESS: number; readonly FAILURE: number; readonly WARNING: number }
  /** One sentence per difference from the baseline. */
  readonly surprises: ReadonlyArray<string>
}

/** Compares in both directions: every failure must be listed, and every listed scenario must fail. */
export const judge = (scenarios: ReadonlyMap<string, Scenario>, baseline: Baseline, expected: number): Verdict => {
  const all = [...scenarios.values()]
  const count = (status: string) =>
    all.flatMap(({ checks }) => checks).filter((check) => check.status === status).length
  const surprises = all.flatMap((scenario) => {
    const problem = problemOf(scenario)
    const listed = Object.hasOwn(baseline, scenario.name)
    if (problem !== undefined && !listed) return [`${scenario.name} fails: ${problem}`]
    return problem === undefined && listed ? [`${scenario.name} passes: take it from the baseline`] : []
  })
  const unknown = Object.keys(baseline).filter((name) => !scenarios.has(name))
  const missing = all.length === expected ? [] : [`${all.length} scenarios were run, not ${expected}`]
  return {
    passed: all.filter((scenario) => problemOf(scenario) === undefined).length,
    run: all.length,
    checks: { SUCCESS: count("SUCCESS"), FAILURE: count("FAILURE"), WARNING: count("WARNING") },
    surprises: [...missing, ...surprises, ...unknown.map((name) => `${name} is in the baseline, but was not run`)]
  }
}
