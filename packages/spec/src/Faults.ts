/**
 * The tables of faults that the packages keep beside their tests, and how one is put in.
 *
 * Owns where the tables are and when a row applies. Reads files and writes none.
 */
import { existsSync, globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import type { Fault } from "./Fault.ts"
import { isRequirementId } from "./Ledger.ts"
import { root } from "./Results.ts"

/** The rows of every table `packages/<name>/test/faults.ts`, in the order of the packages. */
export const all = async (): Promise<ReadonlyArray<Fault>> => {
  const paths = globSync("packages/*/test/faults.ts", { cwd: root }).toSorted()
  const tables = await Promise.all(
    paths.map(
      (path): Promise<{ readonly faults: ReadonlyArray<Fault> }> => import(pathToFileURL(join(root, path)).href)
    )
  )
  return tables.flatMap((table) => table.faults)
}

/** The vitest project that runs the test of a fault. */
export const projectOf = (fault: Fault): string => fault.project ?? projectOfFile(fault.test)

/** Tests of `everything` are the project `interop` (`vitest.workspace.ts`). */
const projectOfFile = (file: string): string => {
  const [, name = "", , folder] = file.split("/")
  const project = name === "everything" ? "interop" : name
  return folder === "process" ? `${project}:process` : project
}

/** The text of the source file with the fault in it; undefined where `from` does not occur exactly once. */
export const put = (fault: Fault, text: string): string | undefined => {
  const [before, after, ...more] = text.split(fault.from)
  return before === undefined || after === undefined || more.length > 0 ? undefined : before + fault.to + after
}

/** Words and operators of a text: what two versions of a line still share after a refactoring. */
const tokens = (text: string) => new Set(text.match(/\w+|[^\s\w]+/gu))

/** The place in the source that looks most like `from`, so that the row is quickly put right. */
const hint = (fault: Fault, text: string): string => {
  const wanted = tokens(fault.from)
  const height = fault.from.split("\n").length
  const lines = text.split("\n")
  const [score, line] = lines.reduce<readonly [number, number]>(
    (best, _, index) => {
      const found = tokens(lines.slice(index, index + height).join("\n"))
      const shared = [...wanted].filter((token) => found.has(token)).length / Math.max(wanted.size, found.size)
      return shared > best[0] ? [shared, index] : best
    },
    [0, 0]
  )
  return score < 0.4
    ? ""
    : `\nThe nearest text is in line ${line + 1}: ${lines
        .slice(line, line + height)
        .join("\n")
        .trim()}`
}

/** Why a row does not apply to the checkout in `directory`, sentence by sentence; empty where it does. */
export const problems = (fault: Fault, directory = root): ReadonlyArray<string> => {
  const file = join(directory, fault.file)
  const text = existsSync(file) ? readFileSync(file, "utf8") : undefined
  const unknown = (fault.ids ?? []).filter((id: string) => !isRequirementId(id))
  return [
    ...(text === undefined ? [`There is no file ${fault.file}.`] : []),
    ...(text !== undefined && put(fault, text) === undefined
      ? [
          `${fault.file} has the text ${text.split(fault.from).length - 1} times instead of once: ${fault.from}${hint(fault, text)}`
        ]
      : []),
    ...(fault.from === fault.to ? ["The replacement is the same text."] : []),
    ...(existsSync(join(directory, fault.test)) ? [] : [`There is no test file ${fault.test}.`]),
    ...unknown.map((id) => `The ledger has no entry ${id}.`)
  ]
}

/**
 * Takes `count` rows that differ from day to day, so that all had their turn after `rows.length / count` days; all rows
 * without a count.
 */
export const turn = (rows: ReadonlyArray<Fault>, count: number | undefined, day: number): ReadonlyArray<Fault> => {
  if (count === undefined || count >= rows.length) return rows
  const first = (day * count) % rows.length
  return [...rows, ...rows].slice(first, first + count)
}
