/**
 * Reads the tables of faults next to the tests, applies a fault to a text, and checks whether a row applies.
 */
import { existsSync, globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import type { Fault } from "./Fault.ts"
import { isRequirementId } from "./Ledger.ts"
import { root } from "./Results.ts"

/** Returns the rows of every table `packages/<name>/test/faults.ts`, in the order of the packages. */
export const all = async (): Promise<ReadonlyArray<Fault>> => {
  const paths = globSync("packages/*/test/faults.ts", { cwd: root }).toSorted()
  const tables = await Promise.all(
    paths.map(
      (path): Promise<{ readonly faults: ReadonlyArray<Fault> }> => import(pathToFileURL(join(root, path)).href)
    )
  )
  return tables.flatMap((table) => table.faults)
}

/** Returns the vitest project that runs the test of a fault. */
export const projectOf = (fault: Fault): string => fault.project ?? projectOfFile(fault.test)

const projectOfFile = (file: string): string => {
  const [, name = "", , folder] = file.split("/")
  return folder === "process" ? `${name}:process` : name
}

/** Returns the text of the source file with the fault applied, or `undefined` if `from` does not occur exactly once. */
export const put = (fault: Fault, text: string): string | undefined => {
  const [before, after, ...more] = text.split(fault.from)
  return before === undefined || after === undefined || more.length > 0 ? undefined : before + fault.to + after
}

/** Returns the words and operators of a text, of which two versions of a line share many after a refactoring. */
const tokens = (text: string) => new Set(text.match(/\w+|[^\s\w]+/gu))

/** Returns the place in the source that is most similar to `from`, to help with fixing the row. */
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

/** Returns the reasons why a row does not apply to the checkout in `directory`, one sentence each. Empty if it applies. */
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
 * Returns `count` rows that differ from day to day, so that all rows are covered after `rows.length / count` days. Without a count, returns
 * all rows.
 */
export const turn = (rows: ReadonlyArray<Fault>, count: number | undefined, day: number): ReadonlyArray<Fault> => {
  if (count === undefined || count >= rows.length) return rows
  const first = (day * count) % rows.length
  return [...rows, ...rows].slice(first, first + count)
}
