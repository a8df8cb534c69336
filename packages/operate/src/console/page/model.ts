/** The page's pure functions: ages, a request's texts, a timeline's bars, and plots' points. */
import type { Ended, Figures, RequestRow, Snapshot } from "../../admin/Admin.ts"

export const age = (milliseconds: number): string => {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000))
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`
}

export const duration = (milliseconds: number): string =>
  milliseconds < 1000
    ? `${milliseconds < 10 ? milliseconds.toFixed(1) : Math.round(milliseconds)} ms`
    : milliseconds < 9950
      ? `${(milliseconds / 1000).toFixed(1)} s`
      : age(milliseconds)

/** Formats a part of a whole, such as `12%`. */
export const shared = (part: number, whole: number): string =>
  part > 0 && part * 100 < whole ? "<1%" : `${Math.round((part / whole) * 100)}%`

/** How warm an age's color is: 0 below 10 seconds, then 1 to 4 from 10 seconds, 1, 5 and 30 minutes. */
export const warmth = (milliseconds: number): number =>
  [10_000, 60_000, 300_000, 1_800_000].filter((from) => milliseconds >= from).length

/** Formats a time of day in the local time zone. */
export const clock = (time: number): string => new Date(time).toLocaleTimeString([], { hour12: false })

export const bytes = (count: number): string =>
  count < 1024
    ? `${count} B`
    : count < 1024 ** 2
      ? `${(count / 1024).toFixed(1)} KiB`
      : `${(count / 1024 ** 2).toFixed(1)} MiB`

export const callerOf = ({ client, principal }: Pick<RequestRow, "client" | "principal">): string => {
  const program = client === undefined ? undefined : `${client.name} ${client.version}`
  return [principal.subject, program].filter((part) => part !== undefined).join(" by ") || "An unnamed client"
}

/** Returns the nodes that can be drained, if there are several, and whether there is anything that the token may drain. */
export const drainOf = (
  { draining, nodes }: Pick<Snapshot, "draining" | "nodes">,
  maySteer: boolean
): { readonly isOffered: boolean; readonly nodes: ReadonlyArray<string> | undefined } => {
  const serving = nodes?.flatMap(({ name, state }) => (state === "serving" ? [name] : []))
  return { isOffered: maySteer && (serving === undefined ? !draining : serving.length > 0), nodes: serving }
}

export const counted = (count: number, one: string): string => `${count} ${one}${count === 1 ? "" : "s"}`

/** Counts rows in words, such as "2 tasks", or "3 requests" if their kinds differ. */
export const countOf = (rows: ReadonlyArray<RequestRow>): string =>
  counted(rows.length, rows.length > 0 && rows.every(({ kind }) => kind === "task") ? "task" : "request")

export const requestTitle = ({ method, target }: RequestRow): string =>
  target === undefined ? method : `${method} ${target}`

export const requestMore = (row: RequestRow, isAlone: boolean): string =>
  [
    ...(isAlone ? [callerOf(row), row.transport, row.revision] : []),
    row.asking.length === 0 ? undefined : `waiting for ${row.asking.join(", ")}`,
    row.node,
    row.wakesAt === undefined ? undefined : `sleeping until ${clock(row.wakesAt)}`,
    row.progress?.message
  ]
    .filter((part) => part !== undefined)
    .join(" · ")

/** A bar of a timeline. */
export interface Bar {
  readonly title: string
  readonly kind: "request" | "question" | "notification" | "subscription" | "task"
  readonly look: "answered" | "running" | "asked" | "question" | "failed" | "cancelled"
  readonly says: string
  readonly from: number
  readonly to: number
  readonly ticks: ReadonlyArray<number>
  /** Bars in the same lane do not overlap. */
  readonly lane: number
}

const lookOf = ({ kind, outcome }: Ended): Bar["look"] => {
  if (outcome === "failed" || outcome === "tool_failed" || outcome === "refused") return "failed"
  if (outcome === "cancelled" || outcome === "interrupted") return "cancelled"
  return kind === "question" ? "question" : outcome === "asked" ? "asked" : "answered"
}

const inLanes = (bars: ReadonlyArray<Omit<Bar, "lane">>, gap: number): ReadonlyArray<Bar> => {
  const ends: Array<number> = []
  return bars
    .toSorted((a, b) => a.from - b.from)
    .map((bar) => {
      const free = ends.findIndex((end) => end + gap <= bar.from)
      const lane = free === -1 ? ends.length : free
      ends[lane] = bar.to
      return { ...bar, lane }
    })
}

/** Returns everything that ended or is running in a session since `from`. `ticks` are the times of progress reports, by request key. */
export const barsOf = (
  ended: ReadonlyArray<Ended>,
  running: ReadonlyArray<RequestRow>,
  ticks: ReadonlyMap<string, ReadonlyArray<number>>,
  { from, now }: { readonly from: number; readonly now: number }
): ReadonlyArray<Bar> => {
  const over = ended.map((one) => ({
    title: one.target === undefined ? one.method : `${one.method} ${one.target}`,
    kind: one.kind,
    look: lookOf(one),
    says: `${one.outcome?.replace("_", " ") ?? "received"}${one.code === undefined ? "" : ` ${one.code}`}, ${duration(one.to - one.from)}${one.reason === undefined ? "" : `: ${one.reason}`}`,
    from: one.from,
    to: one.to,
    ticks: []
  }))
  const open = running.map((row) => ({
    title: requestTitle(row),
    kind: row.kind,
    look:
      row.kind === "question"
        ? ("question" as const)
        : row.state === "asking"
          ? ("asked" as const)
          : ("running" as const),
    says: `${row.state}, ${age(now - row.since)}`,
    from: row.since,
    to: now,
    ticks: ticks.get(row.key) ?? []
  }))
  const shown = [...over, ...open].filter(({ to }) => to >= from)
  return inLanes(shown, (now - from) / 200)
}

/** Bounds of the histogram bucket that contains a duration, in seconds, because its exact value is unknown. `upTo` may be infinite. */
export interface Within {
  readonly above: number
  readonly upTo: number
}

export const withinText = ({ above, upTo }: Within): string => {
  if (above === 0) return `under ${duration(upTo * 1000)}`
  return upTo === Infinity ? `over ${duration(above * 1000)}` : `${duration(above * 1000)} to ${duration(upTo * 1000)}`
}

/**
 * Returns the number of calls between two readings, and an upper bound on the duration of 95% of them, or `undefined` if the metric is
 * missing.
 */
export const callsBetween = (
  before: Figures | undefined,
  after: Figures
): { readonly perSecond: number; readonly p95: Within | undefined } | undefined => {
  const name = "mcp.server.operation.duration"
  const now = after.metrics[name]
  const then = before?.metrics[name]
  if (now?.type !== "histogram" || before === undefined) return undefined
  const earlier = then?.type === "histogram" ? then : { count: 0, buckets: [] }
  const known = new Map(earlier.buckets)
  const count = now.count - earlier.count
  const seconds = (after.time - before.time) / 1000
  if (seconds <= 0 || count < 0) return undefined
  const bounds = now.buckets.map(([bound]) => bound)
  const enough = now.buckets.findIndex(([bound, below]) => below - (known.get(bound) ?? 0) >= count * 0.95)
  const at = enough === -1 ? bounds.length : enough
  const p95 = { above: bounds[at - 1] ?? 0, upTo: bounds[at] ?? Infinity }
  return { perSecond: count / seconds, p95: count === 0 ? undefined : p95 }
}
