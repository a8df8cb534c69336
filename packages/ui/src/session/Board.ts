/** Everything that the page shows, and the pages that follow it. Bounds how much of a server's messages it holds. */
import type {
  AnswerSettings,
  ConnectionState,
  UiEvent,
  BrokenRule,
  Lists,
  LogEntry,
  OpenQuestion,
  UserRun,
  PageState,
  Watched,
  WireEntry
} from "../messages/Events.ts"

const mostWire = 2000
/** Total length of the messages to keep, in characters. */
const mostWireText = 24 * 1024 * 1024
const mostLogs = 1000
const mostFindings = 500
/** Number of runs to keep, on the page and on disk. */
export const mostRuns = 200

export const noLists: Lists = { tools: [], prompts: [], resources: [], templates: [], errors: {} }

export class Board {
  private current: PageState
  private readonly entries: Array<WireEntry> = []
  private wireText = 0
  private logs = 0
  private readonly listeners = new Set<(event: UiEvent) => void>()

  constructor(initial: Pick<PageState, "name" | "revisions" | "runs" | "settings">) {
    this.current = {
      ...initial,
      connection: { status: "closed", wanted: null },
      lists: noLists,
      wire: this.entries,
      logs: [],
      questions: [],
      findings: [],
      watched: []
    }
  }

  get state(): PageState {
    return this.current
  }

  /** Calls `listener` with a snapshot, and then with each event until the returned function is called. */
  follow(listener: (event: UiEvent) => void): () => void {
    listener({ _tag: "Snapshot", state: this.current })
    this.listeners.add(listener)
    return () => void this.listeners.delete(listener)
  }

  private publish(part: Partial<PageState>, event: UiEvent): void {
    this.current = { ...this.current, ...part }
    for (const listener of this.listeners) listener(event)
  }

  connection(connection: ConnectionState): void {
    this.publish({ connection }, { _tag: "Connection", connection })
  }

  lists(lists: Lists): void {
    this.publish({ lists }, { _tag: "Lists", lists })
  }

  runs(runs: ReadonlyArray<UserRun>): void {
    this.publish({ runs }, { _tag: "Runs", runs })
  }

  /** Adds a run, or replaces the run with its ID. */
  run(run: UserRun): void {
    const { runs } = this.current
    const known = runs.some(({ id }) => id === run.id)
    const all = known ? runs.map((other) => (other.id === run.id ? run : other)) : [...runs, run]
    this.publish({ runs: all.slice(-mostRuns) }, { _tag: "Run", run })
  }

  wire(entry: WireEntry): void {
    // Changed in place: a copy for each message would cost more than the message.
    const { entries } = this
    entries.push(entry)
    this.wireText += entry.text.length
    while (entries.length > mostWire || this.wireText > mostWireText) {
      this.wireText -= entries.shift()?.text.length ?? 0
    }
    this.publish({}, { _tag: "Wire", entry })
  }

  log(entry: Omit<LogEntry, "id">): void {
    const added = { ...entry, id: ++this.logs }
    this.publish({ logs: [...this.current.logs, added].slice(-mostLogs) }, { _tag: "Log", entry: added })
  }

  questions(questions: ReadonlyArray<OpenQuestion>): void {
    this.publish({ questions }, { _tag: "Questions", questions })
  }

  finding(finding: BrokenRule): void {
    const findings = [...this.current.findings, finding].slice(-mostFindings)
    this.publish({ findings }, { _tag: "Finding", finding })
  }

  watched(watched: ReadonlyArray<Watched>): void {
    this.publish({ watched }, { _tag: "Watched", watched })
  }

  settings(settings: AnswerSettings): void {
    this.publish({ settings }, { _tag: "Settings", settings })
  }
}
