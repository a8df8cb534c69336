/** Details of the selection: its facts, and its session's timeline, which is also shown as a table. */
import type { Ended, RequestRow, SessionRow, Snapshot } from "../../admin/Admin.ts"
import { h, setText } from "./dom.ts"
import { described, type Group, sessionTitle } from "./groups.ts"
import { age, type Bar, barsOf, bytes, clock, duration, requestTitle } from "./model.ts"
import { legend, timeline } from "./timeline.ts"
import type { MessagesPanel } from "./messages.ts"
import type { Selection } from "./tree.ts"

const rowsAtMost = 30
const spans: ReadonlyArray<readonly [milliseconds: number, name: string]> = [
  [60_000, "1 min"],
  [300_000, "5 min"],
  [1_800_000, "30 min"]
]

interface Given {
  readonly snapshot: Snapshot
  readonly selection: Selection
  /** The groups of the tree. */
  readonly groups: ReadonlyArray<Group>
  /** The session's ended requests, or `undefined` if the server keeps none. */
  readonly ended: ReadonlyArray<Ended> | undefined
  readonly ticks: ReadonlyMap<string, ReadonlyArray<number>>
  readonly now: number
  readonly maySteer: boolean
}

const facts = (all: ReadonlyArray<readonly [name: string, value: string | undefined]>): HTMLElement =>
  h(
    "dl",
    {},
    ...all.flatMap(([name, value]) =>
      value === undefined || value === "" ? [] : [h("dt", {}, name), h("dd", {}, value)]
    )
  )

const clientOf = (client: { readonly name: string; readonly version: string } | undefined): string | undefined =>
  client === undefined ? undefined : `${client.name} ${client.version}`

const progressOf = (progress: RequestRow["progress"]): string | undefined => {
  if (progress === undefined) return undefined
  const { message, progress: done, total } = progress
  return `${done}${total === undefined ? "" : ` of ${total}`}${message === undefined ? "" : `: ${message}`}`
}

const ofRequest = (row: RequestRow, now: number): HTMLElement =>
  facts([
    ["State", row.state],
    ["Age", age(now - row.since)],
    ["Progress", progressOf(row.progress)],
    ["Waiting for", row.asking.join(", ")],
    ["Sleeping until", row.wakesAt === undefined ? undefined : clock(row.wakesAt)],
    ["Task", row.task],
    ["Client", clientOf(row.client)],
    ["User", row.principal.subject],
    ["Issuer", row.principal.issuer],
    ["Revision", row.revision],
    ["Transport", row.transport],
    ["Node", row.node],
    ["Session", row.session ?? "none"],
    ["Key", row.key]
  ])

const ofSession = (session: SessionRow, now: number): HTMLElement =>
  facts([
    ["Client", clientOf(session.client)],
    ["User", session.principal.subject],
    ["Issuer", session.principal.issuer],
    ["Revision", session.revision],
    ["Transport", session.transport],
    ["Age", age(now - session.since)],
    ["Node", session.node],
    ["Unread", session.backlog === undefined ? undefined : bytes(session.backlog)],
    ["Session", session.id]
  ])

const tableOf = (bars: ReadonlyArray<Bar>, now: number): HTMLElement => {
  const last = bars.toSorted((a, b) => b.from - a.from).slice(0, rowsAtMost)
  const heads = ["What", "How", "Began"].map((name, i) => h("th", { scope: "col", class: i === 2 && "number" }, name))
  const rows = last.map(({ from, kind, says, title }) =>
    h(
      "tr",
      {},
      h("td", {}, kind === "request" ? title : `${kind}: ${title}`),
      h("td", {}, says),
      h("td", { class: "number" }, `${duration(now - from)} ago`)
    )
  )
  return h(
    "table",
    {},
    h("caption", { class: "hidden" }, "The same as a table"),
    h("thead", {}, h("tr", {}, ...heads)),
    h("tbody", {}, ...rows)
  )
}

export class DetailsPanel {
  private readonly interrupt: (selection: Selection) => void
  private readonly span = h("select", { "aria-label": "Span of the timeline" })
  private readonly head = h("div", { class: "bar" })
  private readonly body = h("div")
  private readonly button = h("button", { type: "button", class: "danger" }, "Interrupt")
  private readonly messages: MessagesPanel
  private shown: Given | undefined = undefined

