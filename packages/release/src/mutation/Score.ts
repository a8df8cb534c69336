/** Counts the results of a mutation run, and writes them to the page of proofs. */

interface Position {
  readonly line: number
  readonly column: number
}

/** One change to a source file and the outcome of the tests that reach it. Lines and columns start at 1. */
export interface MutantResult {
  readonly fileName: string
  readonly location: { readonly start: Position; readonly end: Position }
  readonly mutatorName: string
  readonly replacement?: string | undefined
  readonly status: string
}

/** Number of mutants before any runs. */
export interface Planned {
  /** Mutants of code that only runs while a module loads. Each would need all tests in a new process. */
  readonly skipped: number
  readonly unreached: number
  readonly reached: number
}

/** A line of the file that the plugin writes. */
export type Line = MutantResult | Planned

export interface Score {
  readonly planned: Planned
  readonly tried: number
  readonly found: number
  readonly survivors: ReadonlyArray<MutantResult>
}

const isFound = ({ status }: MutantResult): boolean => status === "Killed" || status === "Timeout"

/** Counts the lines of a run, or returns `undefined` if the run ended before its first mutant. */
export const count = (text: string): Score | undefined => {
  const lines = text
    .split("\n")
    .filter((line) => line !== "")
    .map((line): Line => JSON.parse(line))
  const planned = lines.find((line) => "reached" in line)
  const results = lines.filter((line) => "status" in line)
  const survivors = results.filter(({ status }) => status === "Survived")
  const found = results.filter(isFound).length
  // Other outcomes, such as a crash of the test runner, say nothing about the tests.
  return planned && { planned, tried: found + survivors.length, found, survivors }
}

const share = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole)

const percent = (value: number): string => `${Math.round(100 * value)} %`

/** Row of the table for a package. The score counts mutants that no test reaches as not found. */
export const row = (name: string, { found, planned, tried }: Score, date: string): string => {
  const { reached, unreached } = planned
  const reach = share(reached, reached + unreached)
  const rate = share(found, tried)
  const cells = [
    `\`${name}\``,
    `${reached + unreached}`,
    percent(reach),
    `${tried}`,
    percent(rate),
    percent(reach * rate),
    date
  ]
  return `| ${cells.join(" | ")} |`
}

/** Replaces the package's row in a page. Throws if the page has no such row. */
export const update = (page: string, name: string, newRow: string): string => {
  const start = `| \`${name}\``
  const lines = page.split("\n")
  if (!lines.some((line) => line.startsWith(start))) throw new Error(`The page of proofs has no row for ${name}.`)
  return lines.map((line) => (line.startsWith(start) ? newRow : line)).join("\n")
}

/** Describes a survivor: its place, the mutator, and the change. */
export const describe = (
  { fileName, location, mutatorName, replacement = "" }: MutantResult,
  source: string
): string => {
  const { end, start } = location
  const lines = source.split("\n").slice(start.line - 1, end.line)
  const text = lines
    .map((line, i) => line.slice(i === 0 ? start.column - 1 : 0, i === lines.length - 1 ? end.column - 1 : undefined))
    .join(" ")
  const short = (code: string): string => code.replaceAll(/\s+/g, " ").slice(0, 70)
  return `${fileName}:${start.line}:${start.column}  ${mutatorName}: ${short(text)} -> ${short(replacement)}`
}
