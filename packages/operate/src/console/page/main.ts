/** The page: connects, follows what is running, and sends interrupts. */
import type { Ended, Figures, Recent, RequestRow, Sample, Snapshot } from "../../admin/Admin.ts"
import { Api, RequestRefused, token } from "./api.ts"
import { DetailsPanel } from "./details.ts"
import { byId, h, setText } from "./dom.ts"
import { DrainDialog } from "./drain.ts"
import { MessagesPanel } from "./messages.ts"
import {
  described,
  endable,
  fieldSearch,
  type Group,
  groupings,
  groupsOf,
  kinds,
  orders,
  type RunningView
} from "./groups.ts"
import { age, counted, countOf, requestTitle } from "./model.ts"
import { OutcomePanel } from "./outcome.ts"
import { Overview } from "./overview.ts"
import { Plots } from "./plots.ts"
import * as tabs from "./tabs.ts"
import { type Selection, TreePanel } from "./tree.ts"

const api = new Api(`${document.body.dataset["base"] ?? ""}/api`)
const login = byId("login", HTMLFormElement)
const main = byId("main", HTMLElement)
const search = byId("search", HTMLInputElement)
const older = byId("older", HTMLSelectElement)
const [grouping, kind, order] = ["grouping", "kind", "order"].map((id) => byId(id, HTMLSelectElement))
const interruptAll = byId("interrupt-all", HTMLButtonElement)
const dialog = byId("dialog", HTMLDialogElement)
const reason = byId("reason", HTMLInputElement)
const said = byId("said", HTMLElement)

let snapshot: Snapshot | undefined
/** Difference between the server's clock and the page's clock. */
let ahead = 0
let selection: Selection | undefined
let ended: ReadonlyArray<Ended> | undefined
let allowed = { maySteer: false, hasHistory: false }
let following: AbortController | undefined
/** The rows that the dialog concerns. */
let asked: ReadonlyArray<RequestRow> = []
let groups: ReadonlyArray<Group> = []
let recent: Recent | undefined
let samples: ReadonlyArray<Sample> = []
/** Length of the server's history, in milliseconds. */
const kept = 15 * 60_000
/** Times at which the page saw running requests report progress. */
const ticks = new Map<string, Array<number>>()
const ticksAtMost = 200

const now = (): number => Date.now() + ahead
const sessionOf = (selection: Selection): string | undefined =>
  "request" in selection ? snapshot?.requests.find(({ key }) => key === selection.request)?.session : selection.session

/** Returns the chosen option. */
const chosen = <A extends string>(all: ReadonlyArray<A>, select: HTMLSelectElement | undefined): A | undefined =>
  all.find((one) => one === select?.value)

const viewOf = (): RunningView => ({
  search: search.value,
  older: Number(older.value),
  kind: chosen(kinds, kind),
  grouping: chosen(groupings, grouping),
  order: chosen(orders, order)
})

// ---- what is shown

