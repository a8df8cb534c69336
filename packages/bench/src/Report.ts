/** Formats tables for a terminal and for files. */
import type { Row, Table } from "./Measure.ts"

export const number = (value: number | undefined): string => {
  if (value === undefined || Number.isNaN(value)) return "-"
  const size = Math.abs(value)
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2)
}

const columnsOf = ({ columns, rows }: Table): ReadonlyArray<string> =>
  columns ?? [...new Set(rows.flatMap(({ figures }) => Object.keys(figures)))]
const cellsOf = (columns: ReadonlyArray<string>, { error, figures, key }: Row): ReadonlyArray<string> =>
  error === undefined ? [key, ...columns.map((column) => number(figures[column]))] : [key, error]

const widthsOf = (lines: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<number> => {
  const [header = []] = lines
  const whole = lines.filter((line) => line.length === header.length)
  return header.map((_, i) => Math.max(...(i === 0 ? lines : whole).map((line) => line[i]?.length ?? 0)))
}

export const text = (table: Table): string => {
  const columns = columnsOf(table)
  const lines = [["", ...columns], ...table.rows.map((row) => cellsOf(columns, row))]
  const [first = 0, ...widths] = widthsOf(lines)
  const title = table.note === undefined ? table.title : `${table.title} (${table.note})`
  const body = lines.map(([key = "", ...rest]) =>
    [key.padEnd(first), ...rest.map((cell, i) => cell.padStart(widths[i] ?? 0))].join("  ")
  )
  return [`\n## ${title}`, ...body].join("\n")
}

/** Formats rows as a Markdown table, in the layout of the formatter. The first row is the header. All columns but the first are right-aligned. */
export const grid = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const [header = []] = rows
  const filled = rows.map((row) => [...row, ...header.slice(row.length).map(() => "")])
  const widths = header.map((_, i) => Math.max(3, ...filled.map((row) => row[i]?.length ?? 0)))
  const line = (cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |`
  const padded = (cells: ReadonlyArray<string>): string =>
    line(widths.map((width, i) => (i === 0 ? (cells[i] ?? "").padEnd(width) : (cells[i] ?? "").padStart(width))))
  const rule = line(widths.map((width, i) => (i === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`)))
  return [padded(header), rule, ...filled.slice(1).map(padded)].join("\n")
}

export const markdown = (table: Table): string => {
  const columns = columnsOf(table)
  const note = table.note === undefined ? [] : [`${table.note}.`, ""]
  const cells = [["", ...columns], ...table.rows.map((row) => cellsOf(columns, row))]
  return [`### ${table.title}`, "", ...note, grid(cells)].join("\n")
}
