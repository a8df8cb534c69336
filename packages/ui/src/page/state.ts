/** The page's state: a copy of everything that the process reports, in signals, and the commands that the user sends. */
import { batch, signal } from "@preact/signals"
import type { PageCommand } from "../messages/Commands.ts"
import type {
  AnswerSettings,
  UiEvent,
  BrokenRule,
  LogEntry,
  OpenQuestion,
  UserRun,
  PageState,
  Watched,
  WireEntry
} from "../messages/Events.ts"

export const name = signal<PageState["name"]>({ name: "", words: undefined, url: undefined, hasViews: false })
export const revisions = signal<ReadonlyArray<string>>([])
export const connection = signal<PageState["connection"]>({ status: "connecting", wanted: null })
export const lists = signal<PageState["lists"]>({ tools: [], prompts: [], resources: [], templates: [], errors: {} })
export const runs = signal<ReadonlyArray<UserRun>>([])
export const wire = signal<ReadonlyArray<WireEntry>>([])
export const logs = signal<ReadonlyArray<LogEntry>>([])
export const questions = signal<ReadonlyArray<OpenQuestion>>([])
export const findings = signal<ReadonlyArray<BrokenRule>>([])
export const watched = signal<ReadonlyArray<Watched>>([])
export const settings = signal<AnswerSettings>({ roots: [], replies: [] })
/** False while the process can't be reached. */
export const online = signal(true)
/** True once the first snapshot is there. */
export const ready = signal(false)

/** A short message about something that just happened. */
export const toast = signal("")
let hiding: ReturnType<typeof setTimeout> | undefined
export const say = (text: string): void => {
  toast.value = text
  clearTimeout(hiding)
  hiding = setTimeout(() => (toast.value = ""), 6000)
}

/** The address that the user may open after confirming it. */
export const leaving = signal<string | undefined>(undefined)

const mostWire = 2000
const mostLogs = 1000

const take = (event: UiEvent): void => {
  switch (event._tag) {
    case "Snapshot": {
      const { state } = event
      name.value = state.name
      revisions.value = state.revisions
      connection.value = state.connection
      lists.value = state.lists
      runs.value = state.runs
      wire.value = state.wire
      logs.value = state.logs
      questions.value = state.questions
      findings.value = state.findings
      watched.value = state.watched
      settings.value = state.settings
      ready.value = true
      return
    }
    case "Connection":
      return void (connection.value = event.connection)
    case "Lists":
      return void (lists.value = event.lists)
    case "Runs":
      return void (runs.value = event.runs)
    case "Run": {
      const { run } = event
      const known = runs.value.some(({ id }) => id === run.id)
      runs.value = known ? runs.value.map((other) => (other.id === run.id ? run : other)) : [...runs.value, run]
      return
    }
    case "Wire":
      return void (wire.value = [...wire.value, event.entry].slice(-mostWire))
    case "Log":
      return void (logs.value = [...logs.value, event.entry].slice(-mostLogs))
    case "Questions":
      return void (questions.value = event.questions)
    case "Finding":
      return void (findings.value = [...findings.value, event.finding])
    case "Watched":
      return void (watched.value = event.watched)
    case "Settings":
      return void (settings.value = event.settings)
  }
}

/** How long to collect events before the page is drawn, in milliseconds. */
const pause = 30
let waiting: Array<UiEvent> = []

/** Follows the process, and reconnects when the stream breaks. */
export const follow = (): void => {
  const source = new EventSource("events")
  source.addEventListener("open", () => (online.value = true))
  source.addEventListener("error", () => (online.value = false))
  source.addEventListener("message", ({ data }) => {
    const event: UiEvent = JSON.parse(String(data))
    if (waiting.push(event) > 1) return
    setTimeout(() => {
      const events = waiting
      waiting = []
      batch(() => events.forEach(take))
    }, pause)
  })
}

/** Sends a command. If it fails, shows the reason and returns `undefined`. */
export const send = async (command: PageCommand): Promise<{ readonly [name: string]: unknown } | undefined> => {
  try {
    const response = await fetch("command", { method: "POST", body: JSON.stringify(command) })
    const answer: { readonly [name: string]: unknown } = await response.json()
    if (response.ok) return answer
    say(String(answer["error"]))
  } catch {
    say("The process that serves this page can't be reached. Start effect-mcp ui again")
  }
  return undefined
}

/** Copies text, and says so. */
export const copy = async (text: string, what: string): Promise<void> => {
  try {
    await navigator.clipboard.writeText(text)
    say(`Copied ${what}`)
  } catch {
    say("The browser does not allow copying")
  }
}