const plots = new Plots(byId("plots", HTMLElement))
/** Asks for the reason, and lists the requests to interrupt. */
const ask = (rows: ReadonlyArray<RequestRow>): void => {
  const [first] = rows
  if (first === undefined || !allowed.maySteer) return
  asked = rows
  const title = rows.length === 1 ? "Interrupt" : `Interrupt ${countOf(rows)}`
  setText(byId("dialog-title", HTMLElement), title)
  setText(byId("dialog-submit", HTMLElement), rows.length === 1 ? title : `Interrupt ${rows.length}`)
  const what = rows.length === 1 ? [requestTitle(first)] : described(rows)
  byId("dialog-what", HTMLElement).replaceChildren(...what.map((text) => h("li", {}, text)))
  setText(byId("dialog-error", HTMLElement), "")
  reason.value = ""
  dialog.showModal()
}
/** Returns the selected request, or all requests of the selected group or session. */
const endedBy = (selection: Selection): ReadonlyArray<RequestRow> => {
  if ("request" in selection) return (snapshot?.requests ?? []).filter(({ key }) => key === selection.request)
  return endable(
    groups.filter(({ key }) => key === selection.group),
    chosen(kinds, kind)
  )
}
const askAbout = (selection: Selection): void => ask(endedBy(selection))
const select = (chosen: Selection): void => {
  selection = chosen
  ended = undefined
  draw()
  void remember()
  // Scrolls to the details, which are below the tree on narrow screens.
  if (matchMedia("(max-width: 860px)").matches) byId("details", HTMLElement).scrollIntoView({ block: "nearest" })
}
const tree = new TreePanel(byId("tree", HTMLElement), { select, interrupt: askAbout })
/** Milliseconds for which a notice is shown. */
const shown = 8000
let hiding: number | undefined
const say = (text: string): void => {
  said.textContent = text
  clearTimeout(hiding)
  hiding = window.setTimeout(() => said.replaceChildren(), shown)
}
const messages = new MessagesPanel(api, say)
const details = new DetailsPanel(byId("details", HTMLElement), askAbout, messages)
const drain = new DrainDialog(api, say)
const outcome = new OutcomePanel(byId("outcome", HTMLElement))
const showTool = (name: string): void => {
  search.value = fieldSearch("tool", name)
  tabs.show("running")
  draw()
  tree.focus()
}
const overview = new Overview(
  { tools: tabs.panelOf("tools"), problems: tabs.panelOf("problems"), nodes: tabs.panelOf("nodes") },
  { running: showTool, drain: (node) => drain.ask(node) }
)

const showDetails = (): void => {
  if (snapshot === undefined || selection === undefined) return
  details.show({ snapshot, selection, groups, ended, ticks, now: now(), maySteer: allowed.maySteer })
}

/** Shows the server in the header and the title. */
const drawServer = ({ nodes, requests, server }: Snapshot): void => {
  if (server === undefined) return
  const { host, name, since, version } = server
  setText(byId("name", HTMLElement), `${name} ${version}`)
  const where = nodes === undefined && host !== undefined ? `on ${host}, ` : ""
  setText(byId("about", HTMLElement), `${where}up ${age(now() - since)}`)
  const running = requests.filter(({ kind }) => kind === "request").length
  document.title = `${name}: ${running} running · MCP console`
}

const drawCounts = ({ draining, nodes, requests, sessions }: Snapshot): void => {
  const of = (kind: string) => requests.filter((row) => row.kind === kind).length
  const away = (nodes ?? []).flatMap(({ name, state }) => (state === "serving" ? [] : [`${name} ${state}`]))
  const counts = [
    ...(nodes === undefined ? (draining ? ["draining"] : []) : [counted(nodes.length, "node"), ...away]),
    counted(sessions.length, "session"),
    counted(of("request"), "request"),
    ...["subscription", "question", "task"].flatMap((kind) => (of(kind) === 0 ? [] : [counted(of(kind), kind)]))
  ]
  setText(byId("summary", HTMLElement), counts.join(", "))
}

/** Milliseconds to wait for the next key of a search. */
const pause = 80
let waiting: number | undefined
/** Draws now if a search is waiting to be drawn. */
const flush = (): void => {
  if (waiting === undefined) return
  clearTimeout(waiting)
  draw()
}

const drawOverview = (): void => {
  if (snapshot !== undefined) overview.show(snapshot, recent, now(), allowed.maySteer)
}

