/** Tables for a terminal and for RESULTS.md. */
import type { Row, Table } from "./Measure.ts"

export const number = (value: number | undefined): string => {
  if (value === undefined || Number.isNaN(value)) return "-"
  const size = Math.abs(value)
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2)
}

const columnsOf = (table: Table): ReadonlyArray<string> => [
  ...new Set(table.rows.flatMap(({ figures }) => Object.keys(figures)))
]
const cellsOf = (columns: ReadonlyArray<string>, { error, figures, key }: Row): ReadonlyArray<string> =>
  error === undefined ? [key, ...columns.map((column) => number(figures[column]))] : [key, error]

export const text = (table: Table): string => {
  const columns = columnsOf(table)
  const lines = [["", ...columns], ...table.rows.map((row) => cellsOf(columns, row))]
  const whole = lines.filter((line) => line.length === columns.length + 1)
  const widths = columns.map((_, i) => Math.max(...whole.map((line) => line[i + 1]?.length ?? 0)))
  const first = Math.max(...lines.map(([key = ""]) => key.length))
  const title = table.note === undefined ? table.title : `${table.title} (${table.note})`
  const body = lines.map(([key = "", ...rest]) =>
    [key.padEnd(first), ...rest.map((cell, i) => cell.padStart(widths[i] ?? 0))].join("  ")
  )
  return [`\n## ${title}`, ...body].join("\n")
}

export const markdown = (table: Table): string => {
  const columns = columnsOf(table)
  const line = (cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |`
  const rows = table.rows.map((row) => line(cellsOf(columns, row)))
  const rule = line(["---", ...columns.map(() => "--:")])
  const note = table.note === undefined ? [] : [`${table.note}.`, ""]
  return [`### ${table.title}`, "", ...note, line(["", ...columns]), rule, ...rows].join("\n")
}
