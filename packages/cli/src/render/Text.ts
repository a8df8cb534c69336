/** Text layout: columns, wrapping, indentation. Widths are terminal cells, not characters. */
import { displayWidth } from "effect/cli/CliOutput"
import type { Output } from "../terminal/Output.ts"
import * as Style from "../terminal/Style.ts"

/** The properties of the output that rendering depends on. */
export type View = Pick<Output["Service"], "isTerminal" | "style" | "width">

/** For a file or a pipe: exact text, no colors, no wrapping. */
export const bare: View = { isTerminal: false, style: Style.plain, width: undefined }

/** Returns text from a server, escaped on a terminal and exact elsewhere. */
export const exact = (view: View, text: string): string => (view.isTerminal ? Style.safe(text) : text)

export const indent = (text: string, by = 2): string => text.replace(/^(?=.)/gm, " ".repeat(by))

/** Wraps text at spaces. A word longer than the width is not broken. */
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

/** Formats columns, separated by two spaces. Wraps the last column to the remaining width and omits empty columns. */
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

/** Formats a number of bytes with units of 1024. */
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

/** Returns the decoded size of a base64 text. */
export const base64Size = (data: string): number => {
  const padding = data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0
  return Math.max(0, Math.floor((data.length * 3) / 4) - padding)
}

/** Formats JSON for people and scripts: indented, and safe on a terminal. */
export const json = (value: unknown): string => Style.safeJson(JSON.stringify(value, undefined, 2))
/** Formats JSON on one line, for a stream of events. */
export const jsonLine = (value: unknown): string => Style.safeJson(JSON.stringify(value))
