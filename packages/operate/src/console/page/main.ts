/** The page: connects, follows what runs, and asks for an interrupt. */
import type { Ended, Figures, Snapshot } from "../../admin/Admin.ts"
import { Api, RequestRefused, token } from "./api.ts"
import { DetailsPanel } from "./details.ts"
import { byId, setText } from "./dom.ts"
import { DrainDialog } from "./drain.ts"
import { MessagesPanel } from "./messages.ts"
import { groupsOf, requestTitle } from "./model.ts"
import { Plots } from "./plots.ts"
import { type Selection, TreePanel } from "./tree.ts"

const api = new Api(`${document.body.dataset["base"] ?? ""}/api`)
const login = byId("login", HTMLFormElement)
const main = byId("main", HTMLElement)
const search = byId("search", HTMLInputElement)
const older = byId("older", HTMLSelectElement)
const dialog = byId("dialog", HTMLDialogElement)
const reason = byId("reason", HTMLInputElement)
const said = byId("said", HTMLElement)

let snapshot: Snapshot | undefined
/** The clock of the server, less that of the page. */
let ahead = 0
let selection: Selection | undefined
let ended: ReadonlyArray<Ended> | undefined
let allowed = { maySteer: false, hasHistory: false }
let following: AbortController | undefined
let asked: string | undefined
/** Times of progress of what runs, as the page saw it. */
const ticks = new Map<string, Array<number>>()
const ticksAtMost = 200

const now = (): number => Date.now() + ahead
const sessionOf = (selection: Selection): string | undefined =>
  "request" in selection ? snapshot?.requests.find(({ key }) => key === selection.request)?.session : selection.session

// ---- what is shown

const plots = new Plots(byId("plots", HTMLElement))
const ask = (key: string): void => {
  const row = snapshot?.requests.find((row) => row.key === key)
  if (row === undefined || !allowed.maySteer) return
  asked = key
  setText(byId("dialog-what", HTMLElement), requestTitle(row))
  setText(byId("dialog-error", HTMLElement), "")
  reason.value = ""
  dialog.showModal()
}
const select = (chosen: Selection): void => {
  selection = chosen
  ended = undefined
  draw()
  void remember()
  // One below the other, the details would be out of sight.
  if (matchMedia("(max-width: 860px)").matches) byId("details", HTMLElement).scrollIntoView({ block: "nearest" })
}
const tree = new TreePanel(byId("tree", HTMLElement), { select, interrupt: ask })
/** How long a text is shown, in milliseconds. */
const shown = 8000
let hiding: number | undefined
const say = (text: string): void => {
  said.textContent = text
  clearTimeout(hiding)
  hiding = window.setTimeout(() => said.replaceChildren(), shown)
}
const messages = new MessagesPanel(api, say)
const details = new DetailsPanel(byId("details", HTMLElement), ask, messages)
const drain = new DrainDialog(api, say)

const counted = (count: number, one: string): string => `${count} ${one}${count === 1 ? "" : "s"}`

const showDetails = (): void => {
  if (snapshot === undefined || selection === undefined) return
  details.show({ snapshot, selection, ended, ticks, now: now(), maySteer: allowed.maySteer })
}

const draw = (): void => {
  if (snapshot === undefined) return
  const groups = groupsOf({ ...snapshot, time: now() }, { search: search.value, older: Number(older.value) })
  const left = tree.show(groups, selection)
  const { requests, sessions } = snapshot
  const of = (kind: string) => requests.filter((row) => row.kind === kind).length
  const { draining, nodes } = snapshot
  drain.show(snapshot, allowed.maySteer)
  const away = (nodes ?? []).flatMap(({ name, state }) => (state === "serving" ? [] : [`${name} ${state}`]))
  const counts = [
    ...(nodes === undefined ? (draining ? ["draining"] : []) : [counted(nodes.length, "node"), ...away]),
    counted(sessions.length, "session"),
    counted(of("request"), "request"),
    counted(of("subscription"), "subscription"),
    counted(of("question"), "question"),
    counted(of("task"), "task")
  ]
  setText(byId("summary", HTMLElement), counts.join(", "))
  plots.now(snapshot)
  const empty = byId("empty", HTMLElement)
  empty.hidden = groups.length > 0 && left === 0
  const nothing = requests.length + sessions.length === 0 ? "Nothing runs." : "Nothing matches."
  setText(empty, left > 0 ? `${left} more: search to narrow them.` : nothing)
  showDetails()
}

const noteProgress = (next: Snapshot): void => {
  const before = new Map(snapshot?.requests.map(({ key, progress }) => [key, progress?.progress]))
  const open = new Set<string>()
  for (const { key, progress } of next.requests) {
    open.add(key)
    if (progress === undefined || before.get(key) === progress.progress) continue
    const times = ticks.get(key) ?? []
    times.push(next.time)
    ticks.set(key, times.slice(-ticksAtMost))
  }
  for (const key of ticks.keys()) if (!open.has(key)) ticks.delete(key)
}

