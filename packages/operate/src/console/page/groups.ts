/** Pure functions that filter, group and sort running requests. */
import type { RequestRow, SessionRow, Snapshot } from "../../admin/Admin.ts"
import { callerOf } from "./model.ts"

export const groupings = ["session", "client", "user", "tool", "node", "state"] as const
export type Grouping = (typeof groupings)[number]

export const orders = ["oldest", "newest", "largest", "name"] as const
export type Order = (typeof orders)[number]

export const kinds = ["all", "request", "task", "question", "subscription"] as const

/** Filter, grouping and order that the operator chose. */
export interface RunningView {
  /** Words that must occur, and fields such as `tool:book`, which match a part, or `tool:"book"`, which match the whole. */
  readonly search: string
  /** Minimum age in milliseconds. */
  readonly older: number
  readonly kind?: (typeof kinds)[number] | undefined
  readonly grouping?: Grouping | undefined
  readonly order?: Order | undefined
}

/** Requests with something in common. */
export interface Group {
  readonly key: string
  /** The session's ID. `undefined` if the group is not a session, or if its requests have no session. */
  readonly id: string | undefined
  readonly session: SessionRow | undefined
  readonly title: string
  readonly rows: ReadonlyArray<{ readonly row: RequestRow; readonly level: 2 | 3 }>
}

const names: Readonly<Record<string, string>> = { principal: "user", subject: "user", target: "tool" }

type Fields<A> = Readonly<Record<string, (of: A) => string | undefined>>

/** Fields that can be searched. */
const ofRow: Fields<RequestRow> = {
  client: ({ client }) => client && `${client.name} ${client.version}`,
  user: ({ principal }) => principal.subject,
  tool: ({ target }) => target,
  node: ({ node }) => node,
  state: ({ state }) => state,
  kind: ({ kind }) => kind,
  method: ({ method }) => method,
  session: ({ session }) => session
}

const ofSession: Fields<SessionRow> = {
  client: ({ client }) => client && `${client.name} ${client.version}`,
  user: ({ principal }) => principal.subject,
  node: ({ node }) => node,
  session: ({ id }) => id
}

interface Parsed {
  readonly words: ReadonlyArray<string>
  /** A quoted value must be the whole text of its field. */
  readonly fields: ReadonlyArray<readonly [name: string, value: string, isQuoted: boolean]>
}

const fieldNames = new Set([...Object.keys(ofRow), ...Object.keys(names)])

/** Splits a search into words and fields. */
export const parse = (search: string): Parsed => {
  const words: Array<string> = []
  const fields: Array<readonly [string, string, boolean]> = []
  for (const [whole, name = "", quoted, plain = ""] of search
    .toLowerCase()
    .matchAll(/(?:(\w+):)?(?:"([^"]*)"?|(\S+))/g)) {
    if (fieldNames.has(name)) fields.push([names[name] ?? name, quoted ?? plain, quoted !== undefined])
    else words.push(name === "" ? (quoted ?? plain) : whole)
  }
  return { words, fields }
}

/** Returns a search for exactly this value of a field. Quotes can't be searched, and are left out on both sides. */
export const fieldSearch = (name: string, value: string): string => `${name}:"${value.replaceAll('"', "")}"`

const has = <A>(of: Fields<A>, row: A, fields: Parsed["fields"]): boolean =>
  fields.every(([name, value, isQuoted]) => {
    const text = (of[name]?.(row) ?? "").toLowerCase()
    return isQuoted ? text.replaceAll('"', "") === value : text.includes(value)
  })

/** Cached texts of rows, because each key typed in a search needs them again. */
const texts = new WeakMap<object, string>()
const cached = (row: object, parts: () => ReadonlyArray<string | undefined>): string => {
  const known = texts.get(row) ?? parts().join(" ").toLowerCase()
  texts.set(row, known)
  return known
}

const textOf = (row: RequestRow): string =>
  cached(row, () => [
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
  ])

const sessionText = (session: SessionRow): string =>
  cached(session, () => [session.id, session.node, session.transport, session.revision, callerOf(session)])

/** A session's client is known after `initialize`. Before that, and in 2026-07-28, the name comes from its requests. */
export const sessionTitle = (session: SessionRow | undefined, rows: ReadonlyArray<RequestRow>): string => {
  if (session === undefined) return "Without a session"
  const client = session.client ?? rows.find((row) => row.client !== undefined)?.client
  return callerOf({ client, principal: session.principal })
}

/** Puts questions below their requests. */
const nested = (rows: ReadonlyArray<RequestRow>): Group["rows"] => {
  if (rows.every(({ relatedTo }) => relatedTo === undefined)) return rows.map((row) => ({ row, level: 2 }))
  const keys = new Set(rows.map(({ key }) => key))
  const below = Map.groupBy(rows, ({ relatedTo }) => relatedTo)
  return rows
    .filter(({ relatedTo }) => relatedTo === undefined || !keys.has(relatedTo))
    .flatMap((row) => [
      { row, level: 2 as const },
      ...(below.get(row.key) ?? []).map((question) => ({ row: question, level: 3 as const }))
    ])
}

