/**
 * The file that carries the proofs of the last complete test run from the reporter to the report.
 *
 * Refuses partial runs: only a run of every test file leaves a result, so that the report never counts too little.
 */
import { existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import type { Proofs } from "./Proofs.ts"

/** The root of the workspace. */
export const root = resolve(import.meta.dirname, "../../..")

const file = join(root, ".tsbuildinfo/requirements.json")

const perf = "packages/*/test/perf/**"

/** All test files that `npm run test:all` runs, as absolute paths. Tests of time and memory prove nothing and are not among them. */
export const testFiles = (): ReadonlyArray<string> =>
  globSync("packages/*/test/**/*.test.ts", { cwd: root, exclude: [perf] }).map((path) => join(root, path))

/** The test files that start processes or need a database, from the root: `npm test` leaves them out. */
export const processFiles = (): ReadonlyArray<string> =>
  globSync("packages/*/test/process/**/*.test.ts", { cwd: root }).toSorted()

/** The test files that only `npm run test:perf` runs, from the root. */
export const perfFiles = (): ReadonlyArray<string> => globSync(`${perf}/*.test.ts`, { cwd: root }).toSorted()

/** Keeps the proofs of a complete run. */
export const write = (proofs: Proofs): void => {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, JSON.stringify(proofs, null, 2))
}

/** The proofs of the last complete run, if there was one. */
export const read = (): Proofs | undefined => (existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined)

/** Whether no source or test has changed since the last complete run. */
export const isFresh = (): boolean => {
  if (!existsSync(file)) return false
  const written = statSync(file).mtimeMs
  const sources = globSync("packages/*/{src,test}/**/*.ts", { cwd: root })
  return sources.every((path) => statSync(join(root, path)).mtimeMs <= written)
}
