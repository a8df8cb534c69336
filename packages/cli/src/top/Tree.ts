/** A server's activity as a tree: sessions, their requests, and the questions that requests wait for. */
import type { RequestRow, SessionRow, Snapshot } from "@effect-mcp/operate/Admin"
import { displayWidth } from "effect/cli/CliOutput"
import { size } from "../render/Text.ts"
import { safeLine, type Style } from "../terminal/Style.ts"

/** Which requests are shown. */
export interface Filter {
  /** Part of the method, target, client, caller, session or transport, ignoring case. */
  readonly text?: string | undefined
  /** Minimum running time of the requests to show, in milliseconds. */
  readonly older?: number | undefined
  readonly sort?: Sort | undefined
}

export const sorts = ["age", "newest", "method", "tool", "client", "user", "node"] as const
export type Sort = (typeof sorts)[number]

/** One line of the tree. */
export interface TreeLine {
  readonly text: string
  /** Identifies a selectable row: the key of a request or session. */
  readonly key: string | undefined
  readonly request: RequestRow | undefined
  /** ID of the session that it concerns. */
  readonly session: string | undefined
  /** Where there are several. */
  readonly node: string | undefined
}

/** Returns a session's line key. */
const sessionKey = (id: string): string => `session ${id}`

const wordsOf = ({
  client,
  kind,
  method,
  node,
  principal,
  session,
  state,
  target,
  task,
  transport
}: RequestRow): string =>
  [kind, state, task, method, target, client?.name, principal.subject, session, transport, node].join(" ").toLowerCase()

const byText =
  (text: (row: RequestRow) => string | undefined) =>
  (a: RequestRow, b: RequestRow): number =>
    (text(a) ?? "").localeCompare(text(b) ?? "")

const orders: { readonly [sort in Sort]: (a: RequestRow, b: RequestRow) => number } = {
  age: (a, b) => a.since - b.since,
  newest: (a, b) => b.since - a.since,
  method: byText(({ method }) => method),
  tool: byText(({ target }) => target),
  client: byText(({ client }) => client?.name),
  user: byText(({ principal }) => principal.subject),
  node: byText(({ node }) => node)
}

/** Returns the requests that pass the filter, oldest first unless the filter sets another order. */
export const matching = ({ requests, time }: Snapshot, { older = 0, sort = "age", text = "" }: Filter) =>
  requests
    .filter((request) => time - request.since >= older && wordsOf(request).includes(text.toLowerCase()))
    .toSorted(orders[sort])

/** 12s, 3m 4s, 2h 5m, 1d 3h. */
export const age = (milliseconds: number): string => {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000))
  const [minutes, hours, days] = [Math.floor(seconds / 60), Math.floor(seconds / 3600), Math.floor(seconds / 86_400)]
  if (days > 0) return `${days}d ${hours % 24}h`
  if (hours > 0) return `${hours}h ${minutes % 60}m`
  return minutes > 0 ? `${minutes}m ${seconds % 60}s` : `${seconds}s`
}

const clientOf = ({ client, principal }: Pick<SessionRow, "client" | "principal">): string => {
  const name = client === undefined ? "a client" : safeLine(`${client.name} ${client.version}`)
  return principal.subject === undefined ? name : `${safeLine(principal.subject)} by ${name}`
}

const sessionLine = (session: SessionRow, now: number, { bold, dim }: Style): string => {
  const { backlog = 0, id, level, node, revision, since, transport } = session
  const logs = level === undefined ? undefined : `logs ${level}`
  const facts = [
    node,
    transport,
    revision,
    logs,
    age(now - since),
    backlog > 0 ? `${size(backlog)} unread` : undefined,
    id
  ]
  return `${bold(clientOf(session))}  ${dim(safeLine(facts.filter((fact) => fact !== undefined).join(" · ")))}`
}

const progressOf = ({ progress: known }: RequestRow): string => {
  if (known === undefined) return ""
  const { message, progress, total } = known
  const done = total === undefined || total <= 0 ? `${progress}` : `${Math.floor((progress / total) * 100)}%`
  return message === undefined ? done : `${done} ${message}`
}

/** The event that a request or task waits for. */
const waitOf = ({ asking, kind, wakesAt }: RequestRow, now: number): string => {
  if (kind === "question") return ""
  if (asking.length > 0) return `waiting for ${asking.join(", ")}`
  return wakesAt === undefined ? "" : `sleeping for ${age(wakesAt - now)}`
}

const stateOf = ({ kind, state }: RequestRow): string =>
  kind === "request" ? state : kind === "task" ? `task ${state}` : kind

/** The texts in the columns that have a width. */
const cellsOf = (row: RequestRow, now: number): ReadonlyArray<string> => [
  safeLine(row.key),
  safeLine(row.method),
  safeLine(row.target ?? ""),
  stateOf(row),
  age(now - row.since)
]

const heads = ["KEY", "METHOD", "TARGET", "STATE", "AGE"]
/** Longer texts shift the rest of their line. */
const widest = 32

