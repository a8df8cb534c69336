/**
 * The vitest reporter for the requirements ledger. Fails a run if tests cite unknown ids or did not run, and saves the proofs of a complete
 * run for the report.
 */
import { relative } from "node:path"
import type { Reporter, TestModule, TestRunEndReason, Vitest } from "vitest/node"
import { collect, faults, type Test } from "./Proofs.ts"
import { root, testFiles, write } from "./Results.ts"

const testsOf = (module: TestModule): ReadonlyArray<Test> =>
  Array.from(module.children.allTests(), (test) => ({
    title: test.fullName,
    file: relative(root, module.moduleId),
    state: test.result().state,
    requirements: test.meta().requirements ?? []
  }))

export default class RequirementsReporter implements Reporter {
  private vitest: Vitest | undefined

  onInit(vitest: Vitest): void {
    this.vitest = vitest
  }

  onTestRunEnd(modules: ReadonlyArray<TestModule>, _errors: unknown, reason: TestRunEndReason): void {
    const narrowed = this.vitest?.getGlobalTestNamePattern() !== undefined
    const proofs = collect(modules.flatMap(testsOf))
    const found = faults(proofs, narrowed)
    if (found.length > 0) {
      this.vitest?.logger.error(`\nRequirements cited by tests:\n${found.map((fault) => `  ${fault}`).join("\n")}`)
      process.exitCode = 1
    }
    const ran = new Set(modules.map((module) => module.moduleId))
    const complete = !narrowed && reason !== "interrupted" && testFiles().every((path) => ran.has(path))
    if (complete) write(proofs)
  }
}
