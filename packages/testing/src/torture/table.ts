/** What a torture found, for people. */
import * as Exit from "effect/Exit"
import type { Fault, TortureRun } from "./play.ts"

/** The runs of one kind of fault in one revision. */
export interface TortureRow {
  readonly revision: string
  /** `none`, `cancelled`, `disconnected`, `failed`, `answered` or `killed`. */
  readonly fault: string
  readonly runs: number
  /** Runs with a finding. */
  readonly broken: number
  /** Runs whose call succeeded; all others failed. */
  readonly succeeded: number
}

export const rowsOf = (runs: ReadonlyArray<TortureRun>): ReadonlyArray<TortureRow> => {
  const rows = new Map<string, TortureRow>()
  for (const { exit, fault, found, revision } of runs) {
    const key = `${revision} ${fault._tag}`
    const row = rows.get(key) ?? { revision, fault: fault._tag.toLowerCase(), runs: 0, broken: 0, succeeded: 0 }
    rows.set(key, {
      ...row,
      runs: row.runs + 1,
      broken: row.broken + (found.length > 0 ? 1 : 0),
      succeeded: row.succeeded + (exit !== undefined && Exit.isSuccess(exit) ? 1 : 0)
    })
  }
  return [...rows.values()]
}

/** `1st`, `2nd`, `3rd`, `4th`. */
const nth = (n: number): string => {
  const end = n % 10 > 3 || Math.floor(n / 10) % 10 === 1 ? "th" : (["th", "st", "nd", "rd"][n % 10] ?? "th")
  return `${n}${end}`
}

/** A fault, as a person would say it. */
export const faultText = (fault: Fault): string => {
  switch (fault._tag) {
    case "None":
      return "without a fault"
    case "Cancelled":
    case "Disconnected":
      return fault.place.kind === "wait"
        ? `${fault._tag.toLowerCase()} at its ${nth(fault.place.number)} wait`
        : `${fault._tag.toLowerCase()} before step ${fault.place.number}`
    case "Failed":
      return `${nth(fault.call)} call of a dependency failed ${fault.when === "before" ? "without an effect" : "after its effect"}`
    case "Answered":
      return `${nth(fault.question)} question was answered by ${fault.answer}`
    default:
      return `node died ${fault.when} write ${fault.write}`
  }
}

/** A run, in one line. */
export const runText = ({ after, fault, found, revision }: TortureRun): string =>
  `${revision}, ${faultText(fault)}${after === undefined ? "" : ` (after ${after})`}: ${found.join("; ")}`

const pad = (cells: ReadonlyArray<string>, widths: ReadonlyArray<number>): string =>
  cells
    .map((cell, index) => (index < 2 ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0)))
    .join("  ")

/** The rows in columns, and below them what is broken: of equal findings the first. */
export const table = (runs: ReadonlyArray<TortureRun>): string => {
  const cells = [
    ["revision", "fault", "runs", "succeeded", "broken"],
    ...rowsOf(runs).map((row) => [
      row.revision,
      row.fault,
      ...[row.runs, row.succeeded, row.broken].map((count) => (count === 0 ? "-" : `${count}`))
    ])
  ]
  const widths = (cells[0] ?? []).map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  const groups = new Map<string, Array<TortureRun>>()
  for (const run of runs) {
    if (run.found.length === 0) continue
    const key = JSON.stringify([run.fault._tag, run.after, run.found])
    groups.set(key, [...(groups.get(key) ?? []), run])
  }
  const broken = [...groups.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : [`${runText(first)}${others.length > 0 ? ` (and ${others.length} more)` : ""}`]
  )
  return [...cells.map((row) => pad(row, widths).trimEnd()), ...(broken.length > 0 ? ["", ...broken] : [])].join("\n")
}
