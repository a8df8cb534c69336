/**
 * The short table of the README at the root, "How fast": rows of the goals in RESULTS.md, both eras in a cell. Made from that file and
 * nothing else, so that a test can tell whether the two agree.
 */
import { readFileSync, writeFileSync } from "node:fs"
import * as path from "node:path"
import { root } from "./Process.ts"
import { grid } from "./Report.ts"

export const readme = path.join(path.dirname(path.dirname(root)), "README.md")

/** The row's title, and the goal's without its era. */
const rows: ReadonlyArray<readonly [title: string, goal: string]> = [
  ["HTTP tools/call, 16 at once", "HTTP tools/call through HttpRouter"],
  ["the same without the router", "HTTP tools/call through a Node listener"],
  ["HTTP, handlers that take a step", "HTTP tools/call, handlers that take a step"],
  ["HTTP tools/list of 50 tools", "HTTP tools/list of 50"],
  ["stdio tools/call, 64 in flight", "stdio tools/call, 64 in flight"],
  ["stdio, handlers that take a step", "stdio tools/call, handlers that take a step"],
  ["stdio tools/call, 1 in flight", "stdio tools/call, 1 in flight"],
  ["stdio progress, us each", "stdio progress, us each"],
  ["client tools/call over HTTP", "client tools/call"]
]

const cellsOf = (line: string): ReadonlyArray<string> =>
  line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim())

/** The goals in the text of RESULTS.md by their title: ours, sdk2, effect, tmcp, as they are written there. */
const goalsOf = (results: string): ReadonlyMap<string, ReadonlyArray<string>> => {
  const lines = results.slice(results.indexOf("## Goals")).split("\n")
  const begin = lines.findIndex((line) => line.startsWith("|"))
  const end = lines.findIndex((line, i) => i > begin && !line.startsWith("|"))
  return new Map(
    lines.slice(begin, end).map((line) => {
      const [title = "", , ...figures] = cellsOf(line)
      return [title.replace(/^(ok|MISSED|\?|\(no goal\)) /, ""), figures]
    })
  )
}

/** As Markdown: 2025-11-25 / 2026-07-28, empty where nothing was measured. */
export const table = (results: string): string => {
  const goals = goalsOf(results)
  const cell = (goal: string, column: number): string => {
    const [old = "-", modern = "-"] = ["2025", "2026"].map((era) => goals.get(`${goal}, ${era}`)?.[column] ?? "-")
    if (old === "-" && modern === "-") return ""
    return modern === "-" ? old : `${old} / ${modern}`
  }
  const known = rows.filter(([, goal]) => cell(goal, 0) !== "")
  return grid([
    ["", "effect-mcp", "SDK v2", "Effect 4.1", "tmcp"],
    ...known.map(([title, goal]) => [title, ...[0, 1, 2, 3].map((column) => cell(goal, column))])
  ])
}

/** The README with the table in place of the one that is there. */
export const replaced = (text: string, results: string): string => {
  const heading = text.indexOf("\n## How fast\n")
  const begin = text.indexOf("\n|", heading) + 1
  const end = text.indexOf("\n\n", begin)
  if (heading < 0 || begin === 0 || end < 0) throw new Error("README.md has no table under How fast")
  return `${text.slice(0, begin)}${table(results)}${text.slice(end)}`
}

export const update = (results: string): void => writeFileSync(readme, replaced(readFileSync(readme, "utf8"), results))
