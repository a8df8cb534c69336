/**
 * Short tables of goals in RESULTS.md, both eras in a cell, and a picture of the first: in the README at the root and on the page about
 * performance. Made from RESULTS.md and nothing else, so that a test can tell whether they agree.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import * as path from "node:path"
import { root } from "./Process.ts"
import { grid } from "./Report.ts"

/** The row's title, and the goal's without its era. */
type Row = readonly [title: string, goal: string]

const call: Row = ["HTTP tools/call, 16 at once", "HTTP tools/call through HttpRouter"]
const list: Row = ["HTTP tools/list of 50 tools", "HTTP tools/list of 50"]
const stdio: Row = ["stdio tools/call, 64 in flight", "stdio tools/call, 64 in flight"]

const rows: ReadonlyArray<Row> = [
  call,
  ["the same without the router", "HTTP tools/call through a Node listener"],
  ["HTTP, handlers that take a step", "HTTP tools/call, handlers that take a step"],
  list,
  stdio,
  ["stdio, handlers that take a step", "stdio tools/call, handlers that take a step"],
  ["stdio tools/call, 1 in flight", "stdio tools/call, 1 in flight"],
  ["stdio progress, us each", "stdio progress, us each"],
  ["client tools/call over HTTP", "client tools/call"]
]

interface Document {
  readonly file: string
  /** The section whose first table it is. */
  readonly heading: string
  readonly rows: ReadonlyArray<Row>
}

const workspace = path.dirname(path.dirname(root))

export const documents: ReadonlyArray<Document> = [
  { file: path.join(workspace, "README.md"), heading: "## Why", rows: [call, stdio, list] },
  { file: path.join(workspace, "packages/docs/pages/performance.md"), heading: "## How fast", rows }
]

/** What the README shows of RESULTS.md. */
export const pictureFile = path.join(root, "plots/peers.svg")

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

const libraries = ["effect-mcp", "SDK v2", "Effect 4.1", "tmcp"]

/** As Markdown: 2025-11-25 / 2026-07-28, empty where nothing was measured. */
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

/** The text of a document with its table in place of the one that is there. */
export const replaced = (text: string, { file, heading, rows }: Document, results: string): string => {
  const section = text.indexOf(`\n${heading}\n`)
  const begin = text.indexOf("\n|", section) + 1
  const end = text.indexOf("\n\n", begin)
  if (section < 0 || begin === 0 || end < 0) throw new Error(`${file} has no table under ${heading}`)
  return `${text.slice(0, begin)}${table(results, rows)}${text.slice(end)}`
}

/** A call over HTTP and over stdio by library, as bars, in SVG. Colors and background are for light and dark pages. */
export const picture = async (results: string): Promise<string> => {
  const goals = goalsOf(results)
  const values = [call, stdio].flatMap(([title, goal]) =>
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
    facet: { column: { field: "title", type: "nominal", sort: [call[0], stdio[0]], title: null } },
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