const draw = (): void => {
  waiting = undefined
  if (snapshot === undefined) return
  const view = viewOf()
  groups = groupsOf({ ...snapshot, time: now() }, view)
  tree.show(groups, selection)
  drain.show(snapshot, allowed.maySteer)
  drawServer(snapshot)
  drawCounts(snapshot)
  drawOverview()
  outcome.update(snapshot, now())
  plots.now(snapshot)
  const all = endable(groups, view.kind).length
  interruptAll.hidden = !allowed.maySteer || all === 0
  setText(interruptAll, `Interrupt ${all} shown`)
  const empty = byId("empty", HTMLElement)
  empty.hidden = groups.length > 0
  setText(
    empty,
    snapshot.requests.length + snapshot.sessions.length === 0
      ? "No sessions or requests."
      : "No matches. Change the search or the filters to see more."
  )
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
  recent = undefined
  samples = []
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

/** True if the token was rejected, and the page must ask for another. */
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

/** Reads the server's record since the last sample. */
const review = async (): Promise<void> => {
  const found = await api.recent(samples.at(-1)?.time ?? 0).catch(() => undefined)
  if (found === undefined || snapshot === undefined) return
  recent = found
  // Another answer may have arrived since this one was asked for.
  const last = samples.at(-1)?.time ?? 0
  const all = [...samples, ...found.samples.filter(({ time }) => time > last)]
  const end = all.at(-1)?.time ?? 0
  samples = all.filter(({ time }) => time > end - kept)
  plots.fill(samples)
  plots.now(snapshot)
  drawOverview()
}

const measure = async (): Promise<void> => {
  if (snapshot === undefined || document.hidden) return
  if (allowed.hasHistory) return review()
  const figures: Figures | undefined = await api.figures().catch(() => undefined)
  if (snapshot !== undefined) plots.add(snapshot, figures)
}

const pauses = [500, 1000, 2000, 5000]

/** Follows until the page is left, and reopens the stream when it ends. */
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
      state(
        "lost",
        error instanceof RequestRefused && error.status !== 0 ? error.message : "Connection lost. Reconnecting"
      )
    }
    await new Promise((resolve) => setTimeout(resolve, pauses[Math.min(Math.max(tries, 0), pauses.length - 1)]))
  }
}

const connect = async (): Promise<void> => {
  try {
    const { history, right } = await api.access()
    allowed = { maySteer: right === "steer", hasHistory: history }
  } catch (error) {
    if (!isRefused(error)) leave(error instanceof Error ? error.message : "Cannot reach the admin endpoint")
    return
  }
  login.hidden = true
  main.hidden = false
  byId("leave", HTMLButtonElement).hidden = false
  following = new AbortController()
  void follow(following)
  void measure()
}

/** Describes the outcome of a single interruption. */
const saidOfOne = (title: string, outcome: string | undefined): string =>
  outcome === "interrupted"
    ? `Interrupted ${title}. Its client receives the reason`
    : outcome === "unreachable"
      ? `The node that runs ${title} did not respond`
      : `${title} had already ended`

const send = async (): Promise<void> => {
  const rows = asked
  if (rows.length === 0) return
  try {
    const outcomes = await api.interrupt(
      rows.map(({ key }) => key),
      reason.value.trim()
    )
    dialog.close()
    outcome.began(outcomes, new Map(rows.map((row) => [row.key, requestTitle(row)])), now())
    const [first] = rows
    const done = outcomes.filter((one) => one.outcome === "interrupted").length
    const one = rows.length === 1 && first !== undefined
    say(one ? saidOfOne(requestTitle(first), outcomes[0]?.outcome) : `Interrupted ${done} of ${rows.length} requests`)
  } catch (error) {
    setText(byId("dialog-error", HTMLElement), error instanceof Error ? error.message : "The request failed")
  }
}

// ---- the page

const themes = ["", "light", "dark"] as const
const theme = (name: string): void => {
  document.documentElement.dataset["theme"] = name
  setText(byId("theme", HTMLButtonElement), name === "" ? "Theme: auto" : `Theme: ${name}`)
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
search.addEventListener("input", () => {
  clearTimeout(waiting)
  waiting = window.setTimeout(draw, pause)
})
search.addEventListener("keydown", ({ key }) => {
  if (key !== "ArrowDown" && key !== "Enter") return
  flush()
  tree.focus()
})
for (const choice of [older, grouping, kind, order]) choice?.addEventListener("change", draw)
interruptAll.addEventListener("click", () => ask(endable(groups, chosen(kinds, kind))))
tabs.listen(drawOverview)
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
