/** Checks the modules that a package's manifest makes public: they exist, and their values have docstrings. */
import { dirname, join } from "node:path"
import { type Finding, lineOf, type Module } from "./Module.ts"

export interface Manifest {
  readonly private?: boolean
  readonly exports?: Readonly<Record<string, string | null>>
  readonly bin?: object
}

/** Exports of a published package that are patterns or name a file that does not exist. */
export const exportsOf = (
  file: string,
  manifest: Manifest,
  exists: (path: string) => boolean
): ReadonlyArray<Finding> => {
  if (manifest.private === true) return []
  const problem = (name: string, target: string | null): string | undefined => {
    if (name.includes("*")) return "a pattern makes modules public unseen; list each"
    return target !== null && !exists(join(dirname(file), target)) ? `there is no ${target}` : undefined
  }
  return Object.entries(manifest.exports ?? {}).flatMap(([name, target]) => {
    const text = problem(name, target)
    return text === undefined ? [] : [{ rule: "exports", file, line: 1, text: `exports "${name}": ${text}` }]
  })
}

/** Public values without a docstring; a program has no users of its modules. */
export const docstrings = (
  directory: string,
  { bin, exports, private: isPrivate }: Manifest,
  modules: ReadonlyArray<Module>
): ReadonlyArray<Finding> => {
  if (isPrivate === true || bin !== undefined) return []
  const isPublic = new Set(
    Object.entries(exports ?? {}).flatMap(([name, target]) =>
      target === null || name.startsWith("./internal/") ? [] : [join(directory, target)]
    )
  )
  return modules
    .filter(({ file }) => isPublic.has(file))
    .flatMap(({ file, text, undocumented }) =>
      undocumented.map(({ name, start }) => ({
        rule: "docstrings" as const,
        file,
        line: lineOf(text, start),
        text: `${name} is public and has no docstring; say shape, units, default and errors`
      }))
    )
}
