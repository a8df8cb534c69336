/**
 * Plain layout: columns, wrapping, indentation. Widths are terminal cells, not characters.
 */
import { displayWidth } from "effect/cli/CliOutput"
import type { Output } from "../terminal/Output.ts"
import * as Style from "../terminal/Style.ts"

/** What rendering needs to know of the place it renders for. */
export type View = Pick<Output["Service"], "isTerminal" | "style" | "width">

/** A file or a pipe: exact text, no colours, no wrapping. */
export const bare: View = { isTerminal: false, style: Style.plain, width: undefined }

/** Text of the server's for this place: tamed on a terminal, exact elsewhere. */
export const exact = (view: View, text: string): string => (view.isTerminal ? Style.safe(text) : text)

export const indent = (text: string, by = 2): string => text.replace(/^(?=.)/gm, " ".repeat(by))

/** Breaks at spaces; a word longer than the width stays whole. */
export const wrap = (text: string, width: number | undefined): string => {
  if (width === undefined) return text
  return text
    .split("\n")
    .flatMap((line) => wrapLine(line, width))
    .join("\n")
}

const wrapLine = (line: string, width: number): ReadonlyArray<string> => {
  if (displayWidth(line) <= width) return [line]
  const lines: Array<string> = []
  let current = ""
  for (const word of line.split(" ")) {
    const longer = current === "" ? word : `${current} ${word}`
    if (current === "" || displayWidth(longer) <= width) current = longer
    else {
      lines.push(current)
      current = word
    }
  }
  return [...lines, current]
}

/** Columns two spaces apart; the last one is wrapped into what is left of the width. Columns without any text are left out. */
export const table = (rows: ReadonlyArray<ReadonlyArray<string>>, width?: number): string => {
  const columns = Math.max(0, ...rows.map((row) => row.length))
  const widths = Array.from({ length: columns }, (_, i) => Math.max(...rows.map((row) => displayWidth(row[i] ?? ""))))
  const used = widths.flatMap((cells, i) => (cells > 0 ? [i] : []))
  const last = used.at(-1)
  return rows
    .map((row) => {
      let line = ""
      for (const i of used) {
        const cell = row[i] ?? ""
        if (i !== last) {
          line += cell + " ".repeat((widths[i] ?? 0) - displayWidth(cell) + 2)
          continue
        }
        const at = displayWidth(line)
        const room = width === undefined ? undefined : Math.max(20, width - at)
        line += wrap(cell, room).replaceAll("\n", `\n${" ".repeat(at)}`)
      }
      return line.trimEnd()
    })
    .join("\n")
}

/** Bytes as people say them: powers of 1024. */
export const size = (bytes: number): string => {
  if (bytes < 1024) return `${bytes} ${bytes === 1 ? "byte" : "bytes"}`
  const units = ["KiB", "MiB", "GiB"]
  let value = bytes / 1024
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit++
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit] ?? ""}`
}

/** How many bytes a base64 text holds, without decoding it. */
export const base64Size = (data: string): number => {
  const padding = data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0
  return Math.max(0, Math.floor((data.length * 3) / 4) - padding)
}

/** JSON for people and scripts alike: indented, and safe on a terminal. */
export const json = (value: unknown): string => Style.safeJson(JSON.stringify(value, undefined, 2))
/** One event of a stream, on one line. */
export const jsonLine = (value: unknown): string => Style.safeJson(JSON.stringify(value))
