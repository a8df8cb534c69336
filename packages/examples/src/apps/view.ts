/**
 * The view of the measurements: a chart. Choose a metric, drag over a range to
 * see only that, or step back and forth through time.
 */
import { connect, type OutputOf } from "@effect-mcp/apps/view"
import type { Measurements, Metric } from "./measurements.ts"

type Data = OutputOf<typeof Measurements>
interface Range {
  readonly from: number
  readonly to: number
}

const size = {
  width: 640,
  height: 240,
  left: 56,
  right: 12,
  top: 12,
  bottom: 28
}
const namespace = "http://www.w3.org/2000/svg"

const element = <K extends keyof HTMLElementTagNameMap>(
  name: K,
  text = ""
): HTMLElementTagNameMap[K] =>
  Object.assign(document.createElement(name), { textContent: text })
const shape = (
  name: string,
  attributes: { readonly [name: string]: string | number }
): SVGElement => {
  const made = document.createElementNS(namespace, name)
  for (const [key, value] of Object.entries(attributes))
    made.setAttribute(key, String(value))
  return made
}

document.head.append(
  element(
    "style",
    `body { margin: 0; padding: 12px 16px; font: 14px/1.4 var(--font-sans, system-ui, sans-serif); color: var(--color-text-primary, light-dark(#1c1c1a, #ececea)); background: var(--color-background-primary, light-dark(#fff, #20201f)) }
    nav { display: flex; gap: 6px; flex-wrap: wrap; align-items: center }
    button { font: inherit; color: inherit; background: none; border: 1px solid var(--color-border-primary, light-dark(#ccc, #555)); border-radius: 6px; padding: 2px 10px; cursor: pointer }
    button[aria-pressed=true] { border-color: light-dark(#1d5fbf, #7fb0ff); color: light-dark(#1d5fbf, #7fb0ff) }
    svg { display: block; width: 100%; height: auto; margin: 8px 0; touch-action: none; cursor: crosshair }
    text { font-size: 11px; fill: currentColor; opacity: .7 }
    .line { fill: none; stroke: light-dark(#1d5fbf, #7fb0ff); stroke-width: 2; stroke-linejoin: round }
    .area { fill: light-dark(#1d5fbf1c, #7fb0ff26) }
    .grid { stroke: currentColor; opacity: .12 }
    .choice { fill: light-dark(#1d5fbf33, #7fb0ff33) }
    p { margin: 0; min-height: 1.4em; opacity: .8 }`
  )
)

const nav = element("nav")
const chart = shape("svg", {
  viewBox: `0 0 ${size.width} ${size.height}`,
  role: "img"
})
const status = element("p", "Waiting for measurements ...")
status.setAttribute("role", "status")
document.body.append(nav, chart, status)

const view = await connect<typeof Measurements>({
  name: "measurements",
  version: "1.0.0"
})
let shown: Data | undefined

/** Calls the tool again, for another metric or range. */
const load = async (metric: Metric, range?: Range): Promise<void> => {
  status.textContent = "Loading ..."
  try {
    draw((await view.call("measurements", { metric, ...range })).data)
  } catch (error) {
    status.textContent =
      error instanceof Error ? error.message : "The call failed"
  }
}

const buttons = (["memory", "cpu", "delay"] as const).map((metric) => {
  const button = element(
    "button",
    { memory: "Memory", cpu: "CPU", delay: "Event loop delay" }[metric]
  )
  button.addEventListener("click", () => void load(metric))
  return [metric, button] as const
})
/** Moves the range by half of its length. */
const step = (direction: 1 | -1) => (): void => {
  if (shown === undefined) return
  const by = (direction * (shown.to - shown.from)) / 2
  void load(shown.metric, {
    from: Math.max(0, shown.from + by),
    to: shown.to + by
  })
}
const controls = [
  ["Earlier", step(-1)],
  ["Later", step(1)],
  ["All", () => shown && void load(shown.metric)]
] as const
nav.append(...buttons.map(([, button]) => button))
for (const [name, act] of controls) {
  const button = element("button", name)
  button.addEventListener("click", act)
  nav.append(button)
}

