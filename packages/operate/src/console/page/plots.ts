/** Small plots of the last five minutes. */
import type { Figures, Snapshot } from "../../admin/Admin.ts"
import { h, s, setText } from "./dom.ts"
import { callsBetween, withinText } from "./model.ts"

const kept = 150

class Plot {
  readonly element: HTMLElement
  private readonly figure = h("div", { class: "figure" }, "–")
  private readonly line = s("path")
  private readonly area = s("path", { class: "area" })
  private readonly points: Array<number> = []
  private readonly show: (value: number) => string

  constructor(name: string, show: (value: number) => string) {
    this.show = show
    this.element = h(
      "div",
      { class: "plot card" },
      h("div", { class: "name", title: name }, name),
      this.figure,
      s("svg", { viewBox: "0 0 100 34", preserveAspectRatio: "none", "aria-hidden": "true" }, this.area, this.line)
    )
  }

  /** Shows a value that has changed between two points. */
  now(value: number): void {
    setText(this.figure, this.show(value))
  }

  /** Undefined where it is not known: the plot stays as it is. */
  add(value: number | undefined, figure = value === undefined ? "–" : this.show(value)): void {
    setText(this.figure, figure)
    if (value === undefined) return
    this.points.push(value)
    if (this.points.length > kept) this.points.shift()
    const highest = Math.max(...this.points, 1e-9)
    const first = kept - this.points.length
    const at = (value: number, i: number) =>
      `${(((first + i) / (kept - 1)) * 100).toFixed(2)},${(32 - (value / highest) * 28).toFixed(2)}`
    const line = this.points.map(at).join("L")
    this.line.setAttribute("d", `M${line}`)
    this.area.setAttribute("d", `M${((first / (kept - 1)) * 100).toFixed(2)},34L${line}L100,34Z`)
  }
}

const whole = (value: number): string => `${value}`

export class Plots {
  private readonly sessions = new Plot("Sessions", whole)
  private readonly running = new Plot("Running", whole)
  private readonly pending = new Plot("Waiting", whole)
  private readonly questions = new Plot("Open questions", whole)
  private readonly calls = new Plot("Per second", (value) => value.toFixed(value < 10 ? 1 : 0))
  private readonly p95 = new Plot("95 of 100 take", whole)
  private before: Figures | undefined = undefined

  constructor(into: HTMLElement) {
    const { calls, p95, pending, questions, running, sessions } = this
    into.replaceChildren(...[sessions, running, pending, questions, calls, p95].map(({ element }) => element))
  }

  private counts({ requests, sessions }: Snapshot): ReadonlyArray<readonly [Plot, number]> {
    const count = (state: (row: Snapshot["requests"][number]) => boolean) => requests.filter(state).length
    return [
      [this.sessions, sessions.length],
      [this.running, count(({ kind, state }) => kind === "request" && state !== "pending")],
      [this.pending, count(({ state }) => state === "pending")],
      [this.questions, count(({ kind }) => kind === "question")]
    ]
  }

  /** Shows the counts of a snapshot, as the header does. */
  now(snapshot: Snapshot): void {
    for (const [plot, count] of this.counts(snapshot)) plot.now(count)
  }

  /** Adds a point to each plot. Called every two seconds. */
  add(snapshot: Snapshot, figures: Figures | undefined): void {
    for (const [plot, count] of this.counts(snapshot)) plot.add(count)
    if (figures === undefined) return
    const between = callsBetween(this.before, figures)
    this.before = figures
    this.calls.add(between?.perSecond)
    if (between?.p95 === undefined) return this.p95.add(undefined)
    const { above, upTo } = between.p95
    this.p95.add(upTo === Infinity ? above : upTo, withinText(between.p95))
  }
}
