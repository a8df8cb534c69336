/**
 * The vitest reporter that lists, at the end of a run, the tests that passed only at the second attempt, and the tests that did not run:
 * skipped tests with their reasons, the additional tests of `npm run test:all` and, after that, the larger nightly counts and the tests of
 * time and memory.
 */
import { globSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import type { Reporter, TestCase, TestModule, TestSuite, Vitest } from "vitest/node"
import { perfFiles, processFiles, root, testFiles } from "./Results.ts"
import { isNightly } from "./Scale.ts"

/** Returns the calls of `scaled` in a module, as `60 of 200`. */
export const countsOf = (source: string): ReadonlyArray<string> =>
  [...source.matchAll(/\bscaled\(([\d_]+), ([\d_]+)\)/g)].map(([, usual, nightly]) => `${usual} of ${nightly}`)

/** Returns a line per skip reason, with the number of tests. */
export const linesOf = (reasons: ReadonlyArray<string | undefined>): ReadonlyArray<string> =>
  [...Map.groupBy(reasons, (reason) => reason ?? "no reason given")].map(
    ([reason, tests]) => `  ${reason}: ${tests.length}`
  )

const reasonOf = (test: TestCase): string | undefined => {
  const result = test.result()
  if (result.state === "skipped" && result.note !== undefined) return result.note
  for (let at: TestCase | TestSuite | TestModule = test; at.type !== "module"; at = at.parent) {
    const { skipped } = at.meta()
    if (skipped !== undefined) return skipped
  }
  return undefined
}

const skippedOf = (module: TestModule): ReadonlyArray<string | undefined> =>
  Array.from(module.children.allTests("skipped"), reasonOf)

/** Returns the tests that failed and then passed. */
const flakyOf = (module: TestModule): ReadonlyArray<string> =>
  Array.from(module.children.allTests("passed"))
    .filter((test) => test.diagnostic()?.flaky === true)
    .map((test) => `  ${relative(root, module.moduleId)}: ${test.fullName}`)

/** Returns the test modules with larger nightly counts, each with its counts. */
const scaledModules = (): ReadonlyArray<string> =>
  globSync("packages/*/test/**/*.ts", { cwd: root })
    .toSorted()
    .flatMap((path) => {
      const counts = countsOf(readFileSync(join(root, path), "utf8"))
      return counts.length === 0 ? [] : [`  ${path}: ${counts.join(", ")}`]
    })

export default class SkipReporter implements Reporter {
  private vitest: Vitest | undefined

  onInit(vitest: Vitest): void {
    this.vitest = vitest
  }

  onTestRunEnd(modules: ReadonlyArray<TestModule>): void {
    const say = (title: string, lines: ReadonlyArray<string>): void => {
      if (lines.length > 0) this.vitest?.logger.log([`\n${title}`, ...lines].join("\n"))
    }
    say("Passed only at the second attempt:", modules.flatMap(flakyOf))
    if (this.vitest?.getGlobalTestNamePattern() !== undefined) return
    const skipped = modules.flatMap(skippedOf)
    say(`Skipped tests: ${skipped.length}`, linesOf(skipped))
    const ran = new Set(modules.map((module) => module.moduleId))
    const processes = new Set(processFiles().map((path) => join(root, path)))
    if (!testFiles().every((path) => ran.has(path) || processes.has(path))) return
    const left = [...processes].filter((path) => !ran.has(path)).map((path) => relative(root, path))
    say(
      `npm run test:all adds ${left.length} files that start processes or need a database:`,
      [...Map.groupBy(left, (path) => path.split("/")[1])].map(([name, files]) => `  ${name}: ${files.length}`)
    )
    if (left.length > 0) return
    if (!isNightly) say("Smaller counts than those of npm run test:nightly:", scaledModules())
    const perf = perfFiles().filter((path) => !ran.has(join(root, path)))
    say(
      "Time and memory, only by npm run test:perf on an idle machine:",
      perf.map((path) => `  ${path}`)
    )
  }
}
