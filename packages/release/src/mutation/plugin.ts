/**
 * Runs inside Stryker: a checker that puts the mutants in a random order, and a reporter that writes each result as a line of
 * JSON and stops Stryker when the time is over. The tested mutants are then a random sample.
 */
import { hash } from "node:crypto"
import { appendFileSync } from "node:fs"
import type { Line, MutantResult } from "./Score.ts"

interface Mutant {
  readonly id: string
}

interface Plan {
  readonly plan: "EarlyResult" | "Run"
  readonly runOptions?: { readonly testFilter?: ReadonlyArray<string> }
}

const setting = (name: string): string => process.env[`MUTATION_${name}`] ?? ""

class Shuffle {
  init(): Promise<void> {
    return Promise.resolve()
  }

  check(mutants: ReadonlyArray<Mutant>): Promise<Record<string, { readonly status: "passed" }>> {
    return Promise.resolve(Object.fromEntries(mutants.map(({ id }) => [id, { status: "passed" }])))
  }

  group(mutants: ReadonlyArray<Mutant>): Promise<ReadonlyArray<ReadonlyArray<string>>> {
    const keyed = mutants.map(({ id }) => ({ id, key: hash("sha256", `${setting("SEED")} ${id}`) }))
    return Promise.resolve(keyed.toSorted((one, other) => (one.key < other.key ? -1 : 1)).map(({ id }) => [id]))
  }
}

const write = (line: Line): void => appendFileSync(setting("RESULTS"), `${JSON.stringify(line)}\n`)

class Bounded {
  onMutationTestingPlanReady({ mutantPlans }: { readonly mutantPlans: ReadonlyArray<Plan> }): void {
    const planned = mutantPlans.filter(({ plan }) => plan === "Run")
    const unreached = planned.filter(({ runOptions }) => runOptions?.testFilter?.length === 0).length
    write({ skipped: mutantPlans.length - planned.length, unreached, reached: planned.length - unreached })
    // Stryker restores the sources on this signal.
    setTimeout(() => process.kill(process.pid, "SIGTERM"), Number(setting("MINUTES")) * 60_000).unref()
  }

  onMutantTested({ fileName, location, mutatorName, replacement, status }: MutantResult): void {
    if (status !== "Ignored" && status !== "NoCoverage") write({ fileName, location, mutatorName, replacement, status })
  }
}

export const strykerPlugins = [
  { kind: "Checker", name: "shuffle", injectableClass: Shuffle },
  { kind: "Reporter", name: "bounded", injectableClass: Bounded }
]