const inner = {
  width: size.width - size.left - size.right,
  height: size.height - size.top - size.bottom
}
const rounded = (value: number): string => value.toFixed(value < 10 ? 1 : 0)

const draw = (data: Data): void => {
  shown = data
  for (const [metric, button] of buttons)
    button.setAttribute("aria-pressed", String(metric === data.metric))
  const most = Math.max(...data.points.map(({ value }) => value), 1e-9) * 1.1
  const span = Math.max(1, data.to - data.from)
  const x = (second: number): number =>
    size.left + ((second - data.from) / span) * inner.width
  const y = (value: number): number =>
    size.top + inner.height - (value / most) * inner.height
  const line = data.points
    .map(
      ({ second, value }, at) =>
        `${at === 0 ? "M" : "L"}${x(second)} ${y(value)}`
    )
    .join("")
  chart.replaceChildren(
    ...[0, 0.5, 1].flatMap((part) => {
      const at = y(most * part)
      const label = shape("text", {
        x: size.left - 6,
        y: at + 4,
        "text-anchor": "end"
      })
      label.textContent = rounded(most * part)
      return [
        shape("line", {
          class: "grid",
          x1: size.left,
          x2: size.width - size.right,
          y1: at,
          y2: at
        }),
        label
      ]
    }),
    ...[data.from, data.to].map((second, at) => {
      const label = shape("text", {
        x: x(second),
        y: size.height - 8,
        "text-anchor": at === 0 ? "start" : "end"
      })
      label.textContent = `${second} s`
      return label
    })
  )
  if (line !== "") {
    const floor = size.top + inner.height
    chart.append(
      shape("path", {
        class: "area",
        d: `${line}L${x(data.to)} ${floor}L${x(data.from)} ${floor}Z`
      })
    )
    chart.append(shape("path", { class: "line", d: line }))
  }
  const last = data.points.at(-1)
  status.textContent =
    last === undefined
      ? "No measurements in this range"
      : `${data.points.length} measurements, the last one ${rounded(last.value)} ${data.unit}`
  chart.setAttribute("aria-label", status.textContent)
}

/** Seconds since the start at a place of the pointer. */
const secondAt = ({ clientX }: PointerEvent, { from, to }: Data): number => {
  const { left, width } = chart.getBoundingClientRect()
  const at = (((clientX - left) / width) * size.width - size.left) / inner.width
  return from + Math.min(1, Math.max(0, at)) * (to - from)
}
let start: number | undefined
chart.addEventListener("pointerdown", (event) => {
  if (shown === undefined) return
  start = secondAt(event, shown)
  chart.setPointerCapture(event.pointerId)
})
chart.addEventListener("pointermove", (event) => {
  if (shown === undefined || start === undefined) return
  const { from, to } = shown
  const at = (second: number): number =>
    size.left + ((second - from) / Math.max(1, to - from)) * inner.width
  const [a, b] = [at(start), at(secondAt(event, shown))].toSorted(
    (a, b) => a - b
  )
  chart.querySelector(".choice")?.remove()
  const x = a ?? 0
  chart.append(
    shape("rect", {
      class: "choice",
      x,
      y: size.top,
      width: (b ?? x) - x,
      height: inner.height
    })
  )
})
chart.addEventListener("pointerup", (event) => {
  if (shown === undefined || start === undefined) return
  const [from = 0, to = 0] = [start, secondAt(event, shown)].toSorted(
    (a, b) => a - b
  )
  start = undefined
  if (to - from >= 1)
    void load(shown.metric, { from: Math.floor(from), to: Math.ceil(to) })
  else chart.querySelector(".choice")?.remove()
})

view.on("result", ({ data, isError }) => {
  if (!isError) draw(data)
})
