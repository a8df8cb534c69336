/** Shows whether the requests that the operator interrupted have ended. */
import type { Snapshot } from "../../admin/Admin.ts"
import type { InterruptOutcome } from "./api.ts"
import { h, setText } from "./dom.ts"
import { age } from "./model.ts"
import { SortedTable } from "./table.ts"

interface Interrupted {
  readonly key: string
  readonly title: string
  readonly at: number
  readonly outcome: InterruptOutcome["outcome"]
  /** Time at which it was no longer running. */
  endedAt: number | undefined
}

const rowsAtMost = 50

const says = ({ at, endedAt, outcome }: Interrupted, now: number): string => {
  if (outcome === "ended") return "had already ended"
  if (outcome === "unreachable") return "its node did not respond"
  return endedAt === undefined
    ? `ending for ${age(now - at)}: its handler is cleaning up`
    : `ended within ${age(endedAt - at + 999)}`
}

const isOpen = ({ endedAt, outcome }: Interrupted): boolean => outcome === "interrupted" && endedAt === undefined

export class OutcomePanel {
  private readonly element: HTMLElement
  private readonly text = h("p", { role: "status" })
  private now = 0
  private readonly table = new SortedTable<Interrupted>({
    caption: "Outcomes of the interrupted requests",
    key: ({ key }) => key,
    sort: [1, false],
    columns: [
      { name: "Request", value: ({ title }) => title },
      { name: "Outcome", value: (one) => says(one, this.now), look: (one) => (isOpen(one) ? "warn" : "") }
    ]
  })
  private all: ReadonlyArray<Interrupted> = []

  constructor(element: HTMLElement) {
    this.element = element
    const close = h("button", { type: "button" }, "Dismiss")
    close.addEventListener("click", () => {
      this.all = []
      this.element.hidden = true
    })
    element.append(h("div", { class: "bar" }, h("h2", {}, "Interrupted"), close), this.text, this.table.element)
  }

  /** Replaces the list of outcomes with a new one. */
  began(outcomes: ReadonlyArray<InterruptOutcome>, titles: ReadonlyMap<string, string>, now: number): void {
    this.all = outcomes.map(({ key, outcome }) => ({
      key,
      title: titles.get(key) ?? key,
      at: now,
      outcome,
      endedAt: undefined
    }))
    this.element.hidden = false
    this.draw(now)
  }

  update({ requests }: Snapshot, now: number): void {
    if (this.all.length === 0) return
    const open = new Set(requests.map(({ key }) => key))
    for (const one of this.all) if (isOpen(one) && !open.has(one.key)) one.endedAt = now
    this.draw(now)
  }

  private draw(now: number): void {
    this.now = now
    const count = (is: (one: Interrupted) => boolean) => this.all.filter(is).length
    const parts = [
      [count(({ endedAt }) => endedAt !== undefined), "ended"],
      [count(isOpen), "still ending"],
      [count(({ outcome }) => outcome === "ended"), "had already ended"],
      [count(({ outcome }) => outcome === "unreachable"), "on nodes that did not respond"]
    ] as const
    const shown = parts.flatMap(([number, text]) => (number === 0 ? [] : [`${number} ${text}`]))
    setText(this.text, `${this.all.length} interrupted: ${shown.join(", ")}.`)
    const rows = this.all.toSorted((a, b) => Number(isOpen(b)) - Number(isOpen(a))).slice(0, rowsAtMost)
    this.table.show(rows, "")
  }
}