  constructor(element: HTMLElement, interrupt: (selection: Selection) => void, messages: MessagesPanel) {
    this.interrupt = interrupt
    this.messages = messages
    this.span.append(...spans.map(([value, name]) => h("option", { value }, name)))
    this.span.addEventListener("change", () => this.shown && this.show(this.shown))
    this.button.addEventListener("click", () => {
      const selection = this.shown?.selection
      if (selection !== undefined) this.interrupt(selection)
    })
    element.replaceChildren(this.head, this.body, messages.element)
    this.clear()
  }

  /** Shows a hint until a row is selected. */
  clear(text = "Select a session or a request."): void {
    this.shown = undefined
    this.messages.element.hidden = true
    this.head.replaceChildren(h("h2", {}, "Details"))
    this.body.replaceChildren(h("p", { class: "quiet" }, text))
  }

  private setHead(title: string, button: string | undefined): void {
    // Moving a button would lose its focus.
    if (this.head.firstElementChild?.textContent !== title || this.button.isConnected !== (button !== undefined)) {
      this.head.replaceChildren(h("h2", {}, title), ...(button === undefined ? [] : [this.button]))
    }
    if (button !== undefined) setText(this.button, button)
  }

  private showGroup(group: Group | undefined, { maySteer, now }: Given): void {
    if (group === undefined) return this.clear("It has ended.")
    const rows = group.rows.map(({ row }) => row)
    this.messages.element.hidden = true
    this.setHead(group.title, maySteer && rows.length > 0 ? `Interrupt all ${rows.length}` : undefined)
    const users = new Set(rows.map(({ principal }) => principal.subject ?? "anonymous"))
    this.body.replaceChildren(
      facts([
        ["Requests", `${rows.length}`],
        ["Oldest", age(now - Math.min(...rows.map(({ since }) => since)))],
        ["Users", `${users.size}`],
        ["Sessions", `${new Set(rows.map(({ session }) => session ?? "")).size}`]
      ]),
      h("ul", {}, ...described(rows).map((text) => h("li", {}, text)))
    )
  }

  show(given: Given): void {
    this.shown = given
    const { maySteer, now, selection, snapshot } = given
    if ("group" in selection && !selection.isSession) {
      return this.showGroup(
        given.groups.find(({ key }) => key === selection.group),
        given
      )
    }
    const row = "request" in selection ? snapshot.requests.find(({ key }) => key === selection.request) : undefined
    const id = "request" in selection ? row?.session : selection.session
    const session = snapshot.sessions.find((one) => one.id === id)
    const running = snapshot.requests.filter((one) => one.session === id)
    const isGone = "request" in selection ? row === undefined : session === undefined && id !== undefined
    if (isGone) return this.clear("It has ended.")
    const mayEnd = maySteer && row !== undefined && row.state !== "ending"
    const all = row === undefined && maySteer && running.length > 0 ? `Interrupt all ${running.length}` : undefined
    this.setHead(row === undefined ? sessionTitle(session, running) : requestTitle(row), mayEnd ? "Interrupt" : all)
    this.messages.element.hidden = !maySteer || session === undefined
    if (session !== undefined && maySteer) this.messages.show(session)
    const about = row !== undefined ? ofRequest(row, now) : session !== undefined ? ofSession(session, now) : undefined
    this.draw(about, running, given)
  }

  private draw(about: HTMLElement | undefined, running: ReadonlyArray<RequestRow>, { ended, now, ticks }: Given): void {
    const from = now - Number(this.span.value)
    const bars = barsOf(ended ?? [], running, ticks, { from, now })
    const hint = h(
      "p",
      { class: "quiet" },
      "The server keeps no history, so only running requests are shown. Provide Admin.layerHistory() to enable it."
    )
    const isFocused = document.activeElement === this.span
    this.body.replaceChildren(
      ...(about === undefined ? [] : [about]),
      h("div", { class: "bar" }, h("h3", {}, "Timeline of the session"), this.span),
      timeline(bars, { from, now, width: Math.max(240, this.body.clientWidth) }),
      legend(),
      ...(ended === undefined ? [hint] : []),
      tableOf(bars, now)
    )
    if (isFocused) this.span.focus()
  }
}
