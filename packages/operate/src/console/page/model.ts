/** What the page shows, without a page: groups, ages, search, bars of a timeline, points of plots. Pure. */
import type { Ended, Figures, RequestRow, SessionRow, Snapshot } from "../../admin/Admin.ts"

/** A session, or the requests without one. */
export interface Group {
  readonly id: string | undefined
  readonly session: SessionRow | undefined
  readonly rows: ReadonlyArray<{ readonly row: RequestRow; readonly level: 2 | 3 }>
}

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
    : age(milliseconds)

/** A time of the day, of the page's place. */
export const clock = (time: number): string => new Date(time).toLocaleTimeString([], { hour12: false })

export const bytes = (count: number): string =>
  count < 1024
    ? `${count} B`
    : count < 1024 ** 2
      ? `${(count / 1024).toFixed(1)} KiB`
      : `${(count / 1024 ** 2).toFixed(1)} MiB`

const callerOf = ({ client, principal }: Pick<RequestRow, "client" | "principal">): string => {
  const program = client === undefined ? undefined : `${client.name} ${client.version}`
  return [principal.subject, program].filter((part) => part !== undefined).join(" by ") || "An unnamed client"
}

/** A session knows its client after `initialize`; before, and in 2026-07-28, its requests do. */
export const titleOf = ({ rows, session }: Group): string => {
  if (session === undefined) return "Without a session"
  const client = session.client ?? rows.find(({ row }) => row.client !== undefined)?.row.client
  return callerOf({ client, principal: session.principal })
}

/** The nodes that may be drained, where there are several; whether there is anything to drain that the token may. */
export const drainOf = (
  { draining, nodes }: Pick<Snapshot, "draining" | "nodes">,
  maySteer: boolean
): { readonly isOffered: boolean; readonly nodes: ReadonlyArray<string> | undefined } => {
  const serving = nodes?.flatMap(({ name, state }) => (state === "serving" ? [name] : []))
  return { isOffered: maySteer && (serving === undefined ? !draining : serving.length > 0), nodes: serving }
}

export const requestTitle = ({ method, target }: RequestRow): string =>
  target === undefined ? method : `${method} ${target}`

export const requestMore = (row: RequestRow, isAlone: boolean): string =>
  [
    ...(isAlone ? [callerOf(row), row.transport, row.revision] : []),
    row.asking.length === 0 ? undefined : `waits for ${row.asking.join(", ")}`,
    row.node,
    row.wakesAt === undefined ? undefined : `sleeps until ${clock(row.wakesAt)}`,
    row.progress?.message
  ]
    .filter((part) => part !== undefined)
    .join(" · ")

const textOf = (row: RequestRow): string =>
  [
    row.key,
    row.node,
    row.task,
    row.method,
    row.target,
    row.state,
    row.kind,
    row.transport,
    row.revision,
    row.session,
    callerOf(row)
  ]
    .join(" ")
    .toLowerCase()

const sessionText = (session: SessionRow): string =>
  [session.id, session.node, session.transport, session.revision, callerOf(session)].join(" ").toLowerCase()

const nested = (rows: ReadonlyArray<RequestRow>): Group["rows"] => {
  const keys = new Set(rows.map(({ key }) => key))
  const below = (key: string) => rows.filter(({ relatedTo }) => relatedTo === key)
  return rows
    .filter(({ relatedTo }) => relatedTo === undefined || !keys.has(relatedTo))
    .flatMap((row) => [
      { row, level: 2 as const },
      ...below(row.key).map((question) => ({ row: question, level: 3 as const }))
    ])
}

/**
 * Sessions with their requests, those with the oldest request first. A search keeps a session with all of its requests where it matches
 * itself, else the requests that match; with an age, sessions without a request that old are left out.
 */
export const groupsOf = (
  { requests, sessions, time }: Snapshot,
  { older, search }: { readonly search: string; readonly older: number }
): ReadonlyArray<Group> => {
  const wanted = search.trim().toLowerCase()
  const of = new Map<string | undefined, Array<RequestRow>>()
  for (const row of requests) {
    if (time - row.since < older) continue
    const rows = of.get(row.session)
    if (rows === undefined) of.set(row.session, [row])
    else rows.push(row)
  }
  const group = (id: string | undefined, session: SessionRow | undefined): ReadonlyArray<Group> => {
    const all = of.get(id) ?? []
    const isWhole = wanted === "" || (session !== undefined && sessionText(session).includes(wanted))
    const rows = isWhole ? all : all.filter((row) => textOf(row).includes(wanted))
    const isLeftOut = rows.length === 0 && (session === undefined || !isWhole || older > 0)
    return isLeftOut ? [] : [{ id, session, rows: nested(rows) }]
  }
  const oldest = ({ rows }: Group) => rows[0]?.row.since ?? Infinity
  return [...sessions.flatMap((session) => group(session.id, session)), ...group(undefined, undefined)].toSorted(
    (a, b) => oldest(a) - oldest(b)
  )
}

/** One bar of a timeline. */
export interface Bar {
  readonly title: string
  readonly kind: "request" | "question" | "notification" | "subscription" | "task"
  readonly look: "answered" | "running" | "asked" | "question" | "failed" | "cancelled"
  readonly says: string
  readonly from: number
  readonly to: number
  readonly ticks: ReadonlyArray<number>
  /** Bars of a lane do not overlap. */
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

/** What ended and what runs in a session since `from`. `ticks` are the times of progress by the key of a request. */
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
    says: `${one.outcome ?? "received"}${one.code === undefined ? "" : ` ${one.code}`}, ${duration(one.to - one.from)}${one.reason === undefined ? "" : `: ${one.reason}`}`,
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

/** Between which bounds of the histogram a duration is, in seconds: its exact value is not known. `upTo` may be infinite. */
export interface Within {
  readonly above: number
  readonly upTo: number
}

export const withinText = ({ above, upTo }: Within): string => {
  if (above === 0) return `under ${duration(upTo * 1000)}`
  return upTo === Infinity ? `over ${duration(above * 1000)}` : `${duration(above * 1000)} to ${duration(upTo * 1000)}`
}

/** The calls between two readings, and how long 95 of 100 of them took at most. Undefined where there is no such metric. */
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
