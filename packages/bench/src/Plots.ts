/** Draws the tables about growth as small SVG files for RESULTS.md. */
import { mkdirSync, writeFileSync } from "node:fs"
import * as path from "node:path"
import type { Table } from "./Measure.ts"
import { root } from "./Process.ts"

export interface Plot {
  readonly title: string
  /** Path of the file, relative to RESULTS.md. */
  readonly file: string
}

interface Picture extends Plot {
  /** Start of the table's title. */
  readonly table: string
  readonly figure: string
  readonly x: string
  readonly y: string
  /** Whether to make both axes logarithmic, so that proportional growth is a straight line from 100 on. Less is noise. Default false. */
  readonly proportional?: boolean
}

const pictures: ReadonlyArray<Picture> = [
  {
    title: "CPU of a call, by open sessions",
    file: "plots/sessions.svg",
    table: "Growth with open sessions",
    figure: "cpu us",
    x: "sessions",
    y: "us per tools/call"
  },
  {
    title: "Memory, by open sessions",
    file: "plots/heap.svg",
    table: "Growth with open sessions",
    figure: "heap MiB",
    x: "sessions",
    y: "MiB of heap",
    proportional: true
  },
  {
    title: "CPU of a call, by registered tools",
    file: "plots/tools.svg",
    table: "Growth with registered tools",
    figure: "cpu us",
    x: "tools",
    y: "us per tools/call"
  },
  {
    title: "CPU of an update's message, by subscribers",
    file: "plots/subscribers.svg",
    table: "Growth with subscribers",
    figure: "cpu us",
    x: "subscribers of one resource",
    y: "us per message"
  }
]

interface Point {
  readonly x: number
  readonly y: number
  /** The part of the row's key after the number: the era, if there are several. */
  readonly line: string
}

const pointsOf = ({ rows }: Table, { figure, proportional = false }: Picture): ReadonlyArray<Point> =>
  rows.flatMap(({ figures, key }) => {
    const y = figures[figure]
    const x = Number.parseInt(key)
    return y === undefined || Number.isNaN(y) || (proportional && x < 100)
      ? []
      : [{ x, y, line: /20\d\d$/.exec(key)?.[0] ?? "" }]
  })

/** Returns the Vega-Lite specification. */
const specification = (picture: Picture, values: ReadonlyArray<Point>): object => {
  const several = new Set(values.map(({ line }) => line)).size > 1
  return {
    title: picture.title,
    width: 300,
    height: 170,
    background: "white",
    data: { values },
    mark: { type: "line", point: true },
    encoding: {
      x: {
        field: "x",
        type: "quantitative",
        title: picture.x,
        scale: { type: "log" },
        axis: { values: [1, 10, 100, 1000, 10_000], format: ",d" }
      },
      y: {
        field: "y",
        type: "quantitative",
        title: picture.y,
        scale: picture.proportional === true ? { type: "log" } : { zero: true }
      },
      ...(several ? { color: { field: "line", type: "nominal", title: null } } : undefined)
    }
  }
}

/** Draws the plots of all measured tables. */
export const write = async (tables: ReadonlyArray<Table>): Promise<ReadonlyArray<Plot>> => {
  const drawn: Array<Plot> = []
  for (const picture of pictures) {
    const table = tables.find(({ title }) => title.startsWith(picture.table))
    const points = table === undefined ? [] : pointsOf(table, picture)
    if (points.length === 0) continue
    const { draw } = await import("./draw.mjs")
    mkdirSync(path.join(root, "plots"), { recursive: true })
    writeFileSync(path.join(root, picture.file), `${await draw(specification(picture, points))}\n`)
    drawn.push(picture)
  }
  return drawn
}
