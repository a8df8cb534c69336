/** One session's messages from the last minute, shown while an operator is looking, and its client's log level. */
import type { Message, SessionRow } from "../../admin/Admin.ts"
import { type Api, RequestRefused } from "./api.ts"
import { h, setText } from "./dom.ts"
import { bytes, clock } from "./model.ts"

const levels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]

const messageRow = ({ body, code, direction, id, kind, method, size, target, time }: Message): HTMLElement =>
  h(
    "tr",
    {},
    h("td", {}, clock(time)),
    h("td", {}, direction === "received" ? "in" : "out"),
    h("td", {}, code === undefined ? kind : `${kind} ${code}`),
    h(
      "td",
      {},
      [method, target, id === undefined ? undefined : `id ${id}`].filter(Boolean).join(" · "),
      ...(body === undefined ? [] : [h("pre", {}, body)])
    ),
    h("td", { class: "number" }, bytes(size))
  )

export class MessagesPanel {
  readonly element = h("div", { class: "messages" })
  private readonly api: Api
  private readonly said: (text: string) => void
  private readonly toggle = h("button", { type: "button", "aria-expanded": "false" }, "Show messages")
  private readonly level = h("select", { "aria-label": "Minimum level of log messages for the client" })
  private readonly list = h("div")
  private session: string | undefined = undefined
  private isLooking = false

  constructor(api: Api, said: (text: string) => void) {
    this.api = api
    this.said = said
    this.toggle.addEventListener("click", () => this.look(!this.isLooking))
    this.level.addEventListener("change", () => void this.setLevel())
    this.element.append(h("div", { class: "bar" }, h("h3", {}, "Session"), this.toggle, this.level), this.list)
  }

  /** Called with the selected session whenever its details are drawn. */
  show(session: SessionRow): void {
    if (session.id !== this.session) {
      this.session = session.id
      this.look(false)
    }
    if (document.activeElement === this.level) return
    const now = session.level ?? ""
    this.level.replaceChildren(
      h("option", { value: "", selected: now === "", disabled: true }, "Log level: the server's"),
      ...levels.map((level) => h("option", { value: level, selected: level === now }, `Log level: ${level}`))
    )
  }

  private look(isLooking: boolean): void {
    this.isLooking = isLooking
    this.toggle.ariaExpanded = `${isLooking}`
    setText(this.toggle, isLooking ? "Stop showing messages" : "Show messages")
    this.list.replaceChildren()
    if (isLooking) void this.refresh()
  }

  /** Refreshes while an operator is looking. */
  async refresh(): Promise<void> {
    const { session } = this
    if (!this.isLooking || session === undefined || !this.element.isConnected) return
    const text = await this.api.messages(session).then(
      (messages) => this.draw(session, messages),
      (error: unknown) => (error instanceof RequestRefused ? error.message : "Could not load the messages")
    )
    if (text !== undefined) this.list.replaceChildren(h("p", { class: "quiet" }, text))
  }

  private draw(session: string, messages: ReadonlyArray<Message>): string | undefined {
    if (session !== this.session || !this.isLooking) return undefined
    if (messages.length === 0) return "No messages yet. Messages are recorded while you view the session."
    const heads = ["Time", "Direction", "Kind", "Message", "Size"].map((name) =>
      h("th", { scope: "col", class: name === "Size" && "number" }, name)
    )
    const rows = messages.toReversed().map(messageRow)
    this.list.replaceChildren(
      h(
        "table",
        {},
        h("caption", { class: "hidden" }, "Messages of the last minute, newest first"),
        h("thead", {}, h("tr", {}, ...heads)),
        h("tbody", {}, ...rows)
      )
    )
    return undefined
  }

  private async setLevel(): Promise<void> {
    const { session } = this
    const { value } = this.level
    if (session === undefined || value === "") return
    await this.api.level(session, value).then(
      () => this.said(`The client now receives log messages of level ${value} and above`),
      (error: unknown) => this.said(error instanceof RequestRefused ? error.message : "Could not set the level")
    )
    this.level.blur()
  }
}