const values: Readonly<Record<Exclude<Grouping, "session">, (row: RequestRow) => string>> = {
  client: ({ client }) => (client === undefined ? "An unnamed client" : `${client.name} ${client.version}`),
  user: ({ principal }) => principal.subject ?? "Anonymous",
  tool: ({ method, target }) => (target === undefined ? method : `${method} ${target}`),
  node: ({ node }) => node ?? "This server",
  state: ({ kind, state }) => (kind === "request" ? state : kind === "task" ? `task ${state}` : kind)
}

const oldest = ({ rows }: Group) => rows[0]?.row.since ?? Infinity

const compares: Readonly<Record<Order, (a: Group, b: Group) => number>> = {
  oldest: (a, b) => oldest(a) - oldest(b),
  newest: (a, b) => (b.rows[0]?.row.since ?? b.session?.since ?? 0) - (a.rows[0]?.row.since ?? a.session?.since ?? 0),
  largest: (a, b) => b.rows.length - a.rows.length,
  name: (a, b) => a.title.localeCompare(b.title)
}

const bySession = (
  { requests, sessions }: Snapshot,
  shown: ReadonlyArray<RequestRow>,
  view: RunningView
): ReadonlyArray<Group> => {
  const { fields, words } = parse(view.search)
  const of = Map.groupBy(shown, ({ session }) => session)
  const isLimited = view.older > 0 || (view.kind ?? "all") !== "all"
  const group = (id: string | undefined, session: SessionRow | undefined): ReadonlyArray<Group> => {
    const all = of.get(id) ?? []
    const text = session === undefined || words.length === 0 ? "" : sessionText(session)
    const isWhole = words.every((word) => text.includes(word))
    const rows = isWhole ? all : all.filter((row) => words.every((word) => `${text} ${textOf(row)}`.includes(word)))
    const isShown = session !== undefined && isWhole && !isLimited && has(ofSession, session, fields)
    if (rows.length === 0 && !isShown) return []
    return [{ key: `session ${id ?? ""}`, id, session, title: sessionTitle(session, rows), rows: nested(rows) }]
  }
  return requests.length + sessions.length === 0
    ? []
    : [...sessions.flatMap((session) => group(session.id, session)), ...group(undefined, undefined)]
}

/**
 * Groups the requests that match the view; in a group, questions follow their requests. By session, a session stays with all its requests if the words
 * match it. With an age or a kind, and in any other grouping, there are only groups with requests.
 */
export const groupsOf = (snapshot: Snapshot, view: RunningView): ReadonlyArray<Group> => {
  const { grouping = "session", kind = "all", older, order = "oldest" } = view
  const { fields, words } = parse(view.search)
  const shown = snapshot.requests.filter(
    (row) => snapshot.time - row.since >= older && (kind === "all" || row.kind === kind) && has(ofRow, row, fields)
  )
  const sorted = order === "newest" ? shown.toReversed() : shown
  const byValue = (value: (row: RequestRow) => string): ReadonlyArray<Group> => {
    const found = sorted.filter((row) => words.every((word) => textOf(row).includes(word)))
    return [...Map.groupBy(found, value)].map(([title, rows]) => {
      return { key: `${grouping} ${title}`, id: undefined, session: undefined, title, rows: nested(rows) }
    })
  }
  const groups = grouping === "session" ? bySession(snapshot, sorted, view) : byValue(values[grouping])
  return groups.toSorted(compares[order])
}

/** Returns the rows that "interrupt all" ends. Subscriptions and questions are left out unless the view shows only these. */
export const endable = (groups: ReadonlyArray<Group>, kind: RunningView["kind"]): ReadonlyArray<RequestRow> =>
  groups
    .flatMap(({ rows }) => rows.map(({ row }) => row))
    .filter((row) => row.state !== "ending" && (row.kind === "request" || row.kind === "task" || row.kind === kind))

/** Describes rows for the confirmation: how many calls to which tools, on which nodes, for how many users. */
export const described = (rows: ReadonlyArray<RequestRow>): ReadonlyArray<string> => {
  const counted = [...Map.groupBy(rows, (row) => values.tool(row))]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .map(([name, same]) => {
      const nodes = new Set(same.flatMap(({ node }) => node ?? []))
      return `${same.length} × ${name}${nodes.size === 0 ? "" : ` on ${[...nodes].toSorted().join(", ")}`}`
    })
  return counted.length > 8 ? [...counted.slice(0, 8), `and ${counted.length - 8} others`] : counted
}
