/**
 * Interleaved rounds: every cell of a table is measured once per round, in alternating order, so that drift of the machine affects all
 * cells. A figure is the median of its rounds. CPU and latency use the lowest round instead, because noise only ever adds.
 */
import * as Process from "./Process.ts"
import * as Progress from "./Progress.ts"
import type { Target } from "./Target.ts"
import type { Kinds } from "./Wire.ts"

export type Figures = Readonly<Record<string, number>>

export interface Cell {
  readonly key: string
  /** Keys of the cells to compare this one with, by the name of the column. */
  readonly against?: Readonly<Record<string, string>>
  readonly round: () => Promise<Figures>
  /** Whether to measure in every other round only, for cells without a goal. Default false. */
  readonly sparse?: boolean
}

export interface Row {
  readonly key: string
  readonly figures: Figures
  readonly error?: string
}

export interface Table {
  readonly title: string
  readonly note?: string | undefined
  /** Columns in order. Default: the order in the rows. */
  readonly columns?: ReadonlyArray<string>
  readonly rows: ReadonlyArray<Row>
}

/** True for figures of which the lowest round counts. */
const lowest = (figure: string): boolean => figure.startsWith("cpu") || figure === "ms" || /^p\d/.test(figure)

export const median = (values: ReadonlyArray<number>): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  const upper = sorted[Math.floor(middle)] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

const summary = (rounds: ReadonlyArray<Figures>): Figures => {
  const names = Object.keys(rounds[0] ?? {})
  return Object.fromEntries(
    names.map((name) => {
      const values = rounds.map((figures) => figures[name] ?? Number.NaN)
      return [name, lowest(name) ? Math.min(...values) : median(values)]
    })
  )
}

/** Measures the cells. If a cell fails, it is reported as failed, and the others continue. */
export const table = async (
  title: string,
  cells: ReadonlyArray<Cell>,
  rounds: number,
  note?: string
): Promise<Table> => {
  const seen = new Map<string, Array<Figures>>(cells.map(({ key }) => [key, []]))
  const errors = new Map<string, string>()
  Progress.say(`${title}: ${cells.length} rows, ${rounds} rounds`)
  for (let round = 0; round < rounds; round++) {
    for (const cell of round % 2 === 0 ? cells : cells.toReversed()) {
      if (errors.has(cell.key) || (cell.sparse === true && round % 2 === 1)) continue
      try {
        seen.get(cell.key)?.push(await cell.round())
      } catch (error) {
        // The message becomes a table cell.
        errors.set(
          cell.key,
          String(error)
            .replaceAll(/[\s|]+/g, " ")
            .slice(0, 200)
        )
      }
    }
  }
  const figures = new Map(Array.from(seen, ([key, values]) => [key, summary(values)]))
  return {
    title,
    note,
    rows: cells.map(({ against = {}, key }) => {
      const error = errors.get(key)
      if (error !== undefined) return { key, figures: {}, error }
      const own = figures.get(key) ?? {}
      const [main = ""] = Object.keys(own)
      const ratios = Object.entries(against).flatMap(([name, other]) => {
        const theirs = errors.has(other) ? undefined : figures.get(other)?.[main]
        return theirs === undefined ? [] : [[`x ${name}`, (own[main] ?? Number.NaN) / theirs] as const]
      })
      return { key, figures: { ...own, ...Object.fromEntries(ratios) } }
    })
  }
}

export interface Slice {
  readonly kind: Kinds
  readonly inFlight: number
  readonly ms: number
  /** Unmeasured milliseconds before the slice, because a process that idled is partly cold again. */
  readonly ramp: number
  /** Number of messages that one request stands for, such as 1000 notifications. Default 1. */
  readonly unit?: number
}

/** Runs load for a while, and returns the CPU time that the process under test spent per request (or unit). */
export const slice = async (target: Target, { inFlight, kind, ms, ramp, unit = 1 }: Slice): Promise<Figures> => {
  await target.run(kind, inFlight, { ms: ramp })
  const before = Process.cpu(target.pid)
  const { ms: took, p50, p99, requests } = await target.run(kind, inFlight, { ms })
  const spent = Process.cpu(target.pid) - before
  return {
    "cpu us": spent / requests / 1000 / unit,
    "per s": (requests / took) * 1000 * unit,
    "p50 ms": p50,
    "p99 ms": p99
  }
}
