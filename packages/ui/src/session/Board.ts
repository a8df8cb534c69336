/** Everything that the page shows, and the pages that follow it. */
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import * as Struct from "effect/Struct"
import { apply } from "../messages/apply.ts"
import type {
  AnswerSettings,
  BrokenRule,
  ConnectionState,
  Lists,
  LogEntry,
  OpenQuestion,
  PageState,
  UiEvent,
  UserRun,
  Watched,
  WireEntry
} from "../messages/Events.ts"

/** Maximum length of a log message, in characters. */
const mostLogText = 4000

export const noLists: Lists = {
  ...Object.fromEntries(Struct.keys(MethodInfo.lists).map((list) => [list, []])),
  errors: {}
}

/** The start of a text that is too long. Copied, because a slice would keep the whole text in memory. */
export const cut = (text: string, most: number): string =>
  text.length > most ? `${Buffer.from(text.slice(0, most)).toString()}…` : text

export class Board {
  private current: PageState
  private logs = 0
  private readonly listeners = new Set<(event: UiEvent) => void>()

  constructor(initial: Pick<PageState, "name" | "revisions" | "runs" | "settings">) {
    this.current = {
      ...initial,
      connection: { status: "closed", wanted: null },
      lists: noLists,
      wire: [],
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

  private publish(event: UiEvent): void {
    this.current = apply(this.current, event)
    for (const listener of this.listeners) listener(event)
  }

  connection(connection: ConnectionState): void {
    this.publish({ _tag: "Connection", connection })
  }

  lists(lists: Lists): void {
    this.publish({ _tag: "Lists", lists })
  }

  runs(runs: ReadonlyArray<UserRun>): void {
    this.publish({ _tag: "Runs", runs })
  }

  /** Adds a run, or replaces the run with its ID. */
  run(run: UserRun): void {
    this.publish({ _tag: "Run", run })
  }

  wire(entry: WireEntry): void {
    this.publish({ _tag: "Wire", entry })
  }

  log(entry: Omit<LogEntry, "id">): void {
    const text = cut(entry.text, mostLogText)
    const logger = entry.logger && cut(entry.logger, mostLogText)
    this.publish({ _tag: "Log", entry: { ...entry, text, logger, id: ++this.logs } })
  }

  questions(questions: ReadonlyArray<OpenQuestion>): void {
    this.publish({ _tag: "Questions", questions })
  }

  /** Adds a finding, unless an earlier connection in the same revision had it. */
  finding(finding: BrokenRule): void {
    const { key, revision } = finding
    const isKnown = this.current.findings.some((other) => other.key === key && other.revision === revision)
    if (!isKnown) this.publish({ _tag: "Finding", finding })
  }

  watched(watched: ReadonlyArray<Watched>): void {
    this.publish({ _tag: "Watched", watched })
  }

  settings(settings: AnswerSettings): void {
    this.publish({ _tag: "Settings", settings })
  }
}
