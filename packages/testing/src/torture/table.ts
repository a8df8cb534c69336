/** Formats the findings of a torture for people. */
import * as Exit from "effect/Exit"
import type { Fault, TortureRun } from "./play.ts"

/** The runs with one kind of fault in one revision. */
export interface TortureRow {
  readonly revision: string
  /** `none`, `cancelled`, `disconnected`, `failed`, `answered` or `killed`. */
  readonly fault: string
  readonly runs: number
  /** Places for this fault in the run without one. More than `runs` if `maxPlaces` left some out. */
  readonly places: number
  /** Runs in which the fault happened. It does not if the handler takes another path than in the run without a fault. */
  readonly struck: number
  /** Runs with a finding. */
  readonly broken: number
  /** Runs whose call succeeded. All others failed. */
  readonly succeeded: number
}

/** Faults that happen at operations and waits. */
const placed = ["Cancelled", "Disconnected"] as const

/** Groups the runs by revision and fault, including faults of which `maxPlaces` left out every place. */
const groupsOf = (runs: ReadonlyArray<TortureRun>) => {
  const groups = new Map<
    string,
    { readonly revision: string; readonly fault: Fault["_tag"]; readonly runs: Array<TortureRun>; places: number }
  >()
  const at = (revision: string, fault: Fault["_tag"]) => {
    const key = `${revision} ${fault}`
    const group = groups.get(key) ?? { revision, fault, runs: [], places: 0 }
    groups.set(key, group)
    return group
  }
  for (const run of runs) {
    const { fault, places, revision } = run
    const isFirst = fault._tag === "None" && !groups.has(`${revision} None`)
    const group = at(revision, fault._tag)
    group.runs.push(run)
    if (fault._tag === "Killed") group.places = places
    else if (!placed.some((tag) => tag === fault._tag)) group.places++
    if (isFirst && places > 0) for (const tag of placed) at(revision, tag).places = places
  }
  return [...groups.values()]
}

export const rowsOf = (runs: ReadonlyArray<TortureRun>): ReadonlyArray<TortureRow> =>
  groupsOf(runs).map(({ fault, places, revision, runs }) => {
    const count = (has: (run: TortureRun) => boolean) => runs.filter(has).length
    return {
      revision,
      fault: fault.toLowerCase(),
      runs: runs.length,
      places,
      struck: count(({ struck }) => struck),
      broken: count(({ found }) => found.length > 0),
      succeeded: count(({ exit }) => exit !== undefined && Exit.isSuccess(exit))
    }
  })

/** True if a fault happened at each place of the row. */
export const isComplete = ({ places, struck }: TortureRow): boolean => struck === places

/** Says how many places the rows leave out, or that they leave out none. */
const coverage = (rows: ReadonlyArray<TortureRow>): ReadonlyArray<string> => {
  const left = rows.filter((row) => !isComplete(row))
  if (left.length === 0) return ["Every place was tried."]
  return left.map(({ fault, places, revision, runs, struck }) => {
    const lost = struck < runs ? `; the fault of ${runs - struck} did not come` : ""
    return `${revision}, ${fault}: ${runs} of ${places} places were tried${lost}`
  })
}

/** Returns `1st`, `2nd`, `3rd`, `4th`. */
const nth = (n: number): string => {
  const end = n % 10 > 3 || Math.floor(n / 10) % 10 === 1 ? "th" : (["th", "st", "nd", "rd"][n % 10] ?? "th")
  return `${n}${end}`
}

/** Describes a fault for people. */
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

/** Describes a run in one line. */
export const runText = ({ after, fault, found, revision }: TortureRun): string =>
  `${revision}, ${faultText(fault)}${after === undefined ? "" : ` (after ${after})`}: ${found.join("; ")}`

const pad = (cells: ReadonlyArray<string>, widths: ReadonlyArray<number>): string =>
  cells
    .map((cell, index) => (index < 2 ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0)))
    .join("  ")

/** Formats the rows in columns, followed by the places left out and the problems. Equal findings are listed once. */
export const table = (runs: ReadonlyArray<TortureRun>): string => {
  const rows = rowsOf(runs)
  const cells = [
    ["revision", "fault", "runs", "succeeded", "broken"],
    ...rows.map((row) => [
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
  return [
    ...cells.map((row) => pad(row, widths).trimEnd()),
    ...coverage(rows),
    ...(broken.length > 0 ? ["", ...broken] : [])
  ].join("\n")
}
