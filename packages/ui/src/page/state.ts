/** The page's state: a copy of everything that the process reports, in signals, and the commands that the user sends. */
import { batch, computed, signal } from "@preact/signals"
import { apply } from "../messages/apply.ts"
import type { PageCommand } from "../messages/Commands.ts"
import type { PageState, UiEvent } from "../messages/Events.ts"

const state = signal<PageState>({
  name: { name: "", words: undefined, url: undefined, hasViews: false },
  revisions: [],
  connection: { status: "connecting", wanted: null },
  lists: { errors: {} },
  runs: [],
  wire: [],
  logs: [],
  questions: [],
  findings: [],
  watched: [],
  settings: { roots: [], replies: [] }
})
const part = <K extends keyof PageState>(key: K) => computed(() => state.value[key])
export const name = part("name")
export const revisions = part("revisions")
export const connection = part("connection")
export const lists = part("lists")
export const runs = part("runs")
export const wire = part("wire")
export const logs = part("logs")
export const questions = part("questions")
export const findings = part("findings")
export const watched = part("watched")
export const settings = part("settings")
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

/** ID of the run that this page started last. */
export const started = signal(0)

/** The address that the user may open after confirming it. */
export const leaving = signal<string | undefined>(undefined)

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
      batch(() => {
        state.value = events.reduce(apply, state.value)
        ready.value = true
      })
    }, pause)
  })
}

/** Sends a command. If it fails, shows the reason and returns `undefined`. */
export const send = async (command: PageCommand): Promise<{ readonly [name: string]: unknown } | undefined> => {
  try {
    const response = await fetch("command", { method: "POST", body: JSON.stringify(command) })
    const answer: { readonly [name: string]: unknown } = await response.json()
    if (response.ok) {
      if (typeof answer["run"] === "number") started.value = answer["run"]
      return answer
    }
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
