/** Compares the messages of two servers in the same conversation, request by request. Ignores values that change from run to run. */
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Line, Played } from "../play/Played.ts"
import { show } from "../rules/judge.ts"
import { at } from "../model/json.ts"

/** A difference between two servers. */
export interface Difference {
  /** The request or notification, such as `tools/call add`. */
  readonly what: string
  /** Location in the message, such as `result.content[].text`. */
  readonly path: string
  readonly first: unknown
  readonly second: unknown
}

/** Patterns of values that occur in one run only, and their replacements. */
const volatile: ReadonlyArray<readonly [pattern: RegExp, name: string]> = [
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?/g, "<time>"],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, "<uuid>"],
  [/\b1[5-9]\d{11}\b/g, "<time>"]
]
/** Members that differ between runs, or that name the server. */
const opaque = new Set(["nextCursor", "requestState", "serverInfo", "io.modelcontextprotocol/serverInfo", "taskId"])

/** Values nested deeper than this are not compared. */
const deepest = 100

/** Replaces times, UUIDs, cursors, states and server names in a JSON value. */
export const stable = (json: unknown, depth = 0): unknown => {
  if (depth > deepest) return "<deep>"
  if (typeof json === "string") return volatile.reduce((text, [pattern, name]) => text.replace(pattern, name), json)
  if (typeof json === "number") return json > 1.5e12 && json < 2e12 ? "<time>" : json
  if (Array.isArray(json)) return json.map((member: unknown) => stable(member, depth + 1))
  if (!isJsonObject(json)) return json
  return Object.fromEntries(
    Object.entries(json).map(([name, value]) => [name, opaque.has(name) ? `<${name}>` : stable(value, depth + 1)])
  )
}

/** Returns the paths at which two values differ. Differences in the items of a list count as one. */
const places = (first: unknown, second: unknown, path: string): ReadonlyArray<Omit<Difference, "what">> => {
  if (Array.isArray(first) && Array.isArray(second) && first.length === second.length) {
    return first.flatMap((member: unknown, index) => places(member, second[index], `${path}[]`))
  }
  if (isJsonObject(first) && isJsonObject(second)) {
    const names = new Set([...Object.keys(first), ...Object.keys(second)])
    return [...names].flatMap((name) => places(first[name], second[name], path === "" ? name : `${path}.${name}`))
  }
  return JSON.stringify(first) === JSON.stringify(second) ? [] : [{ path, first, second }]
}

const messagesOf = (lines: ReadonlyArray<Line>, side: Line["from"]): ReadonlyArray<unknown> =>
  lines.flatMap(({ beside, from, text }): ReadonlyArray<unknown> => {
    // Over HTTP, a client's lines start with the HTTP method.
    const start = text.search(/[[{]/)
    if (from !== side || beside === true || start === -1) return []
    try {
      const json: unknown = JSON.parse(text.slice(start))
      return Array.isArray(json) ? json : [json]
    } catch {
      return [{ method: text.slice(0, 80) }]
    }
  })

const nameOf = (message: unknown): string => {
  const [method, name] = [at(message, "method"), at(message, "params", "name")]
  const what = typeof method === "string" ? method : "a message"
  return what === "tools/call" && typeof name === "string" ? `${what} ${name.slice(0, 60)}` : what
}

/** A server's messages: responses by the position of their requests, the rest by method in any order. */
const said = ({ ended, lines }: Played) => {
  const requests = messagesOf(lines, "client").filter(
    (message) => at(message, "id") !== undefined && at(message, "method") !== undefined
  )
  const server = messagesOf(lines, "server")
  const answers = requests.map((request) => {
    const id = JSON.stringify(at(request, "id"))
    const answer = server.find(
      (message) => at(message, "method") === undefined && JSON.stringify(at(message, "id")) === id
    )
    return { what: nameOf(request), answer: stable(body(answer)) }
  })
  const others = new Map<string, ReadonlyArray<string>>()
  for (const message of server) {
    if (at(message, "method") === undefined) continue
    const what = nameOf(message)
    const text = JSON.stringify(stable(at(message, "params"))) ?? ""
    others.set(what, [...new Set([...(others.get(what) ?? []), text])].toSorted())
  }
  return { answers, others, hasEnded: ended !== undefined }
}

const body = (answer: unknown): unknown => {
  if (!isJsonObject(answer)) return "no answer"
  return answer.error === undefined ? { result: answer.result } : { error: answer.error }
}

/** Returns the differences between two servers in one conversation. */
export const compare = (first: Played, second: Played): ReadonlyArray<Difference> => {
  const [a, b] = [said(first), said(second)]
  const ended =
    a.hasEnded === b.hasEnded ? [] : [{ what: "the server", path: "ended", first: a.hasEnded, second: b.hasEnded }]
  const answers = a.answers.flatMap(({ answer, what }, index) =>
    places(answer, b.answers[index]?.answer, "").map((place) => ({ what, ...place }))
  )
  const methods = new Set([...a.others.keys(), ...b.others.keys()])
  const others = [...methods].flatMap((what) => {
    const [left = [], right = []] = [a.others.get(what), b.others.get(what)]
    return left.join("\n") === right.join("\n") ? [] : [{ what, path: "params", first: left, second: right }]
  })
  return [...ended, ...answers, ...others]
}

export const keyOf = ({ path, what }: Difference): string => `${what} ${path}`.trim()

export const told = ({ first, second }: Difference): string =>
  `The first says ${show(first)}, the second ${show(second)}`