/** Widths of the columns. */
const widthsOf = (rows: ReadonlyArray<RequestRow>, now: number): ReadonlyArray<number> =>
  rows.reduce(
    (widths, row) => cellsOf(row, now).map((cell, i) => Math.max(widths[i] ?? 0, Math.min(widest, displayWidth(cell)))),
    heads.map((head, i) => Math.max(head.length, i === 0 ? 5 : 0))
  )

const padded = (text: string, width = 0): string => text + " ".repeat(Math.max(0, width - displayWidth(text)))

/** Column headings, above a session's requests. */
export const headings = (snapshot: Snapshot, filter: Filter): string => {
  const widths = widthsOf(matching(snapshot, filter), snapshot.time)
  return `  ${heads.map((head, i) => (i === 0 ? head.padStart(widths[0] ?? 0) : head.padEnd(widths[i] ?? 0))).join("  ")}  PROGRESS`
}

/** Colors by age: from ten seconds, one minute and five minutes. */
const warmed = (text: string, milliseconds: number, { bold, red, yellow }: Style): string => {
  if (milliseconds >= 300_000) return bold(red(text))
  if (milliseconds >= 60_000) return red(text)
  return milliseconds >= 10_000 ? yellow(text) : text
}

const requestLine = (request: RequestRow, now: number, widths: ReadonlyArray<number>, style: Style): string => {
  const { cyan, dim, green, yellow } = style
  const { kind, since, state } = request
  const colour = state === "running" ? green : yellow
  const [key = "", method = "", target = "", what = "", time = ""] = cellsOf(request, now)
  const shownAge = padded(time, widths[4])
  const parts = [
    dim(key.padStart(widths[0] ?? 0)),
    cyan(padded(method, widths[1])),
    padded(target, widths[2]),
    colour(padded(what, widths[3])),
    kind === "subscription" ? shownAge : warmed(shownAge, now - since, style),
    safeLine(progressOf(request)),
    safeLine(waitOf(request, now))
  ]
  return parts
    .filter((part, i) => i < 5 || part !== "")
    .join("  ")
    .trimEnd()
}

/** Returns the tree. With a filter, sessions without matching requests are left out. */
export const lines = (snapshot: Snapshot, filter: Filter, style: Style): ReadonlyArray<TreeLine> => {
  const { sessions, time } = snapshot
  const shown = matching(snapshot, filter)
  const isFiltered = shown.length < snapshot.requests.length
  const widths = widthsOf(shown, time)
  const keys = new Set(shown.map(({ key }) => key))
  const children = Map.groupBy(shown, ({ relatedTo }) => relatedTo)
  const tops = shown.filter(({ relatedTo }) => relatedTo === undefined || !keys.has(relatedTo))
  const bySession = Map.groupBy(tops, ({ session }) => session)
  const below = (request: RequestRow, indent: string): ReadonlyArray<TreeLine> => {
    const { key, node, session } = request
    const line = { text: indent + requestLine(request, time, widths, style), key, request, session, node }
    return [line, ...(children.get(key) ?? []).flatMap((question) => below(question, `${indent}  `))]
  }
  const of = (id: string | undefined): ReadonlyArray<TreeLine> =>
    (bySession.get(id) ?? []).flatMap((request) => below(request, "  "))
  const withSessions = sessions.flatMap((session) => {
    const requests = of(session.id)
    if (isFiltered && requests.length === 0) return []
    // In 2026-07-28 each request names the client, and the session does not.
    const { client, revision } = requests[0]?.request ?? {}
    const named = { ...session, client: session.client ?? client, revision: session.revision ?? revision }
    const { id, node } = session
    const line = { text: sessionLine(named, time, style), key: sessionKey(id), request: undefined, session: id, node }
    return [line, ...requests]
  })
  const alone = of(undefined)
  const text = style.bold("Without a session")
  const head = { text, key: undefined, request: undefined, session: undefined, node: undefined }
  return alone.length === 0 ? withSessions : [...withSessions, head, ...alone]
}

const counted = (count: number, one: string): string => `${count} ${one}${count === 1 ? "" : "s"}`

/** Returns the server's name, version, host and uptime, or an empty text if the endpoint has an older version. */
export const identity = ({ nodes, server, time }: Snapshot): string => {
  if (server === undefined) return ""
  const host = server.host === undefined || nodes !== undefined ? "" : ` on ${server.host}`
  return safeLine(`${server.name} ${server.version}${host}, up ${age(time - server.since)}`)
}

/** One line about all of it. */
export const summary = ({ draining, nodes, requests, sessions }: Snapshot): string => {
  const of = (kind: RequestRow["kind"]) => requests.filter((request) => request.kind === kind).length
  const notServing = (nodes ?? []).flatMap(({ name, state }) => (state === "serving" ? [] : [`${name} ${state}`]))
  return [
    ...(nodes === undefined ? [] : [counted(nodes.length, "node")]),
    ...(nodes === undefined ? (draining ? ["draining"] : []) : notServing.map(safeLine)),
    counted(sessions.length, "session"),
    counted(of("request"), "request"),
    counted(of("subscription"), "subscription"),
    counted(of("question"), "question"),
    counted(of("task"), "task")
  ].join(", ")
}
