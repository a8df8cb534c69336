/** The state of the page after an event. The process and the page share it, and so its limits on memory. */
import type { PageState, UiEvent, UserRun } from "./Events.ts"

const mostWire = 2000
/** Total length of the messages to keep, in characters. */
const mostWireText = 24 * 1024 * 1024
const mostLogs = 1000
const mostFindings = 500
/** Number of runs to keep, on the page and on disk. */
export const mostRuns = 200
/** Total length of the runs to keep whole, in characters of JSON. */
const mostRunText = 32 * 1024 * 1024

/** Returns the latest items that fit. `most` limits their number, and `mostText` their total size. */
const latest = <A>(
  all: ReadonlyArray<A>,
  most: number,
  size: (item: A) => number = () => 0,
  mostText = 0
): ReadonlyArray<A> => {
  let text = 0
  const before = all.findLastIndex((item, at) => at < all.length - most || (text += size(item)) > mostText)
  return before === -1 ? all : all.slice(before + 1)
}

/** A run without the parts that can be long. */
export const shortened = (run: UserRun): UserRun => ({
  ...run,
  input: {},
  result: undefined,
  error: run.error && { ...run.error, data: undefined },
  size: 0
})

const keptRuns = (runs: ReadonlyArray<UserRun>): ReadonlyArray<UserRun> => {
  const kept = latest(runs, mostRuns)
  const whole = latest(kept, mostRuns, ({ size = 0 }) => size, mostRunText)
  const short = kept.length - whole.length
  return short === 0 ? kept : kept.map((run, at) => (at < short && (run.size ?? 0) > 0 ? shortened(run) : run))
}

export const apply = (state: PageState, event: UiEvent): PageState => {
  switch (event._tag) {
    case "Snapshot":
      return event.state
    case "Connection":
      return { ...state, connection: event.connection }
    case "Lists":
      return { ...state, lists: event.lists }
    case "Runs":
      return { ...state, runs: event.runs }
    case "Run": {
      const { run } = event
      const { runs } = state
      const isKnown = runs.some(({ id }) => id === run.id)
      const all = isKnown ? runs.map((other) => (other.id === run.id ? run : other)) : [...runs, run]
      return { ...state, runs: keptRuns(all) }
    }
    case "Wire":
      return {
        ...state,
        wire: latest([...state.wire, event.entry], mostWire, ({ text }) => text.length, mostWireText)
      }
    case "Log":
      return { ...state, logs: latest([...state.logs, event.entry], mostLogs) }
    case "Questions":
      return { ...state, questions: event.questions }
    case "Finding":
      return { ...state, findings: latest([...state.findings, event.finding], mostFindings) }
    case "Watched":
      return { ...state, watched: event.watched }
    default:
      return { ...state, settings: event.settings }
  }
}