const state = (is: "live" | "lost" | "off", text: string): void => {
  const element = byId("state", HTMLElement)
  element.dataset["state"] = is
  setText(element, text)
}

// ---- the endpoint

const leave = (why: string): void => {
  following?.abort()
  following = undefined
  token.forget()
  snapshot = undefined
  selection = undefined
  details.clear()
  main.hidden = true
  login.hidden = false
  byId("leave", HTMLButtonElement).hidden = true
  byId("drain", HTMLButtonElement).hidden = true
  setText(byId("login-error", HTMLElement), why)
  setText(byId("summary", HTMLElement), "")
  state("off", "Not connected")
  byId("token", HTMLInputElement).focus()
}

/** Whether it was a refusal of the token, after which the page asks for another. */
const isRefused = (error: unknown): boolean => {
  if (!(error instanceof RequestRefused) || (error.status !== 401 && error.status !== 403)) return false
  leave(error.message)
  return true
}

const remember = async (): Promise<void> => {
  if (!allowed.hasHistory || selection === undefined) return
  const asked = selection
  try {
    const found = await api.history(sessionOf(asked))
    if (selection !== asked) return
    ended = found
    showDetails()
  } catch (error) {
    isRefused(error)
  }
}

const measure = async (): Promise<void> => {
  if (snapshot === undefined || document.hidden) return
  const figures: Figures | undefined = await api.figures().catch(() => undefined)
  if (snapshot !== undefined) plots.add(snapshot, figures)
}

const pauses = [500, 1000, 2000, 5000]

/** Follows until the page leaves: a stream that ends is begun again. */
const follow = async ({ signal }: AbortController): Promise<void> => {
  for (let tries = 0; !signal.aborted; tries++) {
    try {
      await api.follow((next) => {
        tries = -1
        noteProgress(next)
        snapshot = next
        ahead = next.time - Date.now()
        state("live", allowed.maySteer ? "Live" : "Live, read only")
        draw()
      }, signal)
    } catch (error) {
      if (signal.aborted || isRefused(error)) return
      state("lost", error instanceof RequestRefused && error.status !== 0 ? error.message : "Lost: trying again")
    }
    await new Promise((resolve) => setTimeout(resolve, pauses[Math.min(Math.max(tries, 0), pauses.length - 1)]))
  }
}

const connect = async (): Promise<void> => {
  try {
    const { history, right } = await api.access()
    allowed = { maySteer: right === "steer", hasHistory: history }
  } catch (error) {
    if (!isRefused(error)) leave(error instanceof Error ? error.message : "The endpoint cannot be reached")
    return
  }
  login.hidden = true
  main.hidden = false
  byId("leave", HTMLButtonElement).hidden = false
  following = new AbortController()
  void follow(following)
}

const send = async (): Promise<void> => {
  if (asked === undefined) return
  try {
    const interrupted = await api.interrupt(asked, reason.value.trim())
    dialog.close()
    const what = byId("dialog-what", HTMLElement).textContent
    say(interrupted ? `${what} was interrupted, and its client is told why` : `${what} had ended before`)
  } catch (error) {
    setText(byId("dialog-error", HTMLElement), error instanceof Error ? error.message : "It failed")
  }
}

// ---- the page

const themes = ["", "light", "dark"] as const
const theme = (name: string): void => {
  document.documentElement.dataset["theme"] = name
  setText(byId("theme", HTMLButtonElement), name === "" ? "Theme: as the system" : `Theme: ${name}`)
}
theme(localStorage.getItem("effect-mcp-console-theme") ?? "")
byId("theme", HTMLButtonElement).addEventListener("click", () => {
  const at = themes.findIndex((name) => name === (document.documentElement.dataset["theme"] ?? ""))
  const next = themes[(at + 1) % themes.length] ?? ""
  localStorage.setItem("effect-mcp-console-theme", next)
  theme(next)
})
login.addEventListener("submit", (event) => {
  event.preventDefault()
  const input = byId("token", HTMLInputElement)
  token.set(input.value.trim())
  input.value = ""
  void connect()
})
byId("leave", HTMLButtonElement).addEventListener("click", () => leave(""))
search.addEventListener("input", draw)
search.addEventListener("keydown", ({ key }) => {
  if (key === "ArrowDown" || key === "Enter") tree.focus()
})
older.addEventListener("change", draw)
byId("dialog-cancel", HTMLButtonElement).addEventListener("click", () => dialog.close())
byId("reason-form", HTMLFormElement).addEventListener("submit", (event) => {
  event.preventDefault()
  if (reason.value.trim() !== "") void send()
})
document.addEventListener("keydown", (event) => {
  const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement
  if (event.key !== "/" || isTyping || dialog.open || main.hidden) return
  event.preventDefault()
  search.focus()
})
setInterval(() => {
  tree.tick(now())
  showDetails()
}, 1000)
setInterval(() => void measure(), 2000)
setInterval(() => void remember(), 2000)
setInterval(() => void messages.refresh(), 1000)
if (token.get() === "") leave("")
else void connect()
