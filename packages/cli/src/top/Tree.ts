/** What runs at a server as a tree: sessions with their requests, below those the questions that they wait for. */
import type { RequestRow, SessionRow, Snapshot } from "@effect-mcp/operate/Admin"
import { size } from "../render/Text.ts"
import { safeLine, type Style } from "../terminal/Style.ts"

/** Which requests are shown. */
export interface Filter {
  /** Part of the method, target, client, caller, session or transport; capitals do not matter. */
  readonly text?: string | undefined
  /** Only those that run for longer, in milliseconds. */
  readonly older?: number | undefined
  readonly sort?: "age" | "method" | "client" | undefined
}

/** One line of the tree. */
export interface TreeLine {
  readonly text: string
  /** Names what can be selected: the key of a request, or that of a session. */
  readonly key: string | undefined
  readonly request: RequestRow | undefined
  /** The id of the session that it is about. */
  readonly session: string | undefined
  /** Where there are several. */
  readonly node: string | undefined
}

/** Names a session among the keys of lines. */
const sessionKey = (id: string): string => `session ${id}`

const wordsOf = ({ client, kind, method, principal, session, target, task, transport }: RequestRow): string =>
  [kind, task, method, target, client?.name, principal.subject, session, transport].join(" ").toLowerCase()

const orders: { readonly [sort in Required<Filter>["sort"] & string]: (a: RequestRow, b: RequestRow) => number } = {
  age: (a, b) => a.since - b.since,
  method: (a, b) => a.method.localeCompare(b.method),
  client: (a, b) => (a.client?.name ?? "").localeCompare(b.client?.name ?? "")
}

/** The requests that pass the filter, the oldest first unless it says otherwise. */
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

/** What a request or a task waits for. */
const waitOf = ({ asking, kind, wakesAt }: RequestRow, now: number): string => {
  if (kind === "question") return ""
  if (asking.length > 0) return `waits for ${asking.join(", ")}`
  return wakesAt === undefined ? "" : `sleeps for ${age(wakesAt - now)}`
}

const requestLine = (request: RequestRow, now: number, { cyan, dim, green, yellow }: Style): string => {
  const { key, kind, method, since, state, target } = request
  const colour = state === "running" ? green : yellow
  const what = kind === "request" ? state : kind === "task" ? `task ${state}` : kind
  const parts = [
    dim(safeLine(key).padStart(5)),
    cyan(safeLine(method)),
    safeLine(target ?? ""),
    colour(what),
    age(now - since),
    safeLine(progressOf(request)),
    safeLine(waitOf(request, now))
  ]
  return parts.filter((part) => part !== "").join("  ")
}

/** The tree; sessions without requests that match are left out under a filter. */
export const lines = (snapshot: Snapshot, filter: Filter, style: Style): ReadonlyArray<TreeLine> => {
  const { sessions, time } = snapshot
  const shown = matching(snapshot, filter)
  const isFiltered = shown.length < snapshot.requests.length
  const keys = new Set(shown.map(({ key }) => key))
  const children = Map.groupBy(shown, ({ relatedTo }) => relatedTo)
  const tops = shown.filter(({ relatedTo }) => relatedTo === undefined || !keys.has(relatedTo))
  const bySession = Map.groupBy(tops, ({ session }) => session)
  const below = (request: RequestRow, indent: string): ReadonlyArray<TreeLine> => {
    const { key, node, session } = request
    const line = { text: indent + requestLine(request, time, style), key, request, session, node }
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
