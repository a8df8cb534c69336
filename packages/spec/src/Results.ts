/**
 * The file with the proofs of the last complete test run, which the reporter writes and the report reads.
 *
 * Only a run of all test files writes it, so that the report never misses a proof.
 */
import { existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import type { Proofs } from "./Proofs.ts"

/** The root of the workspace. */
export const root = resolve(import.meta.dirname, "../../..")

const file = join(root, ".tsbuildinfo/requirements.json")

const perf = "packages/*/test/perf/**"

/** Returns all test files that `npm run test:all` runs, as absolute paths, without tests of time and memory, which prove nothing. */
export const testFiles = (): ReadonlyArray<string> =>
  globSync("packages/*/test/**/*.test.ts", { cwd: root, exclude: [perf] }).map((path) => join(root, path))

/** Returns the test files that start processes or need a database, relative to the root. `npm test` skips them. */
export const processFiles = (): ReadonlyArray<string> =>
  globSync("packages/*/test/process/**/*.test.ts", { cwd: root }).toSorted()

/** Returns the test files that only `npm run test:perf` runs, relative to the root. */
export const perfFiles = (): ReadonlyArray<string> => globSync(`${perf}/*.test.ts`, { cwd: root }).toSorted()

/** Saves the proofs of a complete run. */
export const write = (proofs: Proofs): void => {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, JSON.stringify(proofs, null, 2))
}

/** Returns the proofs of the last complete run, or `undefined` if there was none. */
export const read = (): Proofs | undefined => (existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined)

/** True if no source or test has changed since the last complete run. */
export const isFresh = (): boolean => {
  if (!existsSync(file)) return false
  const written = statSync(file).mtimeMs
  const sources = globSync("packages/*/{src,test}/**/*.ts", { cwd: root })
  return sources.every((path) => statSync(join(root, path)).mtimeMs <= written)
}
