/**
 * Writes short tables from RESULTS.md, with both eras in a cell, and a picture of the first one, into the root README and the performance
 * page. RESULTS.md is the only input, so that a test can check whether they agree.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import * as path from "node:path"
import { root } from "./Process.ts"
import { grid } from "./Report.ts"

/** Title of the row, and title of the goal without its era. */
type Row = readonly [title: string, goal: string]

const httpCall = "HTTP tools/call, 16 at once"
const stdioCall = "stdio tools/call, 64 in flight"
/** Async functions, as every library's documentation shows them. */
const calls: ReadonlyArray<Row> = [
  [httpCall, `${httpCall}, async functions`],
  [stdioCall, `${stdioCall}, async functions`]
]
const trivial: ReadonlyArray<Row> = [
  ["HTTP, a trivial handler", `${httpCall}, trivial`],
  ["stdio, a trivial handler", `${stdioCall}, trivial`]
]
const list: Row = ["HTTP tools/list of 50 tools", "HTTP tools/list of 50"]

const rows: ReadonlyArray<Row> = [
  ...calls,
  ["HTTP, a handler that waits 1 ms", "HTTP tools/call that waits 1 ms, 16 at once"],
  ["stdio, a handler that waits 1 ms", "stdio tools/call that waits 1 ms, 64 in flight"],
  ["HTTP, without the router", "HTTP tools/call through a Node listener"],
  ["HTTP, without Effect", `${httpCall}, async functions without Effect`],
  ["stdio, without Effect", `${stdioCall}, async functions without Effect`],
  ["HTTP, a generator that asks for a service", `${httpCall}, generators that ask for a service`],
  ["stdio, a generator that asks for a service", `${stdioCall}, generators that ask for a service`],
  ...trivial,
  list,
  ["stdio tools/call, 1 in flight", "stdio tools/call, 1 in flight"],
  ["stdio progress, us each", "stdio progress, us each"],
  ["client tools/call over HTTP", "client tools/call"]
]

interface Document {
  readonly file: string
  /** Heading of the section. The table is the first one in it. */
  readonly heading: string
  readonly rows: ReadonlyArray<Row>
}

const workspace = path.dirname(path.dirname(root))

export const documents: ReadonlyArray<Document> = [
  { file: path.join(workspace, "README.md"), heading: "## Why", rows: [...calls, ...trivial, list] },
  { file: path.join(workspace, "packages/docs/pages/performance.md"), heading: "## How fast", rows }
]

/** The picture that the README shows. */
export const pictureFile = path.join(root, "plots/peers.svg")

const cellsOf = (line: string): ReadonlyArray<string> =>
  line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim())

/** Returns the cells of each goal in RESULTS.md, by its title: ours, sdk2, effect, tmcp. */
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

const libraries = ["effect-mcp", "SDK v2", "Effect 4.1", "tmcp"]

/** Returns a Markdown table: 2025-11-25 / 2026-07-28, with empty cells for missing measurements. */
export const table = (results: string, rows: ReadonlyArray<Row>): string => {
  const goals = goalsOf(results)
  const cell = (goal: string, column: number): string => {
    const [old = "-", modern = "-"] = ["2025", "2026"].map((era) => goals.get(`${goal}, ${era}`)?.[column] ?? "-")
    if (old === "-" && modern === "-") return ""
    return modern === "-" ? old : `${old} / ${modern}`
  }
  const known = rows.filter(([, goal]) => cell(goal, 0) !== "")
  return grid([
    ["", ...libraries],
    ...known.map(([title, goal]) => [title, ...libraries.map((_, column) => cell(goal, column))])
  ])
}

/** Replaces the table in a document. */
export const replaced = (text: string, { file, heading, rows }: Document, results: string): string => {
  const section = text.indexOf(`\n${heading}\n`)
  const begin = text.indexOf("\n|", section) + 1
  const end = text.indexOf("\n\n", begin)
  if (section < 0 || begin === 0 || end < 0) throw new Error(`${file} has no table under ${heading}`)
  return `${text.slice(0, begin)}${table(results, rows)}${text.slice(end)}`
}

/** Draws the cost of a call over HTTP and stdio per library as a bar chart (SVG) that suits light and dark pages. */
export const picture = async (results: string): Promise<string> => {
  const goals = goalsOf(results)
  const values = calls.flatMap(([title, goal]) =>
    libraries.flatMap((library, column) => {
      const value = Number.parseFloat(goals.get(`${goal}, 2025`)?.[column] ?? "")
      return Number.isNaN(value) ? [] : [{ title, library, value }]
    })
  )
  const { draw } = await import("./draw.mjs")
  const scale = { domain: libraries, range: ["#2563eb", "#94a3b8", "#94a3b8", "#94a3b8"] }
  const y = { field: "library", type: "nominal", sort: libraries, title: null }
  const x = { field: "value", type: "quantitative", title: "CPU per request, a hand-written server = 1" }
  return draw({
    background: "white",
    padding: 12,
    data: { values },
    facet: { column: { field: "title", type: "nominal", sort: calls.map(([title]) => title), title: null } },
    spec: {
      width: 260,
      height: { step: 24 },
      layer: [
        { mark: "bar", encoding: { y, x, color: { field: "library", type: "nominal", scale, legend: null } } },
        { mark: { type: "text", align: "left", dx: 4 }, encoding: { y, x, text: { field: "value" } } }
      ]
    }
  })
}

export const update = async (results: string): Promise<void> => {
  for (const document of documents) {
    writeFileSync(document.file, replaced(readFileSync(document.file, "utf8"), document, results))
  }
  mkdirSync(path.dirname(pictureFile), { recursive: true })
  writeFileSync(pictureFile, `${await picture(results)}\n`)
}
