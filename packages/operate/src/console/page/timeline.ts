/** One session's timeline as bars for ended and running requests, with ticks for progress. */
import { h, s } from "./dom.ts"
import type { Bar } from "./model.ts"

const lane = 14
const head = 18
/** More lanes would be unreadable. */
const lanesAtMost = 24

const span = (milliseconds: number): string =>
  milliseconds < 60_000 ? `${Math.round(milliseconds / 1000)} s` : `${Math.round(milliseconds / 60_000)} min`

const looks: ReadonlyArray<readonly [look: Bar["look"], says: string]> = [
  ["running", "runs"],
  ["answered", "answered"],
  ["asked", "asks"],
  ["failed", "failed"],
  ["cancelled", "cancelled"]
]

export const legend = (): HTMLElement =>
  h(
    "ul",
    { class: "legend" },
    ...looks.map(([look, says]) =>
      h(
        "li",
        {},
        s(
          "svg",
          { viewBox: "0 0 10 10", class: "swatch", "aria-hidden": "true" },
          s("rect", { width: 10, height: 10, class: `bar-${look}` })
        ),
        says
      )
    )
  )

export const timeline = (
  bars: ReadonlyArray<Bar>,
  { from, now, width }: { readonly from: number; readonly now: number; readonly width: number }
): SVGElement => {
  const lanes = Math.min(lanesAtMost, Math.max(1, ...bars.map((bar) => bar.lane + 1)))
  const height = head + lanes * lane + 4
  const x = (time: number): number => ((Math.max(from, time) - from) / (now - from)) * width
  const grid = (width < 400 ? [0, 0.5] : [0, 0.25, 0.5, 0.75]).flatMap((part) => [
    s("line", { class: "grid", x1: part * width, x2: part * width, y1: 0, y2: height }),
    s("text", { x: part * width + 4, y: 12 }, `${span((1 - part) * (now - from))} ago`)
  ])
  const shown = bars
    .filter((bar) => bar.lane < lanes)
    .flatMap((bar) => {
      const y = head + bar.lane * lane
      const rect = s(
        "rect",
        {
          class: `bar-${bar.look}`,
          x: x(bar.from),
          y,
          width: Math.max(3, x(bar.to) - x(bar.from)),
          height: lane - 4,
          rx: 2
        },
        s("title", {}, `${bar.title}: ${bar.says}`)
      )
      const ticks = bar.ticks
        .filter((time) => time >= from)
        .map((time) => s("circle", { class: "tick", cx: x(time), cy: y + (lane - 4) / 2, r: 2.5 }))
      return [rect, ...ticks]
    })
  const label = `Timeline of the last ${span(now - from)} with ${bars.length} bars; the table below has the same data`
  return s(
    "svg",
    { class: "timeline", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    ...grid,
    ...shown
  )
}
