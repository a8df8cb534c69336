/** Small plots of the last 15 minutes, as recorded by the server, or of the time since the page was opened. */
import type { Figures, Sample, Snapshot } from "../../admin/Admin.ts"
import { h, s, setText } from "./dom.ts"
import { callsBetween, duration, withinText } from "./model.ts"

const kept = 150
/** Length of the server's history. */
const seconds = 900
/** Rates are averages over this many seconds. */
const smoothed = 5

class Plot {
  readonly element: HTMLElement
  private readonly figure = h("div", { class: "figure" }, "–")
  private readonly most = h("div", { class: "most" })
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
      h("div", { class: "bar" }, this.figure, this.most),
      s("svg", { viewBox: "0 0 100 34", preserveAspectRatio: "none", "aria-hidden": "true" }, this.area, this.line)
    )
  }

  /** Shows a value that has changed between two points. */
  now(value: number): void {
    setText(this.figure, this.show(value))
  }

  /** Adds a point. If the value is `undefined`, the plot stays unchanged. */
  add(value: number | undefined, figure = value === undefined ? "–" : this.show(value)): void {
    setText(this.figure, figure)
    if (value === undefined) return
    this.points.push(value)
    if (this.points.length > kept) this.points.shift()
    this.draw(
      this.points.map((point, i) => [kept - this.points.length + i, point]),
      kept - 1
    )
  }

  /** Draws values at given seconds in the last 15 minutes, and shows the last one. */
  fill(points: ReadonlyArray<readonly [second: number, value: number]>): void {
    const [, last] = points.at(-1) ?? []
    setText(this.figure, last === undefined ? "–" : this.show(last))
    this.draw(points, seconds)
  }

  private draw(points: ReadonlyArray<readonly [x: number, value: number]>, width: number): void {
    const highest = points.reduce((most, [, value]) => Math.max(most, value), 0)
    setText(this.most, points.length === 0 ? "" : `most ${this.show(highest)}`)
    const x = (at: number) => ((at / width) * 100).toFixed(2)
    const line = points
      .map(([at, value]) => `${x(at)},${(32 - (value / Math.max(highest, 1e-9)) * 28).toFixed(2)}`)
      .join("L")
    const [first = 0] = points[0] ?? []
    const [end = 0] = points.at(-1) ?? []
    this.line.setAttribute("d", points.length === 0 ? "" : `M${line}`)
    this.area.setAttribute("d", points.length === 0 ? "" : `M${x(first)},34L${line}L${x(end)},34Z`)
  }
}

const whole = (value: number): string => `${value}`

export class Plots {
  private readonly sessions = new Plot("Sessions", whole)
  private readonly running = new Plot("Running", whole)
  private readonly pending = new Plot("Waiting", whole)
  private readonly questions = new Plot("Questions", whole)
  private readonly calls = new Plot("Calls / s", (value) => value.toFixed(value < 10 ? 1 : 0))
  private readonly failures = new Plot("Failed / s", (value) => value.toFixed(value < 10 ? 1 : 0))
  private readonly p95 = new Plot("p95", (value) => duration(value))
  private before: Figures | undefined = undefined

  constructor(into: HTMLElement) {
    const { calls, failures, p95, pending, questions, running, sessions } = this
    failures.element.hidden = true
    into.replaceChildren(...[sessions, running, pending, questions, calls, failures, p95].map(({ element }) => element))
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

  /** Shows the counts of a snapshot, like the header. */
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
    this.p95.add((upTo === Infinity ? above : upTo) * 1000, withinText(between.p95))
  }

  /** Draws the server's samples from the last 15 minutes. */
  fill(samples: ReadonlyArray<Sample>): void {
    const end = samples.at(-1)?.time ?? 0
    const shown = samples.filter(({ time }) => time > end - seconds * 1000)
    const at = (time: number) => seconds - (end - time) / 1000
    const of = (value: (sample: Sample) => number) => shown.map((one) => [at(one.time), value(one)] as const)
    const rate = (value: (sample: Sample) => number) =>
      shown.map((one, i) => {
        const last = shown.slice(Math.max(0, i + 1 - smoothed), i + 1)
        return [at(one.time), last.reduce((sum, sample) => sum + value(sample), 0) / last.length] as const
      })
    this.failures.element.hidden = false
    this.sessions.fill(of(({ sessions }) => sessions))
    this.running.fill(of(({ running }) => running))
    this.pending.fill(of(({ pending }) => pending))
    this.questions.fill(of(({ questions }) => questions))
    this.calls.fill(rate(({ calls }) => calls))
    this.failures.fill(rate(({ failures }) => failures))
    this.p95.fill(shown.flatMap(({ p95, time }) => (p95 === undefined ? [] : [[at(time), p95] as const])))
  }
}
